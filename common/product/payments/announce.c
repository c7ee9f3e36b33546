/* Events about payments, subscriptions and methods: which are due, and their payloads. */
#include "payments/announce_private.h"

#include "apply_sql.h"
#include "json/jw.h"
#include "payments/apply_rows_private.h"
#include "payments/money.h"

#define PAYLOAD_BYTES_MAX (256U << 10) /* metadata has at most 50 values of 500 characters */
#define TIMES_MS_MAX      253402300799999LL

/* --- due events --- */

static bool status_is(const char *status, const char *name)
{
    return strcmp(status, name) == 0;
}

/* A refunded or disputed payment has succeeded, whichever event arrived first. */
unsigned payment_events_due(const char *status)
{
    if (status_is(status, "succeeded") || status_is(status, "partially_refunded") ||
        status_is(status, "refunded") || status_is(status, "disputed"))
        return EVENT_PAYMENT_CREATED_BIT | EVENT_PAYMENT_SUCCEEDED_BIT;
    return EVENT_PAYMENT_CREATED_BIT |
           (status_is(status, "failed") ? EVENT_PAYMENT_FAILED_BIT : 0U);
}

/* A past-due subscription still gives access, so it counts as activated. */
static unsigned subscription_events_due(const char *status)
{
    if (status_is(status, "active") || status_is(status, "trialing"))
        return EVENT_SUBSCRIPTION_CREATED_BIT | EVENT_SUBSCRIPTION_ACTIVATED_BIT;
    if (status_is(status, "past_due"))
        return EVENT_SUBSCRIPTION_CREATED_BIT | EVENT_SUBSCRIPTION_ACTIVATED_BIT |
               EVENT_SUBSCRIPTION_PAST_DUE_BIT;
    if (status_is(status, "canceled") || status_is(status, "unpaid") ||
        status_is(status, "incomplete_expired"))
        return EVENT_SUBSCRIPTION_CREATED_BIT | EVENT_SUBSCRIPTION_EXPIRED_BIT;
    return EVENT_SUBSCRIPTION_CREATED_BIT;
}

static unsigned method_events_due(const char *status)
{
    if (status_is(status, "active"))
        return EVENT_METHOD_CAPTURED_BIT;
    return status_is(status, "detached") ? EVENT_METHOD_REMOVED_BIT
                                         : EVENT_METHOD_CAPTURE_FAILED_BIT;
}

/* --- payloads --- */

static void member_str(struct jw *w, const char *name, struct str text)
{
    jw_lit(w, name);
    if (text.len > 0)
        jw_str(w, text);
    else
        jw_null(w);
}

static void member_id(struct jw *w, const char *name, int64_t id)
{
    jw_lit(w, name);
    if (id != 0)
        jw_i64(w, id);
    else
        jw_null(w);
}

static void member_time(struct jw *w, const char *name, int64_t ms)
{
    jw_lit(w, name);
    if (ms > 0 && ms <= TIMES_MS_MAX)
        jw_time(w, ms);
    else
        jw_null(w);
}

static void member_json(struct jw *w, const char *name, struct str json)
{
    jw_lit(w, name);
    jw_raw(w, json.len > 0 ? json : STR("{}"));
}

static void payload_begin(struct arena *arena, struct jw *w, struct strbuf *out)
{
    strbuf_init(out, arena, PAYLOAD_BYTES_MAX);
    jw_init(w, out);
    jw_obj(w);
}

static struct str payload_end(struct jw *w)
{
    jw_obj_end(w);
    return jw_is_complete(w) ? strbuf_view(w->out) : STR("{}");
}

static struct str payment_payload(struct arena *arena, const struct payment_row *row)
{
    struct strbuf out;
    struct jw w;

