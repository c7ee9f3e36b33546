/* Rows of payments in memory, and the calls that write what became of them. */
#include "payments/apply_rows_private.h"

#include "apply_sql.h"
#include "base/panic.h"
#include "project/events.h"

#define CALLS_MAX 24U /* far more than one object needs; also the bits of applied.rings */

/* --- rows --- */

void payment_row_read(const struct row *from, struct payment_row *ret)
{
    *ret = (struct payment_row){
        .id = row_i64(from, "id"),
        .status = payment_status(row_str(from, "status")),
        .type = row_str(from, "type"),
        .provider = row_str(from, "provider"),
        .currency = row_str(from, "currency"),
        .description = row_str(from, "description"),
        .reference = row_str(from, "reference"),
        .intent_id = row_str(from, "intent_id"),
        .session_id = row_str(from, "session_id"),
        .charge_id = row_str(from, "charge_id"),
        .invoice_payment_id = row_str(from, "invoice_payment_id"),
        .customer = row_str(from, "customer"),
        .customer_email = row_str(from, "customer_email"),
        .failure_code = row_str(from, "failure_code"),
        .failure_message = row_str(from, "failure_message"),
        .event_id = row_str(from, "event_id"),
        .metadata = row_str(from, "metadata"),
        .disputes = row_str(from, "disputes"),
        .amount_minor = row_i64(from, "amount_minor"),
        .amount_refunded_minor = row_i64(from, "amount_refunded_minor"),
        .platform_fee_minor = row_i64(from, "platform_fee_minor"),
        .subscriber_id = row_i64(from, "subscriber_id"),
        .payment_method_id = row_i64(from, "payment_method_id"),
        .subscription_id = row_i64(from, "subscription_id"),
        .paid_ms = row_time(from, "paid_at"),
        .event_ms = row_time(from, "event_at"),
        .settle_ms = row_time(from, "settle_at"),
        .created_ms = row_time(from, "created_at"),
        .calling = row_bool(from, "calling"),
        .told = (unsigned)row_i64(from, "told"),
    };
    MUST(ret->status != NULL); /* the table checks it */
}

void subscription_row_read(const struct row *from, struct subscription_row *ret)
{
    *ret = (struct subscription_row){
        .id = row_i64(from, "id"),
        .status = subscription_status(row_str(from, "status")),
        .provider = row_str(from, "provider"),
        .provider_subscription_id = row_str(from, "provider_subscription_id"),
        .session_id = row_str(from, "session_id"),
        .customer = row_str(from, "customer"),
        .customer_email = row_str(from, "customer_email"),
        .name = row_str(from, "name"),
        .description = row_str(from, "description"),
        .currency = row_str(from, "currency"),
        .billing_interval = row_str(from, "billing_interval"),
        .event_id = row_str(from, "event_id"),
        .metadata = row_str(from, "metadata"),
        .plan_id = row_i64(from, "plan_id"),
        .subscriber_id = row_i64(from, "subscriber_id"),
        .amount_minor = row_i64(from, "amount_minor"),
        .interval_count = row_i64(from, "interval_count"),
        .trial_length_days = row_i64(from, "trial_length_days"),
        .period_start_ms = row_time(from, "current_period_start"),
        .period_end_ms = row_time(from, "current_period_end"),
        .trial_end_ms = row_time(from, "trial_end"),
        .canceled_ms = row_time(from, "canceled_at"),
        .ended_ms = row_time(from, "ended_at"),
        .event_ms = row_time(from, "event_at"),
        .event_rank = row_i64(from, "event_rank"),
        .settle_ms = row_time(from, "settle_at"),
        .created_ms = row_time(from, "created_at"),
        .updated_ms = row_time(from, "updated_at"),
        .cancel_at_period_end = row_bool(from, "cancel_at_period_end"),
        .calling = row_bool(from, "calling"),
        .told = (unsigned)row_i64(from, "told"),
    };
    MUST(ret->status != NULL);
}

static const char *method_status(struct str text)
{
    static const char *const names[] = {"active", "setup_failed", "detached"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(text, names[i]))
            return names[i];
    return NULL;
}

