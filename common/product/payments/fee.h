#pragma once
/*
 * What a payment costs: the platform's own fee and an estimate of the processor's. Rates in basis
 * points, fixed parts in minor units of their currency; rounded half up, in integers. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct platform_fee {
    int64_t basis_points; /* 0..10,000 */
    int64_t fixed_minor;
    struct str
        currency; /* of fixed_minor; a payment in another currency pays the percentage alone */
};

/* One row of the processor's schedule: what cards of an account in `country` cost. */
struct processor_fee {
    struct str country; /* ISO 3166 alpha-2, or "EEA"; "*" = any */
    int64_t basis_points, fixed_minor;
    struct str currency;                /* of fixed_minor */
    int64_t international_basis_points; /* added for foreign cards */
    int64_t conversion_basis_points;    /* added when the account settles in another currency */
    int64_t recurring_basis_points;     /* added for subscriptions */
};

/* The schedule that a project has until it stores one of its own: public standard prices. */
const struct processor_fee *processor_fee_default(size_t *ret_count);
/* The row for an account's country, else for its region, else "*"; NULL when there is none. */
const struct processor_fee *
processor_fee_find(const struct processor_fee *rows, size_t count, struct str country);

/* Never above the amount: the processor takes no more. */
int64_t fee_platform(const struct platform_fee *fee, int64_t amount_minor, struct str currency);
/* Of a domestic card. An amount in another currency than the row's is converted, and pays no fixed
 * part. May be above a tiny amount. */
int64_t fee_processor(const struct processor_fee *fee,
                      int64_t amount_minor,
                      struct str currency,
                      bool recurring);
/* round_half_up(amount * basis_points / 10,000); no overflow for amounts up to MONEY_MINOR_MAX *
 * 1000. */
int64_t fee_share(int64_t amount_minor, int64_t basis_points);
