/* Subscriptions: how a row moves, and how it is found, created and written. */
#include "payments/apply_subscription_private.h"

#include "apply_sql.h"
#include "base/panic.h"
#include "json/jr.h"
#include "json/jw.h"
#include "payments/announce_private.h"
#include "payments/apply_payment_private.h"

#define SECOND_MS        1000
#define DAY_MS           (INT64_C(24) * 3600 * 1000)
#define READING_SPAN_MS  2000 /* tolerance for clock skew and for the processor's whole seconds */
#define OVERDUE_MS       3600000 /* after a period's end, if no event announced the next period */
#define DETAIL_BYTES_MAX 1024

/* --- changes of a row --- */

/* In the order of their ranks. */
static const char *const statuses[] = {"incomplete",
                                       "trialing",
                                       "active",
                                       "past_due",
                                       "unpaid",
                                       "paused",
                                       "incomplete_expired",
                                       "canceled"};

const char *subscription_status(struct str text)
{
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (str_is(text, statuses[i]))
            return statuses[i];
    return NULL;
}

bool subscription_is_final(const char *status)
{
    return strcmp(status, "canceled") == 0 || strcmp(status, "incomplete_expired") == 0;
}

int64_t subscription_rank(struct str event_type, const char *status)
{
    int64_t rank = str_is(event_type, "customer.subscription.created")   ? 0
                   : str_is(event_type, "customer.subscription.deleted") ? 32
                                                                         : 16;

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (strcmp(status, statuses[i]) == 0)
            return rank + (int64_t)i;
    PANIC("unknown status %s", status);
}

static int subscription_compare(const struct subscription_row *row,
                                const struct subscription_facts *facts)
{
    int final = subscription_is_final(row->status);
    int next = subscription_is_final(facts->status);

    if (final != next)
        return next - final;
    if (row->event_ms != facts->at_ms)
        return facts->at_ms > row->event_ms ? 1 : -1;
    if (row->event_rank != facts->rank)
        return facts->rank > row->event_rank ? 1 : -1;
    /* Our calls may follow each other faster than the processor's clock resolves: the last answer
     * wins. */
    return facts->reading ? 1 : str_cmp(facts->event_id, row->event_id);
}

static bool subscription_differs(const struct subscription_row *row,
                                 const struct subscription_facts *facts)
{
    const struct subscription_object *object = facts->object;

    return strcmp(row->status, facts->status) != 0 ||
           row->period_start_ms != object->period_start_ms ||
           row->period_end_ms != object->period_end_ms ||
           row->trial_end_ms != object->trial_end_ms || row->canceled_ms != object->canceled_ms ||
           row->ended_ms != object->ended_ms ||
           row->cancel_at_period_end != object->cancel_at_period_end ||
           (object->has_amount && row->amount_minor != object->amount_minor) ||
           (facts->plan_id != 0 && row->plan_id != facts->plan_id);
}

/* The first event of a row and final states need no reading. */
bool subscription_in_doubt(const struct subscription_row *row,
                           const struct subscription_facts *facts)
{
    if (facts->reading || row->event_ms == 0 || subscription_is_final(row->status) ||
        subscription_is_final(facts->status) || !subscription_differs(row, facts))
        return false;
    if (row->event_rank == SUBSCRIPTION_RANK_READING) {
        int64_t difference_ms = facts->at_ms - row->event_ms;
        return difference_ms >= -READING_SPAN_MS && difference_ms <= READING_SPAN_MS;
    }
    if (row->event_ms != facts->at_ms)
        return false;
    /* The event types created, updated and deleted order themselves: the multiples of 16 in the
     * rank. */
    return row->event_rank / 16 == facts->rank / 16;
}

