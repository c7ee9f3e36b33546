/* Fees in integers: rates in basis points, fixed parts in minor units. */
#include "payments/fee.h"

#include "base/result.h"

#define BASIS_POINTS_WHOLE 10000 /* basis points */
#define COUNTRY_ANY        "*"

/* Public standard prices of cards: an estimate, until a project stores the prices that it has
 * agreed on. */
static const struct processor_fee default_schedule[] = {
    {STR_INIT("US"), 290, 30, STR_INIT("usd"), 150, 100, 70},
    {STR_INIT("CA"), 290, 30, STR_INIT("cad"), 80, 200, 70},
    {STR_INIT("EEA"), 150, 25, STR_INIT("eur"), 175, 200, 70},
    {STR_INIT("GB"), 150, 20, STR_INIT("gbp"), 175, 200, 70},
    {STR_INIT("AU"), 170, 30, STR_INIT("aud"), 180, 200, 70},
    {STR_INIT("SG"), 340, 50, STR_INIT("sgd"), 100, 200, 70},
    {STR_INIT("JP"), 360, 0, STR_INIT("jpy"), 0, 200, 70},
    /* For an unknown country, whose settlement currency is unknown as well. */
    {STR_INIT(COUNTRY_ANY), 290, 30, STR_INIT("usd"), 150, 0, 70},
};

/* The European Union with Iceland, Liechtenstein and Norway. */
static const char eea[][3] = {
    "AT", "BE", "BG", "HR", "CY", "CZ", "DK", "EE", "FI", "FR", "DE", "GR", "HU", "IE", "IS",
    "IT", "LI", "LV", "LT", "LU", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK", "ES",
};

const struct processor_fee *processor_fee_default(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(default_schedule);
    return default_schedule;
}

static const struct processor_fee *
fee_find_row(const struct processor_fee *rows, size_t count, struct str country)
{
    for (size_t i = 0; i < count; i++)
        if (str_ieq(rows[i].country, country))
            return &rows[i];
    return NULL;
}

static bool country_is_in_eea(struct str country)
{
    for (size_t i = 0; i < ARRAY_LEN(eea); i++)
        if (str_ieq(country, str_from(eea[i])))
            return true;
    return false;
}

const struct processor_fee *
processor_fee_find(const struct processor_fee *rows, size_t count, struct str country)
{
    const struct processor_fee *row = country.len > 0 ? fee_find_row(rows, count, country) : NULL;

    if (row == NULL && country_is_in_eea(country))
        row = fee_find_row(rows, count, STR("EEA"));
    return row != NULL ? row : fee_find_row(rows, count, STR(COUNTRY_ANY));
}

int64_t fee_share(int64_t amount_minor, int64_t basis_points)
{
    return (amount_minor * basis_points + BASIS_POINTS_WHOLE / 2) / BASIS_POINTS_WHOLE;
}

int64_t fee_platform(const struct platform_fee *fee, int64_t amount_minor, struct str currency)
{
    int64_t total = fee_share(amount_minor, fee->basis_points);

    if (str_ieq(fee->currency, currency))
        total += fee->fixed_minor;
    return total > amount_minor ? amount_minor : total;
}

int64_t fee_processor(const struct processor_fee *fee,
                      int64_t amount_minor,
                      struct str currency,
                      bool recurring)
{
    bool settled = str_ieq(fee->currency, currency);
    int64_t basis_points = fee->basis_points;

    if (!settled)
        basis_points += fee->conversion_basis_points;
    if (recurring)
        basis_points += fee->recurring_basis_points;
    return fee_share(amount_minor, basis_points) + (settled ? fee->fixed_minor : 0);
}