    payload_begin(arena, &w, &out);
    JW_I64(&w, "id", row->id);
    member_str(&w, "type", row->type);
    member_str(&w, "provider", row->provider);
    money_json(&w, "amount", row->amount_minor, row->currency);
    member_str(&w, "currency", row->currency);
    JW_CSTR(&w, "status", row->status);
    member_str(&w, "description", row->description);
    member_str(&w, "reference", row->reference);
    member_str(&w, "customer_email", row->customer_email);
    member_id(&w, "subscriber_id", row->subscriber_id);
    member_id(&w, "subscription_id", row->subscription_id);
    member_id(&w, "payment_method_id", row->payment_method_id);
    member_str(&w, "failure_code", row->failure_code);
    member_str(&w, "failure_message", row->failure_message);
    money_json(&w, "amount_refunded", row->amount_refunded_minor, row->currency);
    money_json(&w, "platform_fee", row->platform_fee_minor, row->currency);
    member_time(&w, "paid_at", row->paid_ms);
    member_json(&w, "metadata", row->metadata);
    member_time(&w, "created_at", row->created_ms);
    return payload_end(&w);
}

static struct str subscription_payload(struct arena *arena, const struct subscription_row *row)
{
    struct strbuf out;
    struct jw w;

    payload_begin(arena, &w, &out);
    JW_I64(&w, "id", row->id);
    member_id(&w, "plan_id", row->plan_id);
    member_id(&w, "subscriber_id", row->subscriber_id);
    member_str(&w, "customer_email", row->customer_email);
    JW_CSTR(&w, "status", row->status);
    member_str(&w, "provider", row->provider);
    member_str(&w, "provider_subscription_id", row->provider_subscription_id);
    member_str(&w, "name", row->name);
    member_str(&w, "description", row->description);
    if (row->currency.len > 0)
        money_json(&w, "amount", row->amount_minor, row->currency);
    member_str(&w, "currency", row->currency);
    member_str(&w, "billing_interval", row->billing_interval);
    member_id(&w, "interval_count", row->interval_count);
    JW_I64(&w, "trial_length_days", row->trial_length_days);
    member_time(&w, "current_period_start", row->period_start_ms);
    member_time(&w, "current_period_end", row->period_end_ms);
    member_time(&w, "trial_end", row->trial_end_ms);
    JW_BOOL(&w, "cancel_at_period_end", row->cancel_at_period_end);
    member_time(&w, "canceled_at", row->canceled_ms);
    member_time(&w, "ended_at", row->ended_ms);
    member_json(&w, "metadata", row->metadata);
    member_time(&w, "created_at", row->created_ms);
    member_time(&w, "updated_at", row->updated_ms);
    return payload_end(&w);
}

static struct str method_payload(struct arena *arena, const struct method_row *row)
{
    struct strbuf out;
    struct jw w;

    payload_begin(arena, &w, &out);
    JW_I64(&w, "id", row->id);
    member_str(&w, "type", row->type);
    member_str(&w, "brand", row->brand);
    member_str(&w, "last4", row->last4);
    member_id(&w, "exp_month", row->exp_month);
    member_id(&w, "exp_year", row->exp_year);
    JW_BOOL(&w, "is_default", row->is_default);
    JW_CSTR(&w, "status", row->status);
    member_id(&w, "subscriber_id", row->subscriber_id);
    member_str(&w, "subscriber_email", row->subscriber_email);
    member_str(&w, "failure_code", row->failure_code);
    member_str(&w, "failure_message", row->failure_message);
    member_time(&w, "created_at", row->created_ms);
    return payload_end(&w);
}

/* --- emitting --- */

static void announce_emit(struct apply_source *source,
                          struct applied *applied,
                          enum event_subject subject,
                          unsigned due,
                          struct str text)
{
    for (enum event_kind event = EVENT_CREATED; event < EVENT_KINDS; event++)
        if (event_info(event)->subject == subject && (due & event_info(event)->bit))
            applied_add_event(source, applied, event, text);
}

/* A decline is not announced after the payment is authorized, paid or canceled. */
static bool is_paid_or_over(const char *status)
{
    return status_is(status, "requires_capture") || status_is(status, "canceled") ||
           (payment_events_due(status) & EVENT_PAYMENT_SUCCEEDED_BIT) != 0;
}

void announce_payment_row(struct apply_source *source,
                          struct applied *applied,
                          struct payment_row *row)
{
    unsigned due = payment_events_due(row->status) & ~row->emitted;
    struct payment_row declined = *row;

