#pragma once
/*
 * Recurring terms: how much is charged, and how often. Plans, subscription templates and
 * subscriptions without a plan have the same five members, checked by the same rules.
 */
#include "app.h"

#define TERMS_TRIAL_DAYS_MAX 730 /* the processor's limit */

struct terms_in {
    struct in_f64 amount;
    struct in_str currency, billing_interval;
    struct in_i64 interval_count, trial_period_days;
};

struct terms {
    int64_t amount_minor; /* -1 = none yet */
    struct str currency;  /* lower case; empty = none yet */
    struct str billing_interval;
    int64_t interval_count;
    int64_t trial_period_days;
};
#define TERMS_NONE ((struct terms){.amount_minor = -1, .interval_count = 1})

extern const char *const terms_intervals[]; /* day, week, month, year */
extern const char *const terms_types[];     /* recurring */

/* Members of a body's schema, for a struct with a member `terms`. */
/* clang-format off */
#define TERMS_MEMBERS(body, nullable_)                                                             \
    {.name = "amount", FIELD_AT(body, terms.amount), .type = FIELD_F64, .nullable = (nullable_),   \
     .has_min = true, .min = 0, .doc = "Price of one period, in units of the currency",            \
     .example = "12.5"},                                                                           \
    {.name = "currency", FIELD_AT(body, terms.currency), .type = FIELD_STR,                        \
     .nullable = (nullable_), .min = 3, .max = 3, .doc = "ISO 4217, in any case",                  \
     .example = "\"usd\""},                                                                        \
    {.name = "billing_interval", FIELD_AT(body, terms.billing_interval), .type = FIELD_STR,        \
     .nullable = (nullable_), .values = terms_intervals, .example = "\"month\""},                  \
    {.name = "interval_count", FIELD_AT(body, terms.interval_count), .type = FIELD_I64,            \
     .nullable = (nullable_), .has_min = true, .min = 1, .has_max = true, .max = 1095,             \
     .doc = "Number of intervals in a period; at most three years", .example = "1"},               \
    {.name = "trial_period_days", FIELD_AT(body, terms.trial_period_days), .type = FIELD_I64,      \
     .nullable = (nullable_), .has_min = true, .min = 0, .has_max = true,                          \
     .max = TERMS_TRIAL_DAYS_MAX, .doc = "Days before the first charge", .example = "14"}
/* clang-format on */

/* any: Whether the body gives a value to any of amount, currency, billing_interval and
 * interval_count. */
bool terms_given(const struct terms_in *in);
/* any: Merges the body into `terms`. Members left out keep their value; the amount keeps its
 * decimal value when only the currency changes. Amount, currency and interval are required
 * afterwards. Returns 0, or the 400 that names the field. */
int terms_merge(struct req *r, const struct terms_in *in, struct terms *terms) MUSTCHECK;
