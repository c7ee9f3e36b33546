/* Attempts to pay: which is the newest, and which were declined. */
#include "payments/apply_attempt_private.h"

#include "base/panic.h"
#include "json/jr.h"
#include "payments/announce_private.h"

#define DECLINES_MAX 20 /* a row stores the newest declines */
/* Key of a decline that only a reading reported, without its charge. */
#define DECLINE_UNNAMED "?"
#define SECOND_MS       1000

static const struct payment_state states[] = {
    {"requires_payment_method", RANK_OPEN, false},
    {"requires_confirmation", RANK_OPEN, false},
    {"requires_action", RANK_OPEN, false},
    {"processing", RANK_OPEN, false},
    {"failed", RANK_OPEN, true},
    {"requires_capture", RANK_AUTHORIZED, false},
    {"canceled", RANK_CANCELED, true},
    {"succeeded", RANK_SUCCEEDED, true},
    {"partially_refunded", RANK_SUCCEEDED, true},
    {"refunded", RANK_SUCCEEDED, true},
    {"disputed", RANK_SUCCEEDED, true},
};

const struct payment_state *payment_state_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(name, states[i].name))
            return &states[i];
    return NULL;
}

const char *payment_status(struct str text)
{
    const struct payment_state *state = payment_state_of(text);

    return state != NULL ? state->name : NULL;
}

/* --- the order of one second --- */

/* Steps in the order in which an attempt goes through them. A step is stored as `event_rank` of the
 * row: never renumber. */
enum attempt_step {
    STEP_NONE,
    STEP_NEW, /* nothing was tried, or no trace of it is left */
    STEP_CONFIRMATION,
    STEP_ACTION,
    STEP_PROCESSING,
    STEP_ENDED,             /* no attempt runs, for an unknown reason */
    STEP_DECLINED,          /* the charge that the intent shows was declined */
    STEP_REFUSED,           /* refused without a charge */
    STEP_NEXT_CONFIRMATION, /* the attempt after the charge that the intent shows */
    STEP_NEXT_ACTION,
    STEP_NEXT_PROCESSING,
};

static enum attempt_step
attempt_step_of(const char *status, struct str charge, struct str failed_charge, bool whole)
{
    bool declined = charge.len > 0 && str_eq(charge, failed_charge);

    if (strcmp(status, "requires_payment_method") == 0)
        return charge.len > 0 ? STEP_ENDED : STEP_NEW;
    if (strcmp(status, "requires_confirmation") == 0)
        return charge.len > 0 ? STEP_NEXT_CONFIRMATION : STEP_CONFIRMATION;
    if (strcmp(status, "requires_action") == 0)
        return charge.len > 0 ? STEP_NEXT_ACTION : STEP_ACTION;
    if (strcmp(status, "processing") == 0)
        return declined ? STEP_NEXT_PROCESSING : STEP_PROCESSING;
    if (strcmp(status, "failed") == 0)
        return declined ? STEP_DECLINED : whole ? STEP_REFUSED : STEP_ENDED;
    return STEP_NONE;
}

struct payment_position payment_position_of_row(const struct payment_row *row)
{
    const struct payment_state *state = payment_state_of(str_from(row->status));

    MUST(state != NULL);
    /* A row that was written before steps were stored has the step of its status. */
    int step = (int)row->event_rank;
    if (step == 0 || state->rank != RANK_OPEN)
        step = (int)attempt_step_of(row->status, row->charge_id, row->charge_id, true);
    return (struct payment_position){
        .state = state,
        .step = step,
        .at_ms = row->event_ms,
        .event_id = row->event_id,
        .charge_id = row->charge_id,
    };
}

struct payment_position payment_position_of_facts(const struct payment_facts *facts)
{
    const struct payment_state *state = payment_state_of(str_from(facts->status));

    MUST(state != NULL);
    bool timed = facts->is_intent || state->rank == RANK_OPEN;
    return (struct payment_position){
        .state = state,
        .step = (int)attempt_step_of(
            facts->status, facts->charge_id, facts->failed_charge_id, facts->is_intent),
        .at_ms = timed ? facts->at_ms : 0,
        .event_id = timed ? facts->event_id : STR_NONE,
        .charge_id = facts->charge_id,
    };
}

static int numbers_compare(int64_t one, int64_t other)
{
    return (one > other) - (one < other);
}

static bool is_reading(const struct payment_position *standing)
{
    return standing->at_ms != 0 && standing->event_id.len == 0;
}

/* A reading outranks all events of its second. */
int payment_position_compare(const struct payment_position *next,
                             const struct payment_position *now)
{
    int order = numbers_compare(next->state->rank, now->state->rank);

    if (order == 0)
        order = numbers_compare(next->at_ms / SECOND_MS, now->at_ms / SECOND_MS);
    if (order == 0)
        order = is_reading(next) - is_reading(now);
    if (order == 0 && is_reading(next))
        return next->at_ms >= now->at_ms ? 1 : -1;
    if (order == 0) /* an intent that shows a charge shows one from then on */
        order = (next->charge_id.len > 0) - (now->charge_id.len > 0);
    if (order == 0)
        order = numbers_compare(next->step, now->step);
    return order != 0 ? order : str_cmp(next->event_id, now->event_id);
}

/* Returns whether the step has a known position. A failure without a charge does not say which
 * attempt failed, and a charge that is processed may be the one that was declined. */
static bool step_has_order(const struct payment_position *standing)
{
    return standing->step != STEP_ENDED && standing->step != STEP_REFUSED &&
           (standing->step != STEP_PROCESSING || standing->charge_id.len == 0);
}