static bool subscription_replace(struct subscription_row *row,
                                 const struct subscription_facts *facts)
{
    const struct subscription_object *object = facts->object;
    bool moved = strcmp(row->status, facts->status) != 0;

    row->status = facts->status;
    moved |= set_number(&row->event_ms, facts->at_ms);
    moved |= set_number(&row->event_rank, facts->rank);
    moved |= set_str(&row->event_id, facts->event_id);
    moved |= set_number(&row->period_start_ms, object->period_start_ms);
    moved |= set_number(&row->period_end_ms, object->period_end_ms);
    moved |= set_number(&row->trial_end_ms, object->trial_end_ms);
    moved |= set_number(&row->canceled_ms, object->canceled_ms);
    moved |= set_number(&row->ended_ms,
                        object->ended_ms == 0 && subscription_is_final(facts->status)
                            ? facts->at_ms
                            : object->ended_ms);
    moved |= row->cancel_at_period_end != object->cancel_at_period_end;
    row->cancel_at_period_end = object->cancel_at_period_end;
    if (object->has_amount)
        moved |= set_number(&row->amount_minor, object->amount_minor);
    if (object->interval_count != 0)
        moved |= set_number(&row->interval_count, object->interval_count);
    if (object->currency.len > 0)
        moved |= set_str(&row->currency, object->currency);
    if (object->interval.len > 0)
        moved |= set_str(&row->billing_interval, object->interval);
    if (facts->plan_id != 0)
        moved |= set_number(&row->plan_id, facts->plan_id);
    if (object->trial_end_ms > object->trial_start_ms && object->trial_start_ms != 0)
        moved |= set_number(&row->trial_length_days,
                            (object->trial_end_ms - object->trial_start_ms) / DAY_MS);
    return moved;
}

bool subscription_update(struct subscription_row *row,
                         const struct subscription_facts *facts,
                         bool *ret_stands)
{
    bool moved = fill_str(&row->provider_subscription_id, facts->object->id);

    moved |= fill_str(&row->session_id, facts->session_id);
    moved |= fill_str(&row->customer, facts->object->customer);
    int order = subscription_compare(row, facts);
    *ret_stands = order >= 0;
    if (order > 0)
        moved |= subscription_replace(row, facts);
    return moved;
}

/* --- finding a row --- */

struct subscription_search {
    struct str id, session_id, customer, price;
    int64_t subscription_id, plan_id; /* of our metadata */
    struct subscription_row row;
    struct str plan_name, email;
    int64_t subscriber_id;
    bool is_new;
};

/* Picks the row with the object's id, else the row that our metadata names, else any row without
 * another id. */
static void subscription_pick(struct subscription_search *search, const struct rows *rows)
{
    int best = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct subscription_row row;
        subscription_row_read(rows, i, &row);
        struct str has = row.provider_subscription_id;
        bool same = search->id.len > 0 && str_eq(search->id, has);
        bool other = search->id.len > 0 && has.len > 0 && !same;
        int fit = other ? 0 : same ? 3 : row.id == search->subscription_id ? 2 : 1;
        if (fit > best) {
            search->row = row;
            best = fit;
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_subscription_row other = sql_subscription_row(rows, i);
        if (other.id != search->row.id && str_eq(other.session_id, search->session_id))
            search->session_id = STR_NONE;
    }
}

static void plan_pick(struct subscription_search *search, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_apply_plan_row from = sql_apply_plan_row(rows, i);
        bool priced = from.priced.value;
        /* Our metadata names only the plan that the subscription started with: the current price's
         * wins. */
        if (priced || search->plan_name.len == 0) {
            search->plan_name = from.name;
            search->plan_id = from.id;
        }
        if (priced)
            return;
    }
    if (rows->count == 0)
        search->plan_id = 0;
}

static struct db_call subscription_lock_call(struct arena *arena,
                                             const struct subscription_search *search)
{
    return db_call_new(arena,
                       SQL_APPLY_SUBSCRIPTION_LOCK(.provider_subscription_id = key_str(search->id),
                                                   .id = search->subscription_id,
                                                   .session_id = key_str(search->session_id)));
}