void method_row_read(const struct row *from, struct method_row *ret)
{
    *ret = (struct method_row){
        .id = row_i64(from, "id"),
        .status = method_status(row_str(from, "status")),
        .provider_id = row_str(from, "provider_id"),
        .setup_id = row_str(from, "setup_id"),
        .customer = row_str(from, "customer"),
        .subscriber_email = row_str(from, "subscriber_email"),
        .type = row_str(from, "type"),
        .brand = row_str(from, "brand"),
        .last4 = row_str(from, "last4"),
        .failure_code = row_str(from, "failure_code"),
        .failure_message = row_str(from, "failure_message"),
        .subscriber_id = row_i64(from, "subscriber_id"),
        .exp_month = row_i64(from, "exp_month"),
        .exp_year = row_i64(from, "exp_year"),
        .event_ms = row_time(from, "event_at"),
        .created_ms = row_time(from, "created_at"),
        .is_default = row_bool(from, "is_default"),
        .told = (unsigned)row_i64(from, "told"),
    };
    MUST(ret->status != NULL);
}

/* --- what is to be written --- */

static size_t add(struct apply_source *source, struct applied *applied, struct db_call call)
{
    MUST(applied->call_count < CALLS_MAX);
    if (applied->calls == NULL)
        applied->calls = ARENA_ARRAY(source->task->arena, applied->calls, CALLS_MAX);
    applied->calls[applied->call_count] = call;
    return applied->call_count++;
}

void applied_add(struct apply_source *source,
                 struct applied *applied,
                 const struct sql *sql,
                 const struct db_param *params,
                 size_t param_count)
{
    struct db_param *own = ARENA_ARRAY(source->task->arena, own, param_count);

    memcpy(own, params, param_count * sizeof(*own));
    (void)add(
        source, applied, (struct db_call){.sql = sql, .params = own, .param_count = param_count});
}

void applied_add_event(struct apply_source *source,
                       struct applied *applied,
                       const char *event,
                       struct str payload)
{
    struct db_call call = events_outbox_plain_call(source->task->arena, event, payload);

    applied->rings |= 1U << add(source, applied, call);
}

void applied_add_wake(struct apply_source *source, struct applied *applied, struct str object)
{
    applied_add(source, applied, &SQL_APPLY_WAKE, PARAMS(P_STR(object)));
    applied->wakes |= 1U << (applied->call_count - 1);
}

void applied_say(struct apply_source *source, struct applied *applied, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    applied->effect = arena_vprintf(source->task->arena, format, args);
    va_end(args);
}

/* What the calls have done; none of them is left. */
static void written(struct applied *applied, const struct db_call *calls)
{
    for (size_t i = 0; i < applied->call_count; i++) {
        bool touched = calls[i].rows.affected > 0;
        applied->rang = applied->rang || (touched && (applied->rings >> i & 1U));
        applied->woke = applied->woke || (touched && (applied->wakes >> i & 1U));
    }
    applied->call_count = 0;
    applied->rings = 0;
    applied->wakes = 0;
}

int applied_write(struct apply_source *source, struct db *tx, struct applied *applied)
{
    if (applied->call_count == 0)
        return 0;
    int rc = db_batch(source->task, tx, applied->calls, applied->call_count, NULL);
    if (rc != 0)
        return rc == DB_UNIQUE ? DB_CONFLICT : rc;
    written(applied, applied->calls);
    return 0;
}

int apply_commit(struct apply_source *source,
                 struct db *tx,
                 struct applied *applied,
                 struct db_call *more,
                 size_t more_count)
{
    struct task *task = source->task;
    size_t own = applied->call_count;

    if (own + more_count == 0)
        return db_commit(task, tx);
    struct db_call *calls = ARENA_ARRAY(task->arena, calls, own + more_count);
    if (own > 0)
        memcpy(calls, applied->calls, own * sizeof(*calls));
    if (more_count > 0)
        memcpy(calls + own, more, more_count * sizeof(*calls));
    size_t failed = 0;
    int rc = db_batch_commit(task, tx, calls, own + more_count, &failed);
    if (rc != 0)
        return rc == DB_UNIQUE && failed < own ? DB_CONFLICT : rc;
    if (more_count > 0)
        memcpy(more, calls + own, more_count * sizeof(*calls));
    written(applied, calls);
    return 0;
}
