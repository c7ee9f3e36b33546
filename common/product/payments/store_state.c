/* The state that the notifications about one subscription add up to. */
#include "base/num.h"
#include "payments/money.h"
#include "payments/store_private.h"

#define DAY_MS 86400000LL

static const char active[] = "active";
static const char in_grace[] = "in_grace";
static const char billing_retry[] = "billing_retry";
static const char expired[] = "expired";
static const char revoked[] = "revoked";

static bool fact_is_type(const struct store_fact *fact, const char *type)
{
    return str_is(fact->type, type);
}

static bool fact_is_prorated(const struct store_fact *fact)
{
    return str_is(fact->revocation_type, "REFUND_PRORATED");
}

/* --- the current transaction --- */

/* Returns whether a fact of this type may be about an earlier period. Facts of all other types
 * carry the newest transaction. */
static bool fact_may_be_earlier(const struct store_fact *fact)
{
    return fact_is_type(fact, "REFUND") || fact_is_type(fact, "REFUND_REVERSED") ||
           fact_is_type(fact, "REFUND_DECLINED") || fact_is_type(fact, "CONSUMPTION_REQUEST");
}

static bool fact_is_current(const struct store_state *state, const struct store_fact *fact)
{
    if (fact->transaction_id.len == 0)
        return false;
    if (!fact_may_be_earlier(fact))
        return true;
    if (fact->expires_ms != 0 && fact->renewal_ms > fact->expires_ms)
        return false; /* a later transaction is running, reported or not */
    return state->transaction_id.len == 0 || str_eq(state->transaction_id, fact->transaction_id) ||
           fact->expires_ms > state->expires_ms;
}

/* Returns the days of an ISO 8601 period of days or weeks; 0 for another unit, whose length depends
 * on the month. */
static int64_t period_days(struct str period)
{
    int64_t count;

    if (period.len < 3 || period.ptr[0] != 'P' ||
        !num_parse_i64((struct str){period.ptr + 1, period.len - 2}, &count) || count <= 0 ||
        count > 1000)
        return 0;
    if (period.ptr[period.len - 1] == 'D')
        return count;
    return period.ptr[period.len - 1] == 'W' ? count * 7 : 0;
}

static int64_t trial_days(const struct store_fact *fact)
{
    int64_t days = period_days(fact->offer_period);

    if (days == 0 && fact->expires_ms > fact->purchase_ms)
        days = (fact->expires_ms - fact->purchase_ms + DAY_MS / 2) / DAY_MS;
    return days;
}

static void take_transaction(struct store_state *state, const struct store_fact *fact)
{
    state->transaction_id = fact->transaction_id;
    state->product_id = fact->product_id;
    state->starts_ms = fact->purchase_ms;
    state->expires_ms = fact->expires_ms;
    state->ownership = fact->ownership;
    state->offer_id = fact->offer_id;
    state->price_milli = fact->price_milli;
    state->currency = fact->currency;
    state->refunded_end_ms =
        fact->revoked_ms != 0 && fact_is_prorated(fact) && !fact_is_type(fact, "REFUND_REVERSED")
            ? fact->revoked_ms
            : 0;
    state->free_trial = str_is(fact->offer_discount, "FREE_TRIAL");
    if (state->free_trial) {
        state->trial_end_ms = fact->expires_ms;
        state->trial_days = trial_days(fact);
    }
}

int64_t store_state_end(const struct store_state *state)
{
    if (state->refunded_end_ms != 0 &&
        (state->expires_ms == 0 || state->refunded_end_ms < state->expires_ms))
        return state->refunded_end_ms;
    return state->expires_ms;
}

/* --- the status --- */

/* Status by data.status, which is authoritative where it is given. */
static const char *status_by_status(int64_t status)
{
    static const char *const words[] = {NULL, active, expired, billing_retry, in_grace, revoked};

    return status > 0 && status < (int64_t)ARRAY_LEN(words) ? words[status] : NULL;
}

