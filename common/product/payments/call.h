#pragma once
/*
 * Calls to the processor that create or change one of our rows, a payment or a subscription. The
 * outcome of such a call is never lost:
 *
 *   call_note()      in the transaction that creates or changes the row: stores path, form and key
 *                    in the row, and when the timer may check it. Then the caller commits.
 *   call_send()      outside any transaction: sends the call and returns how it ended.
 *   call_transact()  writes the outcome, the end of the call and the caller's own changes in one
 *                    transaction: call_record() and call_close(), or call_undo().
 *
 * If the process dies between these steps, the row holds everything that is needed to continue.
 * Under the same key the processor does nothing twice and repeats its answer. The call is repeated
 * by a client that sends its idempotency key again, or by the timer of payments-webhook. The
 * callers decide how a client is answered and when a call is repeated.
 */
#include "payments/apply.h"
#include "payments/form.h"
#include "payments/processor.h"

#define CALL_SESSIONS "/v1/checkout/sessions" /* path of the processor's checkout pages */
#define CALL_INVOICES "/v1/invoices"

struct call;

/* Kind of row that a call is about. */
struct call_kind {
    const char *name;    /* "payment" or "subscription", for keys and logs */
    const char *objects; /* path of its objects at the processor */
    /* Private to call.c. */
    const struct sql *note, *failed, *release, *not_begun;
    int (*close)(const struct call *call, struct db *tx);                             /* AWAITS */
    int (*announce)(struct task *task, struct db *tx, int64_t id, bool *ret_emitted); /* AWAITS */
};
extern const struct call_kind call_payment, call_subscription;

/* How a call ended. */
enum call_end {
    CALL_DONE,      /* carried out: .object is the processor's current object */
    CALL_REFUSED,   /* refused permanently: .reply says why; .object is the object that exists
                       nevertheless, or NULL */
    CALL_NOT_DONE,  /* certainly not carried out and safe to repeat: call_undo() */
    CALL_UNSETTLED, /* unknown, or not possible now: .rc says why. The call stays noted in the row
                     */
};

/* The owner zeroes the struct and fills the first part. Texts are borrowed until the owner is done
 * with the call. */
struct call {
    struct task *task;
    struct directory *directory;
    struct project *project;
    const struct payment_settings *settings;
    const struct call_kind *kind;
    int64_t id;            /* of the row */
    struct str path, form; /* of a POST */
    struct str key;        /* idempotency key; empty: call_note() creates one */
    bool creates;          /* the call creates the row's own object: a refusal fails the row,
                              call_undo() deletes it */
    bool may_repeat; /* the call may have been sent before, so it never ends with CALL_NOT_DONE */

    /* Set by call_send(). */
    enum call_end end;
    int rc; /* of processor_call() */
    struct processor_reply reply;
    const json_t *object;
    int64_t at_ms; /* wall time of the answer; for a refund, when the fetch of its payment began */
    int64_t read_ms; /* set by call_fetch(): wall time before the fetch */

    /* Set by call_apply(): the object that it applied last. An object of another kind leaves .id
     * empty. Texts are borrowed from the JSON. */
    struct intent_object intent;
    struct session_object session;
    /* Set in the transaction. emitted: outbox rows were written; call_transact() notifies their
     * consumers. woke: events that waited for this row were put back in the queue; the caller polls
     * the queue after the commit. */
    bool emitted, woke_events;
};

/* co: In `tx`, with the row locked or just created: stores the call in the row. If call->key is
 * empty, makes one of `what` and `salt` (processor_key()). The timer leaves the row alone for
 * `settle_ms` milliseconds. Results of db_query(). */
AWAITS int
call_note(struct call *call, struct db *tx, const char *what, struct str salt, int64_t settle_ms)
    MUSTCHECK;

/* co: Outside any transaction: sends the noted call. Returns 0 with .end and the members after it
 * set, or a negative: the outcome is unknown. */
AWAITS int call_send(struct call *call) MUSTCHECK;

/* co: Fetches the object "<head>/<id>" from the processor: an intent with its charge, an invoice
 * with its payments and their intents. Sets .read_ms. `limit_ms`: for all attempts together
 * (processor_request.limit_ms). Results of processor_call(). */
AWAITS int call_fetch(struct call *call,
                      const char *head,
                      struct str id,
                      int64_t limit_ms,
                      struct processor_reply *ret_reply) MUSTCHECK;

/* co: Runs fn(call, tx, arg) in a transaction of its own and commits. When a concurrent transaction
 * changed the same rows, fn() runs again from the beginning, a few times at most. Returns the
 * result of fn() or of the commit: after anything but 0 nothing is written (after DB_UNKNOWN
 * everything may be). */
typedef int (*call_fn)(struct call *call, struct db *tx, void *arg); /* AWAITS */
AWAITS int call_transact(struct call *call, call_fn fn, void *arg) MUSTCHECK;

/* co: In `tx`: applies an intent, a checkout session, a subscription or an invoice to its row.
 * `at_ms`: wall time of the object's state. Results of apply.h. */
AWAITS int call_apply(struct call *call, struct db *tx, const json_t *object, int64_t at_ms)
    MUSTCHECK;
/* co: In `tx`, for a call that is done or refused: applies the call's object. Without an object, a
 * refused call that creates fails its row (call_fail()). Results of apply.h. */
AWAITS int call_record(struct call *call, struct db *tx) MUSTCHECK;
/* co: In `tx`: fails the row, because its object was never created and never will be. A payment
 * emits its events; a subscription gets a row of history and releases the offer code that it had
 * redeemed. A row that has moved on since then stays as it is, and *ret_failed (may be NULL) is
 * false. Results of db_query(). */
AWAITS int
call_fail(struct call *call, struct db *tx, struct str code, struct str message, bool *ret_failed)
    MUSTCHECK;
/* co: In `tx`, after call_record(): removes the ended call from the row. A call that was noted
 * since then stays. The timer still fetches a payment that has not ended, and fetches an incomplete
 * subscription soon after its checkout has closed. Results of db_query(). */
AWAITS int call_close(struct call *call, struct db *tx) MUSTCHECK;
/* co: In `tx`, after CALL_NOT_DONE: deletes the row that the call was to create; otherwise removes
 * the call from the row. Results of db_query(). */
AWAITS int call_undo(struct call *call, struct db *tx) MUSTCHECK;