/* Returns less than 0, 0 or more than 0 when `one` is older, the same or newer. *ret_known is false
 * when neither the charges nor the steps show the order. */
static int step_compare(const struct payment_position *one,
                        const struct payment_position *other,
                        bool *ret_known)
{
    *ret_known = true;
    if (!str_eq(one->charge_id, other->charge_id)) {
        *ret_known = one->charge_id.len == 0 || other->charge_id.len == 0;
        return one->charge_id.len > 0 ? 1 : -1;
    }
    *ret_known = one->step == other->step || (step_has_order(one) && step_has_order(other));
    return numbers_compare(one->step, other->step);
}

bool payment_position_is_in_doubt(const struct payment_position *next,
                                  const struct payment_position *now)
{
    bool known;

    if (next->state->rank != RANK_OPEN || now->state->rank != RANK_OPEN || next->at_ms == 0 ||
        now->at_ms == 0 || next->at_ms / SECOND_MS != now->at_ms / SECOND_MS ||
        (is_reading(next) && is_reading(now)))
        return false;
    int order = step_compare(next, now, &known);
    if (known && is_reading(next))
        return order < 0;
    return !known || (is_reading(now) && order > 0);
}

/* --- declines --- */

static json_t *declines_read(struct arena *arena, const struct payment_row *row)
{
    json_t *declines = NULL;
    struct jr_error error;

    if (jr_parse_stored(arena, row->declines.len ? row->declines : STR("{}"), &declines, &error) !=
        0)
        return NULL;
    return declines;
}

static int64_t decline_at(const json_t *decline)
{
    return json_integer_value(json_object_get(decline, "at"));
}

/* Returns the key of the newest or of the oldest decline; NULL = there is none. */
static const char *decline_pick(json_t *declines, bool newest)
{
    const char *found = NULL;
    const char *key;
    json_t *decline;

    json_object_foreach(declines, key, decline)
    {
        int order = found == NULL ? 0
                                  : numbers_compare(decline_at(decline),
                                                    decline_at(json_object_get(declines, found)));
        if (found != NULL && order == 0)
            order = strcmp(key, found);
        if (found == NULL || (newest ? order > 0 : order < 0))
            found = key;
    }
    return found;
}

/* The key of a decline: its charge, else the event, because each decline has one event. */
static const char *decline_key(struct arena *arena, const struct payment_facts *facts)
{
    if (facts->failed_charge_id.len > 0)
        return arena_cstr(arena, facts->failed_charge_id);
    return facts->event_id.len > 0 ? arena_cstr(arena, facts->event_id) : DECLINE_UNNAMED;
}

static void decline_put(json_t *declines, const char *key, const struct payment_facts *facts)
{
    const json_t *known = json_object_get(declines, key);
    int64_t at_ms = facts->at_ms;
    json_t *decline = json_object();

    if (known != NULL && decline_at(known) < at_ms)
        at_ms = decline_at(known);
    json_object_set_new(decline, "at", json_integer(at_ms));
    json_object_set_new(
        decline, "code", json_stringn(facts->failure_code.ptr, facts->failure_code.len));
    json_object_set_new(
        decline, "message", json_stringn(facts->failure_message.ptr, facts->failure_message.len));
    json_object_set_new(declines, key, decline);
}

bool declines_update(struct arena *arena,
                     struct payment_row *row,
                     const struct payment_facts *facts,
                     const char *before)
{
    json_t *declines;

    if (!facts->is_intent || facts->status == NULL || strcmp(facts->status, "failed") != 0 ||
        (declines = declines_read(arena, row)) == NULL)
        return false;
    const char *key = decline_key(arena, facts);
    bool is_unnamed = strcmp(key, DECLINE_UNNAMED) == 0;
    bool is_known = json_object_get(declines, key) != NULL;
    if ((is_unnamed && strcmp(before, "failed") == 0) ||
        (!is_unnamed && is_known && decline_at(json_object_get(declines, key)) <= facts->at_ms))
        return false;
    /* A decline that a reading or evidence reported first was emitted then. */
    bool was_emitted =
        !is_unnamed &&
        (json_object_get(declines, DECLINE_UNNAMED) != NULL ||
         (json_object_size(declines) == 0 && (row->emitted & EVENT_PAYMENT_FAILED_BIT) != 0));
    decline_put(declines, key, facts);
    if (!is_known && !is_unnamed)
        (void)json_object_del(declines, DECLINE_UNNAMED);
    if (json_object_size(declines) > DECLINES_MAX)
        (void)json_object_del(declines, decline_pick(declines, false));
    bool is_stored = json_object_get(declines, key) != NULL;
    if (is_stored && (!is_known || is_unnamed) && !was_emitted &&
        row->declines_due_count < DECLINES_DUE_MAX)
        row->declines_due[row->declines_due_count++] =
            (struct decline){facts->failure_code, facts->failure_message};
    return set_str(&row->declines, jr_print(arena, declines));
}

const char *payment_open_status(struct arena *arena, struct payment_row *row)
{
    struct payment_position standing = payment_position_of_row(row);
    json_t *declines;

    if (standing.step != STEP_NEW && standing.step != STEP_ENDED)
        return row->status;
    declines = declines_read(arena, row);
    const char *key = decline_pick(declines, true);
    if (key == NULL)
        return standing.step == STEP_ENDED ? "failed" : row->status;
    const json_t *decline = json_object_get(declines, key);
    (void)set_str(&row->failure_code, jr_str(decline, "code"));
    (void)set_str(&row->failure_message, jr_str(decline, "message"));
    return "failed";
}