/* Status by the type of the notification. NULL: this type changes nothing about access. */
static const char *status_by_type(const struct store_fact *fact)
{
    static const struct {
        const char *type, *subtype; /* NULL: any */
        const char *word;           /* NULL: unchanged */
    } rules[] = {
        {"SUBSCRIBED", NULL, active},
        {"DID_RENEW", NULL, active},
        {"OFFER_REDEEMED", "DOWNGRADE", NULL},
        {"OFFER_REDEEMED", NULL, active},
        {"DID_CHANGE_RENEWAL_PREF", "UPGRADE", active},
        {"RENEWAL_EXTENDED", NULL, active},
        {"DID_FAIL_TO_RENEW", "GRACE_PERIOD", in_grace},
        {"DID_FAIL_TO_RENEW", NULL, billing_retry},
        {"GRACE_PERIOD_EXPIRED", NULL, billing_retry},
        {"EXPIRED", NULL, expired},
        {"REVOKE", NULL, revoked},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (str_is(fact->type, rules[i].type) &&
            (!rules[i].subtype || str_is(fact->subtype, rules[i].subtype)))
            return rules[i].word;
    return NULL;
}

/* Status by the dates of the transaction, at the time of its signature. */
static const char *status_by_dates(const struct store_state *state, const struct store_fact *fact)
{
    return state->expires_ms != 0 && state->expires_ms <= fact->signed_ms ? expired : active;
}

static const char *
status_of(const struct store_state *state, const struct store_fact *fact, bool current)
{
    const char *word = status_by_status(fact->status);
    bool reversed = fact_is_type(fact, "REFUND_REVERSED");

    if (!word)
        word = status_by_type(fact);
    if (!word && current && reversed)
        word = status_by_dates(state, fact);
    if (!word)
        word = state->store_status ? state->store_status : status_by_dates(state, fact);
    /* A full refund ends access, even if data.status says otherwise. */
    bool paid_back = fact->revoked_ms != 0 || fact_is_type(fact, "REFUND");
    if (current && paid_back && !reversed && !fact_is_prorated(fact))
        word = revoked;
    return word;
}

/* --- renewal, grace, ends --- */

static void take_renewal(struct store_state *state, const struct store_fact *fact)
{
    bool off = fact->auto_renew == 0 || str_is(fact->subtype, "AUTO_RENEW_DISABLED");
    bool on = fact->auto_renew > 0 || str_is(fact->subtype, "AUTO_RENEW_ENABLED");

    if (off && !state->renewal_is_off)
        state->canceled_ms = fact->signed_ms;
    if (off || on)
        state->renewal_is_off = off;
    if (!state->renewal_is_off)
        state->canceled_ms = 0;
    if (fact->next_product_id.len > 0)
        state->next_product_id = fact->next_product_id;
    state->expiration_intent = fact->expiration_intent;
}

static void set_ends(struct store_state *state, const struct store_fact *fact)
{
    int64_t end_ms = store_state_end(state);

    state->grace_ms = 0;
    state->ended_ms = 0;
    if (state->store_status == in_grace)
        state->grace_ms = fact->grace_ms ? fact->grace_ms : end_ms;
    else if (state->store_status == billing_retry)
        state->grace_ms = end_ms ? end_ms : fact->signed_ms;
    else if (state->store_status == expired)
        state->ended_ms = end_ms && end_ms < fact->signed_ms ? end_ms : fact->signed_ms;
    else if (state->store_status == revoked)
        state->ended_ms = fact->revoked_ms ? fact->revoked_ms : fact->signed_ms;
    if (state->ended_ms != 0 && state->canceled_ms == 0)
        state->canceled_ms = state->ended_ms;
}

void store_state_add(struct store_state *state, const struct store_fact *fact)
{
    bool current = fact_is_current(state, fact);
    const char *before = state->store_status;
    int64_t grace_ms = state->grace_ms;
    int64_t ended_ms = state->ended_ms;
    int64_t canceled_ms = state->canceled_ms;

    if (current)
        take_transaction(state, fact);
    if (fact->account_token.len > 0)
        state->account_token = fact->account_token;
    else if (fact->renewal_account_token.len > 0)
        state->account_token = fact->renewal_account_token;
    take_renewal(state, fact);
    state->store_status = status_of(state, fact, current);
    set_ends(state, fact);
    /* When the status is the same as before, an end stays where it was, and so does a grace period
     * for which no new date is reported. */
    if (state->store_status != before)
        return;
    if (state->store_status == in_grace && fact->grace_ms == 0)
        state->grace_ms = grace_ms;
    if (ended_ms != 0) {
        state->ended_ms = ended_ms;
        state->canceled_ms = canceled_ms;
    }
}

const char *store_state_status(const struct store_state *state)
{
    if (!state->store_status)
        return NULL;
    if (state->store_status == active)
        return state->free_trial ? "trialing" : "active";
    return state->store_status == expired || state->store_status == revoked ? "canceled"
                                                                            : "past_due";
}

/* --- money --- */

int64_t store_minor(int64_t milli, struct str currency)
{
    int64_t unit = 1;

    for (int decimals = money_decimals(currency); decimals < 3; decimals++)
        unit *= 10;
    return (milli + (milli < 0 ? -unit / 2 : unit / 2)) / unit;
}

struct str store_currency(struct arena *arena, struct str currency)
{
    struct str lower;

    return money_currency(arena, currency, &lower) == 0 ? lower : STR("xxx");
}
