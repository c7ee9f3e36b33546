#pragma once
/*
 * One subscription row and what somebody says of it. Sayings are put in one order: final states
 * last, then by time, rank, event id; the last one stands, with all that it says. A reading of the
 * subscription itself is worth more than any event of its instant.
 */
#include "payments/apply_rows_private.h"

struct subscription_facts {
    const struct subscription_object *object;
    const char *status;
    int64_t at_ms;
    int64_t rank; /* of those of one instant */
    struct str event_id, event_type;
    bool reading;            /* of the subscription as it is, no event */
    struct str session_id;   /* that started it */
    int64_t subscription_id; /* of our metadata; 0 = none */
    int64_t plan_id;
};

enum { SUBSCRIPTION_RANK_READING = 200 };

/* any: rank of an event's type and the status that it means. */
int64_t subscription_rank(struct str event_type, const char *status);
/* any, pure: whether the row and the event are of one instant, say different things, and no rule
 * but a guess puts one behind the other. */
bool subscription_in_doubt(const struct subscription_row *row,
                           const struct subscription_facts *facts);
/* any, pure: moves the row; true when anything is different. *ret_stands: what was said is what the
 * row shows now. */
bool subscription_move(struct subscription_row *row,
                       const struct subscription_facts *facts,
                       bool *ret_stands);

/* co: finds and locks the row (makes it), moves it, adds what is to be written. `plan` NULL: not of
 * an event; else its .fetched replaces what the event says, and .ask is set (APPLY_AGAIN) when
 * there is doubt and nobody has asked yet. *ret_id (may be NULL): the row. */
AWAITS int subscription_apply(struct apply_source *source,
                              struct db *tx,
                              const struct subscription_object *object,
                              struct apply_plan *plan,
                              struct applied *applied,
                              int64_t *ret_id) MUSTCHECK;
/* co: a checkout of mode "subscription": links what it made; one that expired ends what it was to
 * start. */
AWAITS int subscription_session(struct apply_source *source,
                                struct db *tx,
                                const struct session_object *session,
                                struct applied *applied) MUSTCHECK;
/* any: the processor can be asked. */
bool apply_can_ask(const struct apply_source *source);

const char *subscription_status(struct str text);
/* any: never left again. */
bool subscription_is_final(const char *status);
