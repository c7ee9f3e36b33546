#pragma once
/*
 * Attempts to pay one payment: which of two states is newer, and which declines are known.
 *
 * While nothing is authorized, paid or canceled, attempts follow each other and the newest wins, by
 * the second, because events have no finer time. Within one second:
 *  - A reading (or an answer) outranks events, and the later reading outranks the earlier.
 *  - Two events are ordered by the step of the attempt: before its charge is created, then the
 *    declined charge, then the attempt after it.
 *  - Two charges have no order: the state is in doubt until a reading resolves it.
 * An authorized payment no longer fails. Canceled and succeeded outrank it, at any time.
 */
#include "payments/apply_payment_private.h"

enum { RANK_OPEN, RANK_AUTHORIZED, RANK_CANCELED, RANK_SUCCEEDED };

/* A status that a row of payments may have. */
struct payment_state {
    const char *name;
    int rank;
    bool settled; /* only an event changes it: the timer does not fetch the payment */
};

/* any: Returns the state with this name; NULL = none. */
const struct payment_state *payment_state_of(struct str name);

/* any: Returns the status of the tables that equals `text`; NULL = none. Static. */
const char *payment_status(struct str text);

/* The state of a payment as an event, an answer or a reading shows it, and its place in the
 * order. */
struct payment_position {
    const struct payment_state *state;
    int step;             /* of an open state: enum attempt_step; 0 = none */
    int64_t at_ms;        /* 0 = evidence (apply_payment_private.h), which has no time */
    struct str event_id;  /* STR_NONE: a reading, or evidence */
    struct str charge_id; /* the intent's newest */
};

/* any: Return the position of a row, and of facts that have a status. */
struct payment_position payment_position_of_row(const struct payment_row *row);
struct payment_position payment_position_of_facts(const struct payment_facts *facts);
/* any: Returns more than 0 when `next` replaces `now`. A total order, except that of two readings
 * of one millisecond `next` wins. */
int payment_position_compare(const struct payment_position *next,
                             const struct payment_position *now);
/* any: Returns whether both are of one second and their order is unknown. */
bool payment_position_is_in_doubt(const struct payment_position *next,
                                  const struct payment_position *now);

/* any: Stores the decline that the facts report, and adds it to row->declines_due when it has to be
 * emitted. `before`: the row's status before these facts. Returns true when the row changed. */
bool declines_update(struct arena *arena,
                     struct payment_row *row,
                     const struct payment_facts *facts,
                     const char *before);
/* any: Returns the status of an open row: failed, with the newest decline's details, when no
 * attempt runs and a decline is known; else the row's own status. */
const char *payment_open_status(struct arena *arena, struct payment_row *row);
