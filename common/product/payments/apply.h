#pragma once
/*
 * Applies the processor's objects to the project's rows. This is the only place where a payment, a
 * subscription, a saved method or the account changes because of what the processor reports: in an
 * event, in the answer to our call, or in a reading (an object that we fetched).
 *
 * Objects may arrive in any order and any number of times, and the final state is the same. Each
 * row is locked and only moves forward:
 *  - payment: by rank: the newest attempt < requires_capture < canceled < succeeded, then what was
 *    refunded or is disputed. (While nothing is authorized, the newest of requires_*, processing
 *    and failed wins by time. When the order of two attempts of one second is unknown, the intent
 *    is fetched, if the processor can be queried. A payment that is authorized or paid never
 *    fails.)
 *  - subscription: canceled and incomplete_expired are final. Otherwise the newest state wins, by
 *    event time, then by rank of event type and status. When the order of two different states of
 *    one instant is unknown, the subscription is fetched, if the processor can be queried.
 *  - method: detached is final; setup_failed is replaced by active.
 *  - account: the newest event wins.
 * Rows are found by the processor's ids, else by metadata (payment_id, subscription_id) when
 * metadata.project_id is this project's slug. Otherwise a row is created if the object belongs to
 * this project: recurring payments, subscriptions that were created elsewhere in its account, saved
 * methods, intents whose metadata names the project. Objects whose metadata.project_id names
 * another project are refused with APPLY_OTHER_PROJECT.
 */
#include "payments/objects.h"
#include "payments/payment_settings.h"
#include "project/project.h"

/* Fetched invoices are expanded: they contain their payments and the intents of these. */
#define INVOICE_EXPAND "payments.data.payment.payment_intent"

/* Origin of an object. */
struct apply_source {
    struct task *task;
    struct project *project;
    const struct payment_settings *settings;
    struct str event_id;   /* webhook_events.event_id; STR_NONE: an answer or a reading */
    struct str event_type; /* type of that event; STR_NONE: an answer or a reading */
    int64_t at_ms;         /* event.created, or wall time of the answer or reading */
};

/* Outcome of applying an object. Texts are arena-owned. */
struct applied {
    struct str object; /* "payment:12", "subscription:3", "method:4", "account"; STR_NONE = none */
    struct str
        effect; /* "payment 12: processing -> succeeded", "nothing: the invoice names no payment" */
    /* No row is known for the object yet, but one may come. The event is stored as ignored with
     * .object (such as "payment_intent:pi_1"), and is put back in the queue when a row gets that
     * id. */
    bool waits;
    bool woke_events;     /* waiting events were put back in the queue: poll it after the commit */
    bool emitted;         /* outbox rows were written: call events_notify() after the commit */
    bool touches_project; /* call project_epoch_raise() after the commit */
    /* Set by apply_event(): statements that apply_commit() has to run. */
    struct db_call *calls;
    size_t call_count;
    unsigned emit_calls,
        wake_calls; /* bit n: affected rows of calls[n] set .emitted, .woke_events */
};

/* co: Each function applies one object in `tx`, which the caller commits, and never calls the
 * processor. Everything is written on return. Returns 0, an APPLY_*, a DB_* (the transaction has
 * failed; DB_CONFLICT: another transaction created the row, repeat from the beginning), or a
 * negative. apply_method(): `attached` is false for a method that was detached. */
AWAITS int apply_intent(struct apply_source *source,
                        struct db *tx,
                        const struct intent_object *intent,
                        struct applied *ret) MUSTCHECK;
AWAITS int apply_session(struct apply_source *source,
                         struct db *tx,
                         const struct session_object *session,
                         struct applied *ret) MUSTCHECK;
AWAITS int apply_subscription(struct apply_source *source,
                              struct db *tx,
                              const struct subscription_object *subscription,
                              struct applied *ret) MUSTCHECK;
/* Applies an invoice of a subscription that has a row, as the payment that paid it or that failed.
 * An invoice that was never attempted does nothing. */
AWAITS int apply_invoice(struct apply_source *source,
                         struct db *tx,
                         const struct invoice_object *invoice,
                         struct applied *ret) MUSTCHECK;
AWAITS int apply_method(struct apply_source *source,
                        struct db *tx,
                        const struct method_object *method,
                        bool attached,
                        struct applied *ret) MUSTCHECK;
AWAITS int apply_account(struct apply_source *source,
                         struct db *tx,
                         const struct account_object *account,
                         struct applied *ret) MUSTCHECK;

/* --- a whole event --- */

/* An event, and the objects that were fetched for it. */
struct apply_plan {
    struct event_object event;
    const json_t *fetched; /* the invoice of the event or of its payment; after .needs_reading the
                              subscription or intent whose order is unknown; NULL = none */
    const json_t *fetched_subscription; /* the invoice's subscription, when no row of it is known */
    int64_t fetched_ms;                 /* wall time before the last fetch after .needs_reading */
    bool needs_reading; /* apply_event() returned APPLY_LATER because it needs a reading */
    bool reading_tried; /* the reading was attempted */
};
/* any: Returns whether events of this type are applied: those about payments, subscriptions,
 * invoices, refunds, disputes, set-ups, methods and accounts, in all their spellings. */
bool apply_event_is_known(struct str type);
/* co: Outside any transaction: fetches what the event needs: an invoice; with .needs_reading the
 * subscription or the intent whose order is unknown. The caller zeroes *ret_plan before the first
 * call. Sets source->event_id, event_type and, if the event has a time, at_ms. Returns 0,
 * APPLY_UNSUPPORTED, APPLY_MALFORMED, APPLY_OTHER_PROJECT, APPLY_LATER, or a negative. */
AWAITS int apply_prepare(struct apply_source *source,
                         const json_t *event,
                         struct apply_plan *ret_plan) MUSTCHECK;
/* co: In `tx`: locks the rows and decides, in one or two round trips. apply_commit() writes the
 * decision; only an account, and the fetched subscription of an invoice, are written here. Results
 * as of apply_intent(). APPLY_LATER with plan->needs_reading set: roll back, call apply_prepare()
 * at once with this plan, and repeat in a new transaction. The second call never sets
 * .needs_reading. APPLY_LATER without .needs_reading: repeat later. */
AWAITS int apply_event(struct apply_source *source,
                       struct db *tx,
                       struct apply_plan *plan,
                       struct applied *ret) MUSTCHECK;
/* co: Runs the statements of apply_event(), then `more` (whose rows are filled), then COMMIT, in
 * one round trip. Sets .emitted and .woke_events. Returns 0 or a result of db_batch_commit(). After
 * a failure nothing was written; after DB_UNKNOWN everything may have been written. DB_CONFLICT:
 * repeat from the beginning. */
AWAITS int apply_commit(struct apply_source *source,
                        struct db *tx,
                        struct applied *applied,
                        struct db_call *more,
                        size_t more_count) MUSTCHECK;