    if (!str_is(row->provider, "processor"))
        return;
    if (row->declines_due_count > 0)
        due &= ~(unsigned)EVENT_PAYMENT_FAILED_BIT;
    if (due != 0)
        announce_emit(
            source, applied, SUBJECT_PAYMENTS, due, payment_payload(source->task->arena, row));
    row->emitted |= due;
    for (size_t i = 0; i < row->declines_due_count && !is_paid_or_over(row->status); i++) {
        declined.status = "failed";
        declined.failure_code = row->declines_due[i].code;
        declined.failure_message = row->declines_due[i].message;
        announce_emit(source,
                      applied,
                      SUBJECT_PAYMENTS,
                      EVENT_PAYMENT_FAILED_BIT,
                      payment_payload(source->task->arena, &declined));
        row->emitted |= EVENT_PAYMENT_FAILED_BIT;
    }
    row->declines_due_count = 0;
}

/* A subscription is not announced before the processor has created it. */
void announce_subscription_row(struct apply_source *source,
                               struct applied *applied,
                               struct subscription_row *row)
{
    /* An event is emitted each time that the subscription enters a state of the event, so clear the
     * bits of states that it has left. */
    row->emitted &= subscription_events_due(row->status);
    unsigned due = subscription_events_due(row->status) & ~row->emitted;

    if (due == 0 || !str_is(row->provider, "processor") || row->provider_subscription_id.len == 0)
        return;
    announce_emit(source,
                  applied,
                  SUBJECT_SUBSCRIPTIONS,
                  due,
                  subscription_payload(source->task->arena, row));
    row->emitted |= due;
}

/* A method of which only the set-up has arrived has no details yet: it is announced later. */
void announce_method_row(struct apply_source *source,
                         struct applied *applied,
                         struct method_row *row)
{
    unsigned due = method_events_due(row->status) & ~row->emitted;

    if (due == 0 || row->event_ms == 0)
        return;
    announce_emit(source, applied, SUBJECT_METHODS, due, method_payload(source->task->arena, row));
    row->emitted |= due;
}

/* A row that other code has changed: it is read again, its events are emitted and their bits are
 * set. */
struct emission {
    struct apply_source source;
    struct applied applied;
    struct rows rows;
};

AWAITS static int announce_begin(
    struct emission *emission, struct task *task, struct db *tx, const struct sql *get, int64_t id)
{
    *emission = (struct emission){.source = {.task = task}};
    return db_query(task, tx, get, SQL_APPLY_KEY_ARGS(.id = id), &emission->rows);
}

AWAITS static int announce_end(struct emission *emission,
                               struct db *tx,
                               const struct sql *set,
                               int64_t id,
                               unsigned bits,
                               bool *ret_emitted)
{
    if (emission->applied.call_count == 0)
        return 0;
    applied_add(&emission->source,
                &emission->applied,
                set,
                SQL_APPLY_EMITTED_ARGS(.emitted = bits, .id = id));
    TRY(applied_write(&emission->source, tx, &emission->applied));
    *ret_emitted = *ret_emitted || emission->applied.emitted;
    return 0;
}

int announce_payment(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
{
    struct payment_row row;
    struct emission emission;

    TRY(announce_begin(&emission, task, tx, &SQL_APPLY_PAYMENT_GET, id));
    if (emission.rows.count == 0)
        return 0;
    payment_row_read(&emission.rows, 0, &row);
    announce_payment_row(&emission.source, &emission.applied, &row);
    return announce_end(&emission, tx, &SQL_APPLY_PAYMENT_EMITTED, id, row.emitted, ret_emitted);
}

int announce_subscription(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
{
    struct subscription_row row;
    struct emission emission;

    TRY(announce_begin(&emission, task, tx, &SQL_APPLY_SUBSCRIPTION_GET, id));
    if (emission.rows.count == 0)
        return 0;
    subscription_row_read(&emission.rows, 0, &row);
    announce_subscription_row(&emission.source, &emission.applied, &row);
    return announce_end(
        &emission, tx, &SQL_APPLY_SUBSCRIPTION_EMITTED, id, row.emitted, ret_emitted);
}
