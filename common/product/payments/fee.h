#pragma once
/*
 * Fees of a payment: the platform's own fee, and an estimate of the processor's. Rates are in basis
 * points, fixed parts in minor units of their currency. Results are rounded half up, in integers.
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct platform_fee {
    int64_t basis_points; /* 0..10,000 */
    int64_t fixed_minor;
    struct str
        currency; /* of fixed_minor; a payment in another currency pays only the percentage */
};

/* One row of the processor's schedule: prices of cards for an account in `country`. */
struct processor_fee {
    struct str country; /* ISO 3166 alpha-2, or "EEA"; "*" = any */
    int64_t basis_points, fixed_minor;
    struct str currency;                /* of fixed_minor */
    int64_t international_basis_points; /* added for international cards */
    int64_t conversion_basis_points;    /* added when the account settles in another currency */
    int64_t recurring_basis_points;     /* added for subscriptions */
};

/* Returns the schedule of a project that has stored none: public standard prices. Static. */
const struct processor_fee *processor_fee_default(size_t *ret_count);
/* Returns the row for an account's country, else for its region ("EEA"), else "*"; NULL when there
 * is none. Borrowed from `rows`. */
const struct processor_fee *
processor_fee_find(const struct processor_fee *rows, size_t count, struct str country);

/* Returns the platform's fee in minor units, never above the amount, because the processor accepts
 * no more. */
int64_t fee_platform(const struct platform_fee *fee, int64_t amount_minor, struct str currency);
/* Returns the estimated processor's fee of a domestic card in minor units. An amount in another
 * currency than the row's is converted and pays no fixed part. The fee may exceed a tiny amount. */
int64_t fee_processor(const struct processor_fee *fee,
                      int64_t amount_minor,
                      struct str currency,
                      bool recurring);
/* Returns amount_minor * basis_points / 10,000, rounded half up. No overflow for amounts up to
 * MONEY_MINOR_MAX * 1000. */
int64_t fee_share(int64_t amount_minor, int64_t basis_points);
