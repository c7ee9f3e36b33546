/* Payments: how a row moves, and how it is found, created and written. */
#include "payments/apply_payment_private.h"

#include "apply_sql.h"
#include "base/clock.h"
#include "json/jr.h"
#include "payments/announce_private.h"
#include "payments/apply_attempt_private.h"
#include "payments/apply_refund_private.h"

/* Delay until the timer fetches a payment whose events have no known order. */
#define UNORDERED_MS 2000
/* Delay until the timer fetches a settled payment that is attempted again. */
#define RUNNING_MS 30000

/* --- changes of a row --- */

/* Facts that win replace all details of the state, so that none is left from other facts. */
static bool details_replace(struct payment_row *row,
                            const struct payment_facts *facts,
                            const struct payment_position *standing)
{
    bool moved = set_number(&row->event_ms, standing->at_ms);

    moved |= set_str(&row->event_id, standing->event_id);
    moved |= set_number(&row->event_rank, standing->step);
    moved |= set_str(&row->charge_id, facts->charge_id);
    moved |= set_str(&row->failure_code, facts->failure_code);
    moved |= set_str(&row->failure_message, facts->failure_message);
    if (facts->amount_minor != 0)
        moved |= set_number(&row->amount_minor, facts->amount_minor);
    if (facts->platform_fee_minor != 0)
        moved |= set_number(&row->platform_fee_minor, facts->platform_fee_minor);
    return moved;
}

/* Moves the status without regard to refunds and disputes. */
static bool status_update(struct arena *arena,
                          struct payment_row *row,
                          const struct payment_facts *facts,
                          const char **ret_status)
{
    const char *before = row->status;
    struct payment_position now = payment_position_of_row(row);
    bool moved = false;

    *ret_status = now.state->rank == RANK_SUCCEEDED ? "succeeded" : row->status;
    if (facts->status != NULL) {
        struct payment_position next = payment_position_of_facts(facts);
        if (payment_position_compare(&next, &now) > 0) {
            moved = details_replace(row, facts, &next);
            *ret_status = facts->status;
        }
        moved |= declines_update(arena, row, facts, before);
    }
    if (payment_state_of(str_from(*ret_status))->rank == RANK_OPEN) {
        row->status = *ret_status;
        *ret_status = payment_open_status(arena, row);
        row->status = before;
    }
    if (facts->paid_ms != 0 && (row->paid_ms == 0 || facts->paid_ms < row->paid_ms))
        moved |= set_number(&row->paid_ms, facts->paid_ms);
    return moved;
}

static bool dispute_is_closed(struct str status)
{
    return str_is(status, "won") || str_is(status, "lost") || str_is(status, "warning_closed") ||
           str_is(status, "prevented");
}

/* Returns whether the dispute is over and took no money back. */
static bool dispute_is_harmless(struct str status)
{
    return dispute_is_closed(status) && !str_is(status, "lost");
}

/* Stores a dispute's state; a dispute that has ended stays so. *ret_disputed: a dispute is open or
 * lost. */
static bool disputes_update(struct arena *arena,
                            struct payment_row *row,
                            const struct payment_facts *facts,
                            bool *ret_disputed)
{
    json_t *disputes = NULL;
    struct jr_error error;
    const char *id;
    json_t *item;
    bool moved = false;

    *ret_disputed = false;
    if (row->disputes.len <= 2 && facts->dispute_id.len == 0) /* "{}" */
        return false;
    if (jr_parse_stored(arena, row->disputes.len ? row->disputes : STR("{}"), &disputes, &error) !=
        0)
        return false;
    if (facts->dispute_id.len > 0) {
        struct str known = jr_str(disputes, arena_cstr(arena, facts->dispute_id));
        struct str reported = facts->dispute_status;
        /* If both states are open, or both closed, keep the alphabetically greater one: the choice
         * is arbitrary but deterministic. */
        if (known.len == 0 || (dispute_is_closed(reported) && !dispute_is_closed(known)) ||
            (dispute_is_closed(reported) == dispute_is_closed(known) &&
             str_cmp(reported, known) > 0)) {
            json_object_set_new(disputes,
                                arena_cstr(arena, facts->dispute_id),
                                json_stringn(reported.ptr, reported.len));
            row->disputes = jr_print(arena, disputes);
            moved = true;
        }
    }
    json_object_foreach(disputes, id, item)
    {
        if (!dispute_is_harmless(str_from(json_string_value(item))))
            *ret_disputed = true;
    }
    return moved;
}