AWAITS static int
subscription_lookup(struct apply_source *source, struct db *tx, struct subscription_search *search)
{
    struct db_call calls[] = {
        subscription_lock_call(source->task->arena, search),
        db_call(SQL_APPLY_CUSTOMER(.provider_id = key_str(search->customer))),
        db_call(
            SQL_APPLY_PLAN(.processor_price_id = key_str(search->price), .id = search->plan_id)),
    };

    TRY(db_batch(source->task, tx, calls, ARRAY_LEN(calls), NULL));
    subscription_pick(search, &calls[0].rows);
    if (calls[1].rows.count > 0) {
        const struct sql_apply_customer_row from = sql_apply_customer_row(&calls[1].rows, 0);
        search->subscriber_id = from.subscriber_id.value;
        search->email = from.email;
    }
    plan_pick(search, &calls[2].rows);
    return 0;
}

AWAITS static int subscription_lookup_locked(struct apply_source *source,
                                             struct db *tx,
                                             const struct subscription_object *object,
                                             struct subscription_search *search)
{
    struct db_call calls[] = {
        db_call(SQL_APPLY_LOCK(.key = apply_lock_key(search->id))),
        subscription_lock_call(source->task->arena, search),
        db_call(SQL_APPLY_SUBSCRIPTION_NEXT()),
    };

    TRY(db_batch(source->task, tx, calls, ARRAY_LEN(calls), NULL));
    subscription_pick(search, &calls[1].rows);
    if (search->row.id != 0)
        return 0;
    const struct sql_apply_next_row next = sql_apply_next_row(&calls[2].rows, 0);
    search->is_new = true;
    search->row = (struct subscription_row){
        .id = next.id,
        .status = "incomplete",
        .provider = STR("processor"),
        .name = search->plan_name,
        .plan_id = search->plan_id,
        .metadata =
            object->metadata != NULL ? jr_print(source->task->arena, object->metadata) : STR("{}"),
        .created_ms = next.now,
        .updated_ms = next.now,
    };
    return 0;
}

/* --- writing a row --- */

/* Returns when the timer fetches the subscription, 0 = never. Until the call that creates it has
 * ended (`settled`): row->settle_ms. Then, if it gives access: OVERDUE_MS after the end of its
 * period, in case no event announced the next period. */
static int64_t next_reading_ms(const struct subscription_row *row, bool settled)
{
    bool gives = strcmp(row->status, "active") == 0 || strcmp(row->status, "trialing") == 0 ||
                 strcmp(row->status, "past_due") == 0;

    if (!settled)
        return row->settle_ms;
    return gives && row->period_end_ms != 0 ? row->period_end_ms + OVERDUE_MS : 0;
}

static void
subscription_put(struct apply_source *source, struct applied *applied, struct subscription_row *row)
{
    /* The processor has the subscription or never will: the call that creates it has ended. */
    bool settled = row->provider_subscription_id.len > 0 || subscription_is_final(row->status);

    announce_subscription_row(source, applied, row);
    applied_add(
        source,
        applied,
        SQL_APPLY_SUBSCRIPTION_PUT(.id = row->id,
                                   .plan_id = some_id(row->plan_id),
                                   .subscriber_id = some_id(row->subscriber_id),
                                   .customer_email = row->customer_email,
                                   .customer = row->customer,
                                   .provider_subscription_id = row->provider_subscription_id,
                                   .session_id = row->session_id,
                                   .name = row->name,
                                   .description = row->description,
                                   .amount_minor =
                                       row->currency.len > 0 ? some_i64(row->amount_minor) : NO_I64,
                                   .currency = row->currency,
                                   .billing_interval = row->billing_interval,
                                   .interval_count = some_id(row->interval_count),
                                   .trial_length_days = row->trial_length_days,
                                   .status = str_from(row->status),
                                   .current_period_start = row->period_start_ms,
                                   .current_period_end = row->period_end_ms,
                                   .trial_end = row->trial_end_ms,
                                   .cancel_at_period_end = row->cancel_at_period_end,
                                   .canceled_at = row->canceled_ms,
                                   .ended_at = row->ended_ms,
                                   .event_at = row->event_ms,
                                   .event_rank = row->event_rank,
                                   .event_id = row->event_id,
                                   .settle_at = next_reading_ms(row, settled),
                                   .emitted = row->emitted,
                                   .metadata = row->metadata.len ? row->metadata : STR("{}"),
                                   .settled = settled));
}

