/* Reading recurring terms from a body. */
#include "areas/payments/billing/terms.h"

#include "base/num.h"
#include "payments/money.h"

#define NUMBER_BYTES 32

const char *const terms_intervals[] = {"day", "week", "month", "year", NULL};
const char *const terms_types[] = {"recurring", NULL};

/* Maximum interval_count of each of terms_intervals: three years, the processor's limit. */
static const int64_t count_max[] = {1095, 156, 36, 3};

bool terms_given(const struct terms_in *in)
{
    return (in->amount.set && !in->amount.null) || (in->currency.set && !in->currency.null) ||
           (in->billing_interval.set && !in->billing_interval.null) ||
           (in->interval_count.set && !in->interval_count.null);
}

static int bad_money(struct req *r, const char *field, int rc)
{
    return fail_field(r, field, PROBLEM_VALIDATION_FAILED, "%s", money_message(rc));
}

static int read_amount(struct req *r, const struct terms_in *in, struct terms *terms)
{
    struct str currency = terms->currency;
    struct str text;
    char number[NUMBER_BYTES];
    int rc;

    if (in->currency.set && !in->currency.null) {
        rc = money_currency(r->task.arena, in->currency.value, &currency);
        if (rc)
            return bad_money(r, "currency", rc);
    }
    if (!currency.len)
        return fail_field(r, "currency", PROBLEM_REQUIRED, "is required");
    if (in->amount.set && !in->amount.null)
        text = (struct str){number, num_print_f64(number, in->amount.value)};
    else if (terms->amount_minor >= 0)
        text = money_text(r->task.arena, terms->amount_minor, terms->currency);
    else
        return fail_field(r, "amount", PROBLEM_REQUIRED, "is required");
    rc = money_parse(text, currency, &terms->amount_minor);
    if (rc)
        return bad_money(r, "amount", rc);
    terms->currency = currency;
    return 0;
}

static int read_interval(struct req *r, const struct terms_in *in, struct terms *terms)
{
    if (in->billing_interval.set && !in->billing_interval.null)
        terms->billing_interval = in->billing_interval.value;
    if (in->interval_count.set)
        terms->interval_count = in->interval_count.null ? 1 : in->interval_count.value;
    if (!terms->billing_interval.len)
        return fail_field(r, "billing_interval", PROBLEM_REQUIRED, "is required");
    for (size_t i = 0; terms_intervals[i]; i++) {
        if (str_is(terms->billing_interval, terms_intervals[i]) &&
            terms->interval_count > count_max[i])
            return fail_field(r,
                              "interval_count",
                              PROBLEM_OUT_OF_RANGE,
                              "must be at most %lld for this interval: three years",
                              (long long)count_max[i]);
    }
    return 0;
}

int terms_merge(struct req *r, const struct terms_in *in, struct terms *terms)
{
    TRY(read_amount(r, in, terms));
    TRY(read_interval(r, in, terms));
    if (in->trial_period_days.set)
        terms->trial_period_days = in->trial_period_days.null ? 0 : in->trial_period_days.value;
    return 0;
}