static bool links_update(struct payment_row *row, const struct payment_facts *facts)
{
    bool moved = fill_str(&row->intent_id, facts->intent_id);

    moved |= fill_str(&row->session_id, facts->session_id);
    moved |= fill_str(&row->invoice_payment_id, facts->invoice_payment_id);
    moved |= fill_str(&row->reference, row->intent_id);
    moved |= fill_str(&row->customer, facts->customer);
    moved |= fill_str(&row->description, facts->description);
    moved |= fill_number(&row->subscription_id, facts->subscription_id);
    moved |= fill_number(&row->subscriber_id, facts->subscriber_id);
    if (facts->email_replaces && facts->customer_email.len > 0)
        moved |= set_str(&row->customer_email, facts->customer_email);
    else
        moved |= fill_str(&row->customer_email, facts->customer_email);
    return moved;
}

bool payment_update(struct arena *arena, struct payment_row *row, const struct payment_facts *facts)
{
    const char *before = row->status;
    const char *status;
    bool disputed;

    bool moved = links_update(row, facts);
    moved |= status_update(arena, row, facts, &status);
    moved |= disputes_update(arena, row, facts, &disputed);
    moved |= refunds_update(arena, row, facts);
    if (disputed)
        status = "disputed";
    else if (strcmp(status, "succeeded") == 0 && row->amount_refunded_minor > 0)
        status =
            row->amount_refunded_minor >= row->amount_minor ? "refunded" : "partially_refunded";
    row->status = status;
    return moved || strcmp(before, status) != 0;
}

/* --- finding a row --- */

int64_t apply_lock_key(struct str id)
{
    return (int64_t)str_hash(id);
}

struct payment_search {
    struct payment_facts facts; /* our copy: ids that another row has are removed */
    struct payment_row row;
    bool is_new;
};

static int row_fit(const struct payment_facts *facts, const struct payment_row *row)
{
    if (facts->intent_id.len > 0 && row->intent_id.len > 0)
        return str_eq(facts->intent_id, row->intent_id) ? 3 : 0;
    return row->id == facts->payment_id ? 2 : 1;
}

/* Picks the intent's row, else the row that our metadata names, else any row. Ids that another row
 * has stay with that row. */
static void payment_pick(struct payment_search *search, const struct rows *rows)
{
    struct payment_facts *facts = &search->facts;
    int best = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct payment_row row;
        payment_row_read(rows, i, &row);
        int fit = row_fit(facts, &row);
        if (fit > best) {
            search->row = row;
            best = fit;
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_payment_row other = sql_payment_row(rows, i);
        if (other.id == search->row.id)
            continue;
        if (str_eq(other.session_id, facts->session_id))
            facts->session_id = STR_NONE;
        if (str_eq(other.invoice_payment_id, facts->invoice_payment_id))
            facts->invoice_payment_id = STR_NONE;
    }
}

static struct db_call payment_lock_call(struct arena *arena, const struct payment_facts *facts)
{
    return db_call_new(
        arena,
        SQL_APPLY_PAYMENT_LOCK(.intent_id = key_str(facts->intent_id),
                               .session_id = key_str(facts->session_id),
                               .invoice_payment_id = key_str(facts->invoice_payment_id),
                               .id = facts->payment_id));
}

