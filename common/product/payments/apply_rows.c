/* Rows in memory, and the statements that write them. */
#include "payments/apply_rows_private.h"

#include "apply_sql.h"
#include "base/panic.h"
#include "payments/apply_attempt_private.h"
#include "payments/apply_subscription_private.h"
#include "project/events.h"

#define CALLS_MAX 24U /* far more than one object needs; fits the bits of applied.emit_calls */

/* --- rows --- */

void payment_row_read(const struct rows *rows, size_t index, struct payment_row *ret)
{
    const struct sql_payment_row from = sql_payment_row(rows, index);

    *ret = (struct payment_row){
        .id = from.id,
        .status = payment_status(from.status),
        .type = from.type,
        .provider = from.provider,
        .currency = from.currency,
        .description = from.description,
        .reference = from.reference,
        .intent_id = from.intent_id,
        .session_id = from.session_id,
        .charge_id = from.charge_id,
        .invoice_payment_id = from.invoice_payment_id,
        .customer = from.customer,
        .customer_email = from.customer_email,
        .failure_code = from.failure_code,
        .failure_message = from.failure_message,
        .event_id = from.event_id,
        .metadata = from.metadata,
        .disputes = from.disputes,
        .declines = from.declines,
        .refunds = from.refunds,
        .amount_minor = from.amount_minor,
        .amount_refunded_minor = from.amount_refunded_minor,
        .platform_fee_minor = from.platform_fee_minor,
        .subscriber_id = from.subscriber_id.value,
        .payment_method_id = from.payment_method_id.value,
        .subscription_id = from.subscription_id.value,
        .paid_ms = from.paid_at,
        .event_ms = from.event_at,
        .event_rank = from.event_rank,
        .settle_ms = from.settle_at,
        .created_ms = from.created_at,
        .has_call = from.calling,
        .emitted = (unsigned)from.emitted,
    };
    MUST(ret->status != NULL); /* the table has a constraint on it */
}

void subscription_row_read(const struct rows *rows, size_t index, struct subscription_row *ret)
{
    const struct sql_subscription_row from = sql_subscription_row(rows, index);

    *ret = (struct subscription_row){
        .id = from.id,
        .status = subscription_status(from.status),
        .provider = from.provider,
        .provider_subscription_id = from.provider_subscription_id,
        .session_id = from.session_id,
        .customer = from.customer,
        .customer_email = from.customer_email,
        .name = from.name,
        .description = from.description,
        .currency = from.currency,
        .billing_interval = from.billing_interval,
        .event_id = from.event_id,
        .metadata = from.metadata,
        .plan_id = from.plan_id.value,
        .subscriber_id = from.subscriber_id.value,
        .amount_minor = from.amount_minor.value,
        .interval_count = from.interval_count.value,
        .trial_length_days = from.trial_length_days,
        .period_start_ms = from.current_period_start,
        .period_end_ms = from.current_period_end,
        .trial_end_ms = from.trial_end,
        .canceled_ms = from.canceled_at,
        .ended_ms = from.ended_at,
        .event_ms = from.event_at,
        .event_rank = from.event_rank,
        .settle_ms = from.settle_at,
        .created_ms = from.created_at,
        .updated_ms = from.updated_at,
        .cancel_at_period_end = from.cancel_at_period_end,
        .has_call = from.calling,
        .emitted = (unsigned)from.emitted,
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

void method_row_read(const struct rows *rows, size_t index, struct method_row *ret)
{
    const struct sql_method_row from = sql_method_row(rows, index);

    *ret = (struct method_row){
        .id = from.id,
        .status = method_status(from.status),
        .provider_id = from.provider_id,
        .setup_id = from.setup_id,
        .customer = from.customer,
        .subscriber_email = from.subscriber_email,
        .type = from.type,
        .brand = from.brand,
        .last4 = from.last4,
        .failure_code = from.failure_code,
        .failure_message = from.failure_message,
        .subscriber_id = from.subscriber_id.value,
        .exp_month = from.exp_month.value,
        .exp_year = from.exp_year.value,
        .event_ms = from.event_at,
        .created_ms = from.created_at,
        .is_default = from.is_default,
        .emitted = (unsigned)from.emitted,
    };
    MUST(ret->status != NULL);
}

/* --- statements to run --- */

static size_t
applied_append(struct apply_source *source, struct applied *applied, struct db_call call)
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
    (void)applied_append(
        source, applied, (struct db_call){.sql = sql, .params = own, .param_count = param_count});
}

void applied_add_event(struct apply_source *source,
                       struct applied *applied,
                       enum event_kind event,
                       struct str payload)
{
    struct db_call call = events_outbox_call(
        source->task->arena, &(struct outbox_row){.event = event, .payload = payload});

    applied->emit_calls |= 1U << applied_append(source, applied, call);
}

void applied_add_wake(struct apply_source *source, struct applied *applied, struct str object)
{
    applied_add(source, applied, SQL_APPLY_WAKE(.object = object));
    applied->wake_calls |= 1U << (applied->call_count - 1);
}

void applied_set_effect(struct apply_source *source,
                        struct applied *applied,
                        const char *format,
                        ...)
{
    va_list args;

    va_start(args, format);
    applied->effect = arena_vprintf(source->task->arena, format, args);
    va_end(args);
}

bool applied_set_row_effect(struct apply_source *source,
                            struct applied *applied,
                            const char *kind,
                            int64_t id,
                            const char *before,
                            const char *now,
                            const char *same)
{
    long long number = (long long)id;
    bool is_same = before != NULL && strcmp(before, now) == 0;

    if (is_same)
        applied_set_effect(source, applied, "%s %lld: %s, %s", kind, number, now, same);
    else if (before != NULL)
        applied_set_effect(source, applied, "%s %lld: %s -> %s", kind, number, before, now);
    else
        applied_set_effect(source, applied, "%s %lld: created, %s", kind, number, now);
    applied->object = arena_printf(source->task->arena, "%s:%lld", kind, number);
    return is_same;
}

/* Sets .emitted and .woke_events by the affected rows, and removes the statements. */
static void applied_finish(struct applied *applied, const struct db_call *calls)
{
    for (size_t i = 0; i < applied->call_count; i++) {
        bool touched = calls[i].rows.affected > 0;
        applied->emitted = applied->emitted || (touched && (applied->emit_calls >> i & 1U));
        applied->woke_events = applied->woke_events || (touched && (applied->wake_calls >> i & 1U));
    }
    applied->call_count = 0;
    applied->emit_calls = 0;
    applied->wake_calls = 0;
}

int applied_write(struct apply_source *source, struct db *tx, struct applied *applied)
{
    if (applied->call_count == 0)
        return 0;
    int rc = db_batch(source->task, tx, applied->calls, applied->call_count, NULL);
    if (rc != 0)
        return rc == DB_UNIQUE ? DB_CONFLICT : rc;
    applied_finish(applied, applied->calls);
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
    applied_finish(applied, calls);
    return 0;
}
