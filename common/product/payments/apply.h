#pragma once
/*
 * The processor's objects into the project's rows: the one place where a payment, a subscription, a
 * saved method or the account changes by what the processor says, whether an event brought it, an
 * answer to our call or a timer's reading.
 *
 * In any order, any number of times, with one final state: each row is locked and moves only
 * forward.
 *  - payment: by rank: the newest attempt < requires_capture < canceled < succeeded, and what was
 *    refunded or is disputed of it. (While nothing is authorized, the newest of requires_*,
 *    processing and failed by time; two attempts of one instant are settled by reading the intent
 *    when the processor can be asked. What is authorized or paid never fails.)
 *  - subscription: canceled and incomplete_expired are final; else the newest by (event time, rank
 *    of type and status); two different states of one instant are settled by reading the
 *    subscription when the processor can be asked.
 *  - method: detached is final; setup_failed gives way to active.
 *  - account: the newest event.
 * Rows are found by the processor's ids; else by metadata (payment_id, subscription_id) when
 * metadata.project_id is this project's slug; else made, when they are this project's (recurring
 * payments, subscriptions made elsewhere in its account). Objects whose metadata.project_id names
 * another project are refused: APPLY_FOREIGN.
 */
#include "payments/objects.h"
#include "payments/payment_settings.h"
#include "project/project.h"

/* A reading of an invoice expands its payments and their intents. */
#define INVOICE_EXPAND "payments.data.payment.payment_intent"

/* Where the news comes from. */
struct apply_source {
    struct task *task;
    struct project *project;
    const struct payment_settings *settings;
    struct str event_id;   /* webhook_events.event_id; STR_NONE: an answer or a reading */
    struct str event_type; /* likewise */
    int64_t at_ms;         /* event.created, or when the answer came */
};

/* What was done. Texts arena-owned. */
struct applied {
    struct str object; /* "payment:12", "subscription:3", "method:4", "account"; STR_NONE = none */
    struct str
        effect; /* "payment 12: processing -> succeeded", "nothing: older than what is known" */
    /* Nothing here is known by it yet, and what will be may come: it is stored as ignored, .object
     * (such as "payment_intent:pi_1") with it, and what makes the row puts it back in the queue. */
    bool waits;
    bool woke;    /* events that waited were put back in the queue: look at it after the commit */
    bool emitted; /* outbox rows were written: events_notify() after the commit */
    bool touch;   /* project_touch() after the commit */
    /* apply_event(): what is still to be written, by apply_commit(). */
    struct db_call *calls;
    size_t call_count;
    unsigned emits, wakes; /* bit n: what calls[n] touches sets .emitted, .woke */
};

/* co: all in `tx`, which the caller commits; everything is written. 0, an APPLY_*, a
 * DB_* (the transaction is broken; DB_CONFLICT: another one made the row meanwhile, repeat
 * from the beginning), or a negative. None calls the processor. */
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
/* Of a subscription that has its row: the payment that paid the invoice, or that failed to. */
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

/* An event with what had to be read from the processor for it. */
struct apply_plan {
    struct event_object event;
    const json_t *fetched; /* the invoice of an invoice payment; the subscription whose order is
                              unclear or that is not known; or NULL */
    const json_t *fetched_subscription; /* of an invoice, when it is not known */
    int64_t fetched_ms;                 /* wall, before it was read */
    bool ask;   /* apply_event() came back with APPLY_AGAIN because it needs a reading */
    bool asked; /* which has been tried */
};
/* any: whether events of this type are applied: those about payments, subscriptions,
 * refunds, disputes and accounts, in all their spellings. */
bool apply_knows(struct str type);
/* co: outside of any transaction: reads what the event needs (an invoice; with .ask, the
 * subscription). *ret_plan is zeroed before the first time. Sets source->event_id, event_type and
 * at_ms. 0, APPLY_UNSUPPORTED, APPLY_BROKEN, APPLY_FOREIGN, APPLY_AGAIN, or a negative. */
AWAITS int apply_prepare(struct apply_source *source,
                         const json_t *event,
                         struct apply_plan *ret_plan) MUSTCHECK;
/* co: in `tx`: locks and decides, in one or two round trips; nothing is written before
 * apply_commit(). Results as above. APPLY_AGAIN with plan->ask set: roll back and go at once
 * through apply_prepare() with this plan and a new transaction, a second time never asks; without
 * it:
 * later. */
AWAITS int apply_event(struct apply_source *source,
                       struct db *tx,
                       struct apply_plan *plan,
                       struct applied *ret) MUSTCHECK;
/* co: what apply_event() decided, then `more` (whose rows are filled), then COMMIT, in one round
 * trip. Sets .emitted and .woke. 0, or a result of db_batch_commit(): nothing has happened
 * (DB_UNKNOWN: everything may have), and DB_CONFLICT means: repeat from the beginning. */
AWAITS int apply_commit(struct apply_source *source,
                        struct db *tx,
                        struct applied *applied,
                        struct db_call *more,
                        size_t more_count) MUSTCHECK;
