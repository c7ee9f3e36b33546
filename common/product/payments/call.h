#pragma once
/*
 * A call to the processor that makes or changes one of our rows, a payment or a subscription, and
 * whose end is never lost:
 *
 *   call_note()      in the transaction that makes or changes the row: path, form and key are in
 *                    it, and when the timer may look at it. Then the caller commits.
 *   call_send()      outside of any transaction: makes it, and returns how it ended.
 *   call_transact()  what came of it, the closed call and whatever its caller adds, at once:
 *                    call_record() and call_close(), or call_take_back().
 *
 * Killed anywhere between, the row has what is needed to go on: under one key the processor does
 * nothing twice, and answers again what it did. Whoever comes next repeats the call: a caller with
 * his idempotency key, or the timer of payments-webhook. How the caller is answered and when a call
 * is tried again are not known here.
 */
#include "payments/apply.h"
#include "payments/form.h"
#include "payments/processor.h"

#define CALL_SESSIONS "/v1/checkout/sessions" /* where the processor has its checkout pages */
#define CALL_INVOICES "/v1/invoices"

struct call;

/* Which rows a call is about. */
struct call_kind {
    const char *name;    /* "payment": of keys and logs */
    const char *objects; /* the path of its objects at the processor */
    /* The rest is call.c's own. */
    const struct sql *note, *failed, *release, *not_begun;
    int (*close)(const struct call *call, struct db *tx);                             /* AWAITS */
    int (*announce)(struct task *task, struct db *tx, int64_t id, bool *ret_emitted); /* AWAITS */
};
extern const struct call_kind call_payment, call_subscription;

/* How a call ended. */
enum call_end {
    CALL_DONE,     /* carried out: .object is what the processor has now */
    CALL_REFUSED,  /* for good: .reply says why; .object is what it has nevertheless, or NULL */
    CALL_NOT_DONE, /* certainly not carried out, and may be made anew: to be taken back */
    CALL_OPEN,     /* not known, or not now: .rc says why. It stays as it was noted */
};

/* Zeroed by its owner, who fills the first part; all texts are borrowed until he is done with it.
 */
struct call {
    struct task *task;
    struct directory *directory;
    struct project *project;
    const struct payment_settings *settings;
    const struct call_kind *kind;
    int64_t id;            /* of the row */
    struct str path, form; /* of a POST */
    struct str key;        /* empty: call_note() makes it */
    bool creates;          /* the row's own object: refused the row fails, taken back it is gone */
    bool again;            /* it may have been made before: it is never certain that it was not */

    /* call_send() */
    enum call_end end;
    int rc; /* of processor_call() */
    struct processor_reply reply;
    const json_t *object;
    int64_t at_ms;   /* wall, when the answer came; of what was read behind it, before that */
    int64_t read_ms; /* call_read(): wall, before it was asked */

    /* Of what call_apply() applied last: .id empty = no such object. Texts borrow from it. */
    struct intent_object intent;
    struct session_object session;
    /* Of the transaction: outbox rows were written (call_transact() notifies their consumers);
     * events that waited for this row were put back in the queue, to be looked at after the commit.
     */
    bool emitted, woke;
};

/* co: in `tx`, with the row locked or just made: notes the call in it. A key is made of `what` and
 * `salt` (processor_key()). Until `settle_ms` from now nobody else looks at it. Results of
 * db_query(). */
AWAITS int
call_note(struct call *call, struct db *tx, const char *what, struct str salt, int64_t settle_ms)
    MUSTCHECK;

/* co: no transaction open: makes the noted call. 0 with .end and the members behind it, or a
 * negative: nothing is known. */
AWAITS int call_send(struct call *call) MUSTCHECK;

/* co: reads one object of the processor: "<head>/<id>", an intent with its charge, an invoice with
 * its intents. Results of processor_call(); limit_ms as in struct processor_request. */
AWAITS int call_read(struct call *call,
                     const char *head,
                     struct str id,
                     int64_t limit_ms,
                     struct processor_reply *ret_reply) MUSTCHECK;

/* co: fn(call, tx, arg) in a transaction of its own and its commit; from the beginning again, a few
 * times, when others' news of the same rows came in between, so that fn() may run more than once.
 * What fn() or the commit returned: after anything but 0 nothing is written (DB_UNKNOWN: everything
 * may be). */
typedef int (*call_fn)(struct call *call, struct db *tx, void *arg); /* AWAITS */
AWAITS int call_transact(struct call *call, call_fn fn, void *arg) MUSTCHECK;

/* co: in `tx`: an intent, session, subscription or its invoice into its row. `at_ms`: as of when.
 * Results of apply.h. */
AWAITS int call_apply(struct call *call, struct db *tx, const json_t *object, int64_t at_ms)
    MUSTCHECK;
/* co: in `tx`, of a call that is done or refused: its object into the row; without one, the refusal
 * of a call that creates (call_fail()). Results of apply.h. */
AWAITS int call_record(struct call *call, struct db *tx) MUSTCHECK;
/* co: in `tx`: the row's object was never made and will not be: it fails, with a row of history
 * and an event for the workflows that listen; what it had redeemed is free. A row that has moved on
 * meanwhile stays: *ret_failed (may be NULL) is false. Results of db_query(). */
AWAITS int
call_fail(struct call *call, struct db *tx, struct str code, struct str message, bool *ret_failed)
    MUSTCHECK;
/* co: in `tx`, behind call_record(): the call has ended. One that was noted meanwhile stays. The
 * row is read again when it was to be, a checkout soon after it has closed. Results of
 * db_query(). */
AWAITS int call_close(struct call *call, struct db *tx) MUSTCHECK;
/* co: in `tx`, of CALL_NOT_DONE: as if nothing had been asked for. Results of db_query(). */
AWAITS int call_take_back(struct call *call, struct db *tx) MUSTCHECK;
