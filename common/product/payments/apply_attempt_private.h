#pragma once
/*
 * The attempts to pay one payment: which of two states is the newer, and which declines are known.
 *
 * While nothing is authorized, paid or canceled, attempts follow each other, and the newest stands:
 * by the second, for events know no more. Within one second readings (answers included) stand above
 * events, the later reading above the earlier; of two events the step decides: what an attempt goes
 * through, before its charge is made and, when its charge was declined, behind that. Two charges of
 * one second have no order: there is doubt, which a reading ends. What was authorized fails no
 * more; above are canceled and succeeded, whatever the time.
 */
#include "payments/apply_payment_private.h"

enum { RANK_OPEN, RANK_AUTHORIZED, RANK_CANCELED, RANK_SUCCEEDED };

/* A status that a row of payments may have. */
struct payment_state {
    const char *name;
    int rank;
    bool settled; /* nothing but an event moves it on from there */
};

/* any: by name; NULL = none of theirs. */
const struct payment_state *payment_state_of(struct str name);

/* any: the status of the tables that this text is; NULL = none of theirs. */
const char *payment_status(struct str text);

/* The state of a payment as an event, an answer or a reading shows it, and since when. */
struct standing {
    const struct payment_state *state;
    int step;             /* of an open one: below; 0 = of none */
    int64_t at_ms;        /* 0 = by evidence, at any time */
    struct str event_id;  /* STR_NONE: a reading, or evidence */
    struct str charge_id; /* the intent's newest */
};

/* any: the standing of a row, and of facts that have a status. */
struct standing standing_of_row(const struct payment_row *row);
struct standing standing_of_facts(const struct payment_facts *facts);
/* any: over 0: `next` is to stand in place of `now`. A total order, but for two readings of one
 * millisecond: the later one stands. */
int standing_compare(const struct standing *next, const struct standing *now);
/* any: one second, and neither is known to be the older. */
bool standing_in_doubt(const struct standing *next, const struct standing *now);

/* any: notes the decline that the facts tell of; added to row->due when it is to be told.
 * `before`: the row's state before these facts. True when the row is different. */
bool declines_move(struct arena *arena,
                   struct payment_row *row,
                   const struct payment_facts *facts,
                   const char *before);
/* any: the state that an open row shows. Nothing runs and a decline is known: it failed, of the
 * newest one. */
const char *payment_open_status(struct arena *arena, struct payment_row *row);