AWAITS static int
payment_lookup(struct apply_source *source, struct db *tx, struct payment_search *search)
{
    struct payment_facts *facts = &search->facts;
    struct db_call calls[] = {
        payment_lock_call(source->task->arena, facts),
        db_call(SQL_APPLY_CUSTOMER(.provider_id = facts->customer)),
    };
    bool customer = facts->customer.len > 0 && facts->subscriber_id == 0;

    TRY(db_batch(source->task, tx, calls, customer ? 2 : 1, NULL));
    payment_pick(search, &calls[0].rows);
    if (customer && calls[1].rows.count > 0) {
        const struct sql_apply_customer_row from = sql_apply_customer_row(&calls[1].rows, 0);
        facts->subscriber_id = from.subscriber_id.value;
        if (!facts->email_replaces || facts->customer_email.len == 0)
            facts->customer_email = from.email;
    }
    return 0;
}

/* No row was found: takes the object's lock, searches again, and fetches what a new row needs. */
AWAITS static int payment_lookup_locked(struct apply_source *source,
                                        struct db *tx,
                                        struct str object,
                                        struct payment_search *search)
{
    struct db_call calls[] = {
        db_call(SQL_APPLY_LOCK(.key = apply_lock_key(object))),
        payment_lock_call(source->task->arena, &search->facts),
        db_call(SQL_APPLY_PAYMENT_NEXT()),
    };
    bool makes = search->facts.type != NULL;

    TRY(db_batch(source->task, tx, calls, makes ? 3 : 2, NULL));
    payment_pick(search, &calls[1].rows);
    if (search->row.id != 0 || !makes)
        return 0;
    const struct sql_apply_next_row next = sql_apply_next_row(&calls[2].rows, 0);
    search->is_new = true;
    search->row = (struct payment_row){
        .id = next.id,
        .status = "requires_payment_method",
        .type = str_from(search->facts.type),
        .provider = STR("processor"),
        .currency = search->facts.currency,
        .amount_minor = search->facts.amount_minor,
        .metadata = search->facts.metadata,
        .disputes = STR("{}"),
        .declines = STR("{}"),
        .refunds = STR("{}"),
        .created_ms = next.now,
    };
    return 0;
}

/* --- writing a row --- */

/* Returns whether the payment waits neither for the end of a call nor for its payer. */
static bool payment_has_ended(const char *status)
{
    const struct payment_state *state = payment_state_of(str_from(status));

    return state->rank != RANK_OPEN || state->settled;
}

/* A call has ended when its payment reaches the state that the call was to bring. A call about a
 * payment that had ended before (a capture, a refund) has not ended: a new state of the payment
 * says nothing about that call. An attempt that began without a call of ours is fetched later, in
 * case no event announces its end. */
static void payment_put(struct apply_source *source,
                        struct applied *applied,
                        struct payment_row *row,
                        const char *before)
{
    bool was_settled = before != NULL && payment_state_of(str_from(before))->settled;
    bool ended = payment_has_ended(row->status) && (before == NULL || !payment_has_ended(before));
    bool settled = payment_state_of(str_from(row->status))->settled && (ended || !row->has_call);

    if (row->in_doubt || (was_settled && !settled && row->settle_ms == 0)) {
        settled = false;
        row->settle_ms = clock_wall_ms() + (row->in_doubt ? UNORDERED_MS : RUNNING_MS);
    }
    if (row->reference.len == 0)
        row->reference = row->invoice_payment_id;
    announce_payment_row(source, applied, row);
    applied_add(source,
                applied,
                SQL_APPLY_PAYMENT_PUT(.id = row->id,
                                      .type = row->type,
                                      .amount_minor = row->amount_minor,
                                      .currency = row->currency,
                                      .status = str_from(row->status),
                                      .description = row->description,
                                      .reference = row->reference,
                                      .intent_id = row->intent_id,
                                      .session_id = row->session_id,
                                      .charge_id = row->charge_id,
                                      .invoice_payment_id = row->invoice_payment_id,
                                      .customer = row->customer,
                                      .customer_email = row->customer_email,
                                      .subscriber_id = some_id(row->subscriber_id),
                                      .subscription_id = some_id(row->subscription_id),
                                      .failure_code = row->failure_code,
                                      .failure_message = row->failure_message,
                                      .amount_refunded_minor = row->amount_refunded_minor,
                                      .platform_fee_minor = row->platform_fee_minor,
                                      .disputes = row->disputes.len ? row->disputes : STR("{}"),
                                      .declines = row->declines.len ? row->declines : STR("{}"),
                                      .refunds = row->refunds.len ? row->refunds : STR("{}"),
                                      .paid_at = row->paid_ms,
                                      .metadata = row->metadata.len ? row->metadata : STR("{}"),
                                      .event_at = row->event_ms,
                                      .event_id = row->event_id,
                                      .event_rank = row->event_rank,
                                      .settle_at = settled ? 0 : row->settle_ms,
                                      .emitted = row->emitted,
                                      .ended = ended));
}

