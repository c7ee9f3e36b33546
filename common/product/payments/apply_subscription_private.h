#pragma once
/*
 * One subscription row and the facts that are reported about it. Facts have one order: final states
 * last, then by time, rank and event id. The last facts win, with all of their details. A reading
 * of the subscription outranks every event of its instant.
 */
#include "payments/apply_rows_private.h"

struct subscription_facts {
    const struct subscription_object *object;
    const char *status;
    int64_t at_ms;
    int64_t rank; /* order among facts of one instant */
    struct str event_id, event_type;
    bool reading;            /* of a fetched or answered subscription, not of an event */
    struct str session_id;   /* of the checkout that started the subscription */
    int64_t subscription_id; /* of our metadata; 0 = none */
    int64_t plan_id;
};

enum { SUBSCRIPTION_RANK_READING = 200 };

/* any: Returns the rank of an event's type and the status that the event reports. */
int64_t subscription_rank(struct str event_type, const char *status);
/* any, pure: Returns whether the row and the event are of one instant, report different states, and
 * no rule orders them. */
bool subscription_in_doubt(const struct subscription_row *row,
                           const struct subscription_facts *facts);
/* any, pure: Applies the facts to the row. Returns true when anything changed. *ret_stands: the row
 * now shows the reported state. */
bool subscription_update(struct subscription_row *row,
                         const struct subscription_facts *facts,
                         bool *ret_stands);

/* co: Finds and locks the row, or creates it, applies the object and adds the statements to run.
 * `plan` is NULL when the object is not an event's. Otherwise plan->fetched overrides what the
 * event reports, and plan->needs_reading is set (APPLY_LATER) when the order is unknown and nothing
 * was fetched yet. *ret_id (may be NULL): the row. */
AWAITS int subscription_apply(struct apply_source *source,
                              struct db *tx,
                              const struct subscription_object *object,
                              struct apply_plan *plan,
                              struct applied *applied,
                              int64_t *ret_id) MUSTCHECK;
/* co: Applies a checkout of mode "subscription": links the row to the subscription that it created.
 * An expired checkout ends a subscription that was not started. */
AWAITS int subscription_session(struct apply_source *source,
                                struct db *tx,
                                const struct session_object *session,
                                struct applied *applied) MUSTCHECK;
/* any: Returns whether the processor can be queried: a key is configured. */
bool processor_can_be_read(const struct apply_source *source);

/* any: Returns the status of the tables that equals `text`; NULL = none. Static. */
const char *subscription_status(struct str text);
/* any: Returns whether a subscription never leaves this status. */
bool subscription_is_final(const char *status);
