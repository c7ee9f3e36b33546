/* Fees: rounding, fixed parts, the schedule by country. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"
#include "payments/fee.h"
#include "payments/money.h"

TEST(test_share)
{
    static const struct {
        int64_t amount, points, share;
    } shares[] = {
        {0, 290, 0},
        {1, 290, 0},
        {10000, 290, 290},
        {1000, 290, 29},
        {999, 250, 25}, /* 24.975 */
        {20, 250, 1},   /* 0.5 */
        {19, 250, 0},   /* 0.475 */
        {60, 250, 2},   /* 1.5 */
        {100, 150, 2},  /* 1.5 */
        {5120, 250, 128},
        {99999999, 10000, 99999999},
        {99999999, 1, 10000},
        {(int64_t)MONEY_MINOR_MAX * 1000, 10000, (int64_t)MONEY_MINOR_MAX * 1000},
        {12345, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(shares); i++)
        assert_int_equal(fee_share(shares[i].amount, shares[i].points), shares[i].share);
}

TEST(test_platform)
{
    const struct platform_fee fee = {
        .basis_points = 250, .fixed_minor = 10, .currency = STR("usd")};
    const struct platform_fee none = {.currency = STR("usd")};

    assert_int_equal(fee_platform(&fee, 1000, STR("usd")), 35);
    assert_int_equal(fee_platform(&fee, 1000, STR("USD")), 35);
    assert_int_equal(fee_platform(&fee, 1000, STR("eur")), 25);
    assert_int_equal(fee_platform(&fee, 5120, STR("kwd")), 128);
    assert_int_equal(fee_platform(&fee, 5, STR("usd")), 5);
    assert_int_equal(fee_platform(&fee, 0, STR("usd")), 0);
    assert_int_equal(fee_platform(&none, 99999999, STR("usd")), 0);
}

static const struct processor_fee *of(const char *country)
{
    size_t count;
    const struct processor_fee *rows = processor_fee_default(&count);

    return processor_fee_find(rows, count, str_from(country));
}

TEST(test_processor)
{
    static const struct {
        const char *country, *currency;
        int64_t amount;
        bool recurring;
        int64_t fee;
    } cases[] = {
        {"US", "usd", 10000, false, 320},
        {"us", "usd", 10000, false, 320},
        {"US", "usd", 10000, true, 390},
        {"US", "eur", 10000, false, 390}, /* converted, no fixed part */
        {"US", "usd", 0, false, 30},
        {"US", "usd", 10, false, 30}, /* 0.29 and the fixed part: above the amount */
        {"DE", "eur", 10000, false, 175},
        {"NO", "eur", 1000, false, 40},
        {"GB", "gbp", 10000, false, 170},
        {"CA", "cad", 10000, false, 320},
        {"AU", "aud", 10000, false, 200},
        {"SG", "sgd", 10000, false, 390},
        {"JP", "jpy", 1000, false, 36},
        {"JP", "jpy", 125, false, 5}, /* 4.5 */
        {"JP", "usd", 10000, false, 560},
        {"BR", "usd", 10000, false, 320},
        {"BR", "brl", 10000, false, 290},
        {"", "usd", 10000, false, 320},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(fee_processor(of(cases[i].country),
                                       cases[i].amount,
                                       str_from(cases[i].currency),
                                       cases[i].recurring),
                         cases[i].fee);
}

TEST(test_find)
{
    const struct processor_fee rows[] = {
        {.country = STR("FR"), .basis_points = 1},
        {.country = STR("EEA"), .basis_points = 2},
    };

    assert_int_equal(processor_fee_find(rows, 2, STR("fr"))->basis_points, 1);
    assert_int_equal(processor_fee_find(rows, 2, STR("ES"))->basis_points, 2);
    assert_null(processor_fee_find(rows, 2, STR("US")));
    assert_null(processor_fee_find(rows, 2, STR("")));
    assert_null(processor_fee_find(NULL, 0, STR("US")));
    assert_string_equal(of("ZZ")->country.ptr, "*");
}