/* Every event gets a history row, also a late one, so that the rows do not depend on the order of
 * arrival. A reading gets one only for a new row or a new status. */
static void history_add(struct apply_source *source,
                        struct applied *applied,
                        const struct subscription_facts *facts,
                        int64_t id,
                        const char *before)
{
    struct strbuf out;
    struct jw w;

    if (facts->event_id.len == 0 && before != NULL && strcmp(before, facts->status) == 0)
        return;
    strbuf_init(&out, source->task->arena, DETAIL_BYTES_MAX);
    jw_init(&w, &out);
    jw_obj(&w);
    if (facts->event_type.len > 0)
        JW_STR(&w, "type", facts->event_type);
    JW_I64(&w, "rank", facts->rank);
    jw_obj_end(&w);
    applied_add(
        source,
        applied,
        SQL_APPLY_HISTORY_ADD(.subscription_id = id,
                              .at = facts->at_ms,
                              .from_status = before != NULL ? str_from(before) : STR_NONE,
                              .to_status = str_from(facts->status),
                              .event_id = facts->event_id,
                              .detail = jw_is_complete(&w) ? strbuf_view(&out) : STR("{}")));
    applied_add(source, applied, SQL_APPLY_HISTORY_LINK(.subscription_id = id));
}

/* --- reported facts --- */

bool processor_can_be_read(const struct apply_source *source)
{
    return source->settings != NULL && source->settings->processor.secret_key.len > 0;
}

/* Fills in the payer, who is the same in every report. */
static bool subscription_link_payer(struct subscription_row *row,
                                    const struct subscription_search *search)
{
    bool moved = fill_str(&row->customer_email, search->email);

    moved |= fill_number(&row->subscriber_id, search->subscriber_id);
    return moved;
}

static bool facts_read(struct apply_source *source,
                       const struct subscription_object *object,
                       struct subscription_facts *ret)
{
    bool reading = source->event_id.len == 0;
    struct str status = str_is(source->event_type, "customer.subscription.deleted")
                            ? STR("canceled")
                            : object->status;

    *ret = (struct subscription_facts){
        .object = object,
        .status = subscription_status(status),
        .event_id = source->event_id,
        .event_type = source->event_type,
        .at_ms = reading ? source->at_ms / SECOND_MS * SECOND_MS : source->at_ms,
        .reading = reading,
    };
    if (ret->status == NULL)
        return false;
    ret->rank =
        reading ? SUBSCRIPTION_RANK_READING : subscription_rank(source->event_type, ret->status);
    return true;
}

/* A subscription that was fetched because the order of two events is unknown is later than both. */
static bool fetched_facts_read(const struct apply_plan *plan,
                               const struct subscription_row *row,
                               struct subscription_object *ret_object,
                               struct subscription_facts *facts)
{
    const char *status;

    if (subscription_read(plan->fetched, ret_object) != 0 ||
        (status = subscription_status(ret_object->status)) == NULL)
        return false;
    int64_t at_ms = plan->fetched_ms / SECOND_MS * SECOND_MS;
    if (at_ms < facts->at_ms)
        at_ms = facts->at_ms;
    if (at_ms < row->event_ms)
        at_ms = row->event_ms;
    *facts = (struct subscription_facts){.object = ret_object,
                                         .status = status,
                                         .at_ms = at_ms,
                                         .rank = SUBSCRIPTION_RANK_READING,
                                         .reading = true,
                                         .plan_id = facts->plan_id};
    return true;
}

AWAITS static int subscription_find(struct apply_source *source,
                                    struct db *tx,
                                    const struct subscription_object *object,
                                    struct subscription_search *ret)
{
    bool ours;
    bool other_project;