/* An existing row gets its intent: takes the intent's lock, so that no transaction that knows only
 * the intent is between its search for the row and its note that the event waits. */
static void intent_lock(struct apply_source *source, struct applied *applied, struct str intent_id)
{
    applied_add(source, applied, SQL_APPLY_LOCK(.key = apply_lock_key(intent_id)));
}

/* Wakes the events that arrived before the row had its intent. */
static void payment_wake(struct apply_source *source, struct applied *applied, struct str intent_id)
{
    if (intent_id.len > 0)
        applied_add_wake(
            source,
            applied,
            arena_printf(source->task->arena, "payment_intent:%.*s", STR_ARG(intent_id)));
}

static void
payment_not_found(struct apply_source *source, struct applied *applied, struct str intent_id)
{
    applied->waits = intent_id.len > 0;
    if (applied->waits)
        applied->object =
            arena_printf(source->task->arena, "payment_intent:%.*s", STR_ARG(intent_id));
    applied_set_effect(
        source, applied, "nothing: no payment of this project belongs to this object");
}

static bool order_is_in_doubt(const struct payment_row *row, const struct payment_facts *facts)
{
    if (facts->status == NULL)
        return false;
    struct payment_position next = payment_position_of_facts(facts);
    struct payment_position now = payment_position_of_row(row);
    return payment_position_is_in_doubt(&next, &now);
}

int payment_apply(struct apply_source *source,
                  struct db *tx,
                  const struct payment_facts *facts,
                  struct applied *applied)
{
    struct payment_search search = {.facts = *facts};
    struct payment_row *row = &search.row;
    struct str object = facts->intent_id.len ? facts->intent_id : facts->invoice_payment_id;

    TRY(payment_lookup(source, tx, &search));
    if (row->id == 0 && object.len > 0)
        TRY(payment_lookup_locked(source, tx, object, &search));
    if (row->id == 0) {
        payment_not_found(source, applied, facts->intent_id);
        return 0;
    }
    const char *before = search.is_new ? NULL : row->status;
    struct str known = search.is_new ? STR_NONE : row->intent_id;
    bool in_doubt = order_is_in_doubt(row, &search.facts) ||
                    refunds_in_doubt(source->task->arena, row, &search.facts);
    if (in_doubt && facts->may_request_reading)
        return APPLY_LATER;
    bool moved = payment_update(source->task->arena, row, &search.facts);
    if (facts->reading != NULL)
        moved |= payment_update(source->task->arena, row, facts->reading);
    row->in_doubt = in_doubt && facts->reading == NULL;
    bool same = applied_set_row_effect(
        source, applied, "payment", row->id, before, row->status, "details updated");
    if (same && !moved)
        applied_set_effect(
            source, applied, "nothing: payment %lld already has this state", (long long)row->id);
    if (!search.is_new && !str_eq(known, row->intent_id))
        intent_lock(source, applied, row->intent_id);
    if (moved || search.is_new || (payment_events_due(row->status) & ~row->emitted) != 0)
        payment_put(source, applied, row, before);
    if (!str_eq(known, row->intent_id))
        payment_wake(source, applied, row->intent_id);
    return 0;
}
