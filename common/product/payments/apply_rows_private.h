#pragma once
/*
 * Rows of payments, subscriptions and methods as apply and announce use them: read under a lock,
 * changed in memory, written back whole. Texts are borrowed from the result rows, the event's JSON
 * or the arena. STR_NONE and 0 mean null. The functions are pure, except that some add statements.
 */
#include "payments/apply.h"

/* A decline that was not emitted yet. */
struct decline {
    struct str code, message;
};
#define DECLINES_DUE_MAX 2 /* the event's, and that of the reading after it */

/* Texts of columns hold what JSON text may hold: no NUL. */
struct payment_row {
    int64_t id; /* 0 = no row */
    const char *status;
    struct str type, provider, currency, description, reference, intent_id, session_id, charge_id,
        invoice_payment_id, customer, customer_email, failure_code, failure_message, event_id;
    struct str metadata, disputes, declines, refunds; /* JSON text */
    int64_t amount_minor, amount_refunded_minor, platform_fee_minor;
    int64_t subscriber_id, payment_method_id, subscription_id;
    int64_t paid_ms, event_ms, event_rank, settle_ms, created_ms;
    bool has_call; /* a call about the payment may not have ended */
    unsigned emitted;
    /* Members without a column. */
    struct decline declines_due[DECLINES_DUE_MAX];
    size_t declines_due_count;
    bool in_doubt; /* the order of its events is unknown: the timer has to fetch the intent */
};

struct subscription_row {
    int64_t id;
    const char *status;
    struct str provider, provider_subscription_id, session_id, customer, customer_email, name,
        description, currency, billing_interval, event_id;
    struct str metadata; /* JSON text */
    int64_t plan_id, subscriber_id, amount_minor, interval_count, trial_length_days;
    int64_t period_start_ms, period_end_ms, trial_end_ms, canceled_ms, ended_ms;
    int64_t event_ms, event_rank, settle_ms, created_ms, updated_ms;
    bool cancel_at_period_end;
    bool has_call;
    unsigned emitted;
};

struct method_row {
    int64_t id;
    const char *status;
    struct str provider_id, setup_id, customer, subscriber_email, type, brand, last4, failure_code,
        failure_message;
    int64_t subscriber_id, exp_month, exp_year, event_ms, created_ms;
    bool is_default;
    unsigned emitted;
};

/* any: Each function reads a row of the statements in apply.sql that select its columns. */
void payment_row_read(const struct rows *rows, size_t index, struct payment_row *ret);
void subscription_row_read(const struct rows *rows, size_t index, struct subscription_row *ret);
void method_row_read(const struct rows *rows, size_t index, struct method_row *ret);

/* any: Returns the search key, or "", which no row has, if it is absent. A null would match nothing
 * as well, but PostgreSQL would then plan the statement again each time, because the plan without
 * that part looks cheaper. */
static inline struct str key_str(struct str key)
{
    return key.len > 0 ? key : STR("");
}

/* --- values --- */

/* any: Each function returns true when the value changed. fill_*() sets only an empty value, for
 * facts that are the same in every report. */
static inline bool set_str(struct str *to, struct str value)
{
    bool other = !str_eq(*to, value);

    if (other)
        *to = value;
    return other;
}

static inline bool fill_str(struct str *to, struct str value)
{
    return to->len == 0 && value.len > 0 && set_str(to, value);
}

static inline bool set_number(int64_t *to, int64_t value)
{
    bool other = *to != value;

    *to = value;
    return other;
}

static inline bool fill_number(int64_t *to, int64_t value)
{
    return *to == 0 && value != 0 && set_number(to, value);
}

/* --- statements to run --- */

/* any: Adds a statement; `params` are copied into the task's arena. */
void applied_add(struct apply_source *source,
                 struct applied *applied,
                 const struct sql *sql,
                 const struct db_param *params,
                 size_t param_count);
/* any: Add an outbox row, or wake the events that wait for `object`. Affected rows set .emitted or
 * .woke_events. */
void applied_add_event(struct apply_source *source,
                       struct applied *applied,
                       enum event_kind event,
                       struct str payload);
void applied_add_wake(struct apply_source *source, struct applied *applied, struct str object);
/* any: Sets the effect: "payment 12: a -> b" or, when nothing moves, the reason. */
void applied_set_effect(struct apply_source *source,
                        struct applied *applied,
                        const char *format,
                        ...) PRINTF_LIKE(3, 4);
/* any: Sets the effect for a row and makes the row the object. `before` is the row's former status,
 * NULL when the row was created. Returns true when `now` is the same status; the effect then ends
 * with `same`. */
bool applied_set_row_effect(struct apply_source *source,
                            struct applied *applied,
                            const char *kind,
                            int64_t id,
                            const char *before,
                            const char *now,
                            const char *same);
/* co: Runs the added statements in `tx`; none is left for apply_commit(). Results of db_batch(),
 * with DB_CONFLICT for DB_UNIQUE. */
AWAITS int applied_write(struct apply_source *source, struct db *tx, struct applied *applied)
    MUSTCHECK;