    *ret = (struct subscription_search){
        .id = object->id, .customer = object->customer, .price = object->price};
    ret->subscription_id =
        metadata_id(source, object->metadata, "subscription_id", &ours, &other_project);
    ret->plan_id = metadata_id(source, object->metadata, "plan_id", &ours, &other_project);
    if (other_project)
        return APPLY_OTHER_PROJECT;
    TRY(subscription_lookup(source, tx, ret));
    return ret->row.id != 0 ? 0 : subscription_lookup_locked(source, tx, object, ret);
}

int subscription_apply(struct apply_source *source,
                       struct db *tx,
                       const struct subscription_object *object,
                       struct apply_plan *plan,
                       struct applied *applied,
                       int64_t *ret_id)
{
    struct subscription_facts facts;
    struct subscription_facts read;
    struct subscription_object fetched;
    struct subscription_search search;
    bool stands;

    if (!facts_read(source, object, &facts))
        return APPLY_MALFORMED;
    TRY(subscription_find(source, tx, object, &search));
    struct subscription_row *row = &search.row;
    const char *before = search.is_new ? NULL : row->status;
    facts.plan_id = search.plan_id;
    if (plan != NULL && !plan->reading_tried && processor_can_be_read(source) &&
        subscription_in_doubt(row, &facts)) {
        plan->needs_reading = true;
        return APPLY_LATER;
    }
    bool moved = subscription_link_payer(row, &search);
    moved |= subscription_update(row, &facts, &stands);
    read = facts;
    if (plan != NULL && fetched_facts_read(plan, row, &fetched, &read))
        moved |= subscription_update(row, &read, &stands);
    bool same = applied_set_row_effect(
        source, applied, "subscription", row->id, before, row->status, "status unchanged");
    if (same && !stands)
        applied_set_effect(source,
                           applied,
                           "nothing: older than the stored state of subscription %lld",
                           (long long)row->id);
    if (moved || search.is_new)
        subscription_put(source, applied, row);
    history_add(source, applied, &facts, row->id, before);
    if (ret_id != NULL)
        *ret_id = row->id;
    return 0;
}

/* Ends a subscription whose checkout has expired before anything was paid. */
static bool
unstarted_expire(struct apply_source *source, struct applied *applied, struct subscription_row *row)
{
    const struct subscription_facts facts = {
        .status = "incomplete_expired",
        .at_ms = source->at_ms,
        .rank = subscription_rank(source->event_type, "incomplete_expired"),
        .event_id = source->event_id,
        .event_type = source->event_type,
    };

    if (row->provider_subscription_id.len > 0 || strcmp(row->status, "incomplete") != 0)
        return false;
    history_add(source, applied, &facts, row->id, row->status);
    row->status = facts.status;
    row->event_ms = facts.at_ms;
    row->event_rank = facts.rank;
    row->event_id = facts.event_id;
    row->ended_ms = facts.at_ms;
    return true;
}

int subscription_session(struct apply_source *source,
                         struct db *tx,
                         const struct session_object *session,
                         struct applied *applied)
{
    struct subscription_search search = {
        .id = session->subscription,
        .session_id = session->id,
        .customer = session->customer,
    };
    struct subscription_row *row = &search.row;
    bool ours;
    bool other_project;

    search.subscription_id =
        metadata_id(source, session->metadata, "subscription_id", &ours, &other_project);
    if (other_project)
        return APPLY_OTHER_PROJECT;
    TRY(subscription_lookup(source, tx, &search));
    if (row->id == 0) {
        applied_set_effect(
            source, applied, "nothing: no subscription of this project began with this session");
        return 0;
    }
    const char *before = row->status;
    bool moved = fill_str(&row->provider_subscription_id, search.id);
    moved |= fill_str(&row->session_id, search.session_id);
    moved |= fill_str(&row->customer, search.customer);
    moved |= subscription_link_payer(row, &search);
    moved |= fill_str(&row->customer_email, session->customer_email);
    if (str_is(session->status, "expired"))
        moved |= unstarted_expire(source, applied, row);
    (void)applied_set_row_effect(
        source, applied, "subscription", row->id, before, row->status, "status unchanged");
    if (moved)
        subscription_put(source, applied, row);
    return 0;
}
