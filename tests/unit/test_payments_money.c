/* Amounts: text, JSON and minor units of every class of currency. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <stdio.h>

#include "base/arena.h"
#include "json/jr.h"
#include "json/jw.h"
#include "payments/money.h"

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static const struct {
    const char *text, *currency;
    int rc;
    int64_t minor;
} parsed[] = {
    /* two decimals */
    {"0", "usd", 0, 0},
    {"0.00", "usd", 0, 0},
    {"-0", "usd", 0, 0},
    {"-0.0", "usd", 0, 0},
    {"0e9", "usd", 0, 0},
    {"0.01", "usd", 0, 1},
    {"1", "usd", 0, 100},
    {"12.5", "usd", 0, 1250},
    {"12.50", "usd", 0, 1250},
    {"12.500000000000000000000", "usd", 0, 1250},
    {"12.34", "USD", 0, 1234},
    {"0.29", "eur", 0, 29},
    {"1.15", "eur", 0, 115},
    {"8.2", "gbp", 0, 820},
    {"1.1", "gbp", 0, 110},
    {"4.35", "chf", 0, 435},
    {"999999.99", "usd", 0, 99999999},
    {"1000000", "usd", MONEY_TOO_LARGE, 0},
    {"1000000.00", "usd", MONEY_TOO_LARGE, 0},
    {"12.345", "usd", MONEY_TOO_PRECISE, 0},
    {"0.001", "usd", MONEY_TOO_PRECISE, 0},
    {"1.005", "usd", MONEY_TOO_PRECISE, 0},
    {"0.30000000000000004", "usd", MONEY_TOO_PRECISE, 0},
    {"1e-7", "usd", MONEY_TOO_PRECISE, 0},
    {"-1", "usd", MONEY_NEGATIVE, 0},
    {"-0.001", "usd", MONEY_NEGATIVE, 0},
    {"-1e300", "usd", MONEY_NEGATIVE, 0},
    /* exponents */
    {"1e2", "usd", 0, 10000},
    {"1E+2", "usd", 0, 10000},
    {"1250e-2", "usd", 0, 1250},
    {"1250e-02", "usd", 0, 1250},
    {"12500e-3", "usd", 0, 1250},
    {"0.000125e5", "usd", 0, 1250},
    {"1e300", "usd", MONEY_TOO_LARGE, 0},
    {"1e99999999999999999999", "usd", MONEY_TOO_LARGE, 0},
    {"1e-99999999999999999999", "usd", MONEY_TOO_PRECISE, 0},
    {"0e99999999999999999999", "usd", 0, 0},
    {"9223372036854775807", "usd", MONEY_TOO_LARGE, 0},
    {"99999999999999999999999999999999", "usd", MONEY_TOO_LARGE, 0},
    /* no decimals */
    {"500", "jpy", 0, 500},
    {"500.0", "jpy", 0, 500},
    {"5e2", "jpy", 0, 500},
    {"99999999", "JPY", 0, 99999999},
    {"100000000", "jpy", MONEY_TOO_LARGE, 0},
    {"0.5", "jpy", MONEY_TOO_PRECISE, 0},
    {"500.5", "krw", MONEY_TOO_PRECISE, 0},
    {"1", "bif", 0, 1},
    {"1", "clp", 0, 1},
    {"1", "djf", 0, 1},
    {"1", "gnf", 0, 1},
    {"1", "kmf", 0, 1},
    {"1", "mga", 0, 1},
    {"1", "pyg", 0, 1},
    {"1", "rwf", 0, 1},
    {"1", "vnd", 0, 1},
    {"1", "vuv", 0, 1},
    {"1", "xaf", 0, 1},
    {"1", "xof", 0, 1},
    {"1", "xpf", 0, 1},
    /* two decimals, whole units only */
    {"5", "ugx", 0, 500},
    {"5.00", "ugx", 0, 500},
    {"5.5", "ugx", MONEY_TOO_PRECISE, 0},
    {"5.01", "isk", MONEY_TOO_PRECISE, 0},
    {"100", "isk", 0, 10000},
    {"999999", "isk", 0, 99999900},
    {"1000000", "isk", MONEY_TOO_LARGE, 0},
    /* three decimals, the last one is 0 */
    {"5.12", "kwd", 0, 5120},
    {"5.120", "kwd", 0, 5120},
    {"5.124", "kwd", MONEY_TOO_PRECISE, 0},
    {"5.1200", "bhd", 0, 5120},
    {"0.01", "jod", 0, 10},
    {"0.001", "omr", MONEY_TOO_PRECISE, 0},
    {"1", "tnd", 0, 1000},
    {"99999.99", "tnd", 0, 99999990},
    {"100000", "tnd", MONEY_TOO_LARGE, 0},
    /* whole units for payouts only */
    {"10.5", "huf", 0, 1050},
    {"10.5", "twd", 0, 1050},
    /* not numbers */
    {"", "usd", MONEY_NOT_A_NUMBER, 0},
    {"-", "usd", MONEY_NOT_A_NUMBER, 0},
    {"+1", "usd", MONEY_NOT_A_NUMBER, 0},
    {"01", "usd", MONEY_NOT_A_NUMBER, 0},
    {"00.5", "usd", MONEY_NOT_A_NUMBER, 0},
    {".5", "usd", MONEY_NOT_A_NUMBER, 0},
    {"5.", "usd", MONEY_NOT_A_NUMBER, 0},
    {"5.e1", "usd", MONEY_NOT_A_NUMBER, 0},
    {"5e", "usd", MONEY_NOT_A_NUMBER, 0},
    {"5e+", "usd", MONEY_NOT_A_NUMBER, 0},
    {"5e1.5", "usd", MONEY_NOT_A_NUMBER, 0},
    {"1,5", "usd", MONEY_NOT_A_NUMBER, 0},
    {" 1", "usd", MONEY_NOT_A_NUMBER, 0},
    {"1 ", "usd", MONEY_NOT_A_NUMBER, 0},
    {"0x10", "usd", MONEY_NOT_A_NUMBER, 0},
    {"NaN", "usd", MONEY_NOT_A_NUMBER, 0},
    {"Infinity", "usd", MONEY_NOT_A_NUMBER, 0},
    {"1_000", "usd", MONEY_NOT_A_NUMBER, 0},
};

TEST_WITH(test_parse, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LEN(parsed); i++) {
        int64_t minor = -7;
        int rc = money_parse(str_from(parsed[i].text), str_from(parsed[i].currency), &minor);
        if (rc != parsed[i].rc || minor != (rc == 0 ? parsed[i].minor : -7))
            fail_msg("%s %s: %d, %lld", parsed[i].text, parsed[i].currency, rc, (long long)minor);
    }
}

/* The longest number that is accepted, and a longer one. */
TEST_WITH(test_long, setup, teardown)
{
    char text[700];
    int64_t minor = 0;

    memset(text, '0', sizeof(text));
    text[0] = '1';
    text[1] = '.';
    assert_int_equal(money_parse((struct str){text, 512}, STR("usd"), &minor), 0);
    assert_int_equal(minor, 100);
    assert_int_equal(money_parse((struct str){text, 513}, STR("usd"), &minor), MONEY_NOT_A_NUMBER);
    text[511] = '1';
    assert_int_equal(money_parse((struct str){text, 512}, STR("usd"), &minor), MONEY_TOO_PRECISE);
}

static const struct {
    const char *json, *currency;
    int rc;
    int64_t minor;
} from_json[] = {
    {"12.5", "usd", 0, 1250},
    {"12", "usd", 0, 1200},
    {"1250e-2", "usd", 0, 1250},
    {"1e2", "usd", 0, 10000},
    {"\"12.50\"", "usd", 0, 1250},
    {"\" 12.50\"", "usd", MONEY_NOT_A_NUMBER, 0},
    {"\"\"", "usd", MONEY_NOT_A_NUMBER, 0},
    {"0.29", "usd", 0, 29},
    {"0.57", "usd", 0, 57},
    {"1.15", "usd", 0, 115},
    {"33.33", "usd", 0, 3333},
    {"4.35", "usd", 0, 435},
    {"1.005", "usd", MONEY_TOO_PRECISE, 0},
    {"999999.99", "usd", 0, 99999999},
    {"0.30000000000000004", "usd", MONEY_TOO_PRECISE, 0}, /* 0.1 + 0.2 as doubles */
    {"0.0000001", "usd", MONEY_TOO_PRECISE, 0},
    {"1e-7", "usd", MONEY_TOO_PRECISE, 0},
    {"1e308", "usd", MONEY_TOO_LARGE, 0},
    {"5e-324", "usd", MONEY_TOO_PRECISE, 0},
    {"9223372036854775807", "usd", MONEY_TOO_LARGE, 0},
    {"-9223372036854775808", "usd", MONEY_NEGATIVE, 0},
    {"-0.0", "usd", 0, 0},
    {"5.0", "jpy", 0, 5},
    {"5.5", "jpy", MONEY_TOO_PRECISE, 0},
    {"5.12", "kwd", 0, 5120},
    {"5.125", "kwd", MONEY_TOO_PRECISE, 0},
    {"5", "ugx", 0, 500},
    {"true", "usd", MONEY_NOT_A_NUMBER, 0},
    {"null", "usd", MONEY_NOT_A_NUMBER, 0},
    {"[1]", "usd", MONEY_NOT_A_NUMBER, 0},
    {"{}", "usd", MONEY_NOT_A_NUMBER, 0},
};

TEST_WITH(test_from_json, setup, teardown)
{
    struct jr_error error;
    json_t *value;

    for (size_t i = 0; i < ARRAY_LEN(from_json); i++) {
        int64_t minor = -7;
        assert_int_equal(jr_parse(arena, str_from(from_json[i].json), &value, &error), 0);
        int rc = money_from_json(value, str_from(from_json[i].currency), &minor);
        if (rc != from_json[i].rc || minor != (rc == 0 ? from_json[i].minor : -7))
            fail_msg("%s: %d, %lld", from_json[i].json, rc, (long long)minor);
    }
    int64_t minor;
    assert_int_equal(money_from_json(NULL, STR("usd"), &minor), MONEY_NOT_A_NUMBER);
}

static const struct {
    int64_t minor;
    const char *currency, *text;
} printed[] = {
    {0, "usd", "0"},
    {1, "usd", "0.01"},
    {10, "usd", "0.1"},
    {100, "usd", "1"},
    {1250, "usd", "12.5"},
    {1234, "usd", "12.34"},
    {99999999, "usd", "999999.99"},
    {-1, "usd", "-0.01"},
    {-1250, "usd", "-12.5"},
    {500, "jpy", "500"},
    {-500, "jpy", "-500"},
    {500, "ugx", "5"},
    {5120, "kwd", "5.12"},
    {5121, "kwd", "5.121"},
    {1, "kwd", "0.001"},
    {1000, "kwd", "1"},
    {INT64_MAX, "usd", "92233720368547758.07"},
    {INT64_MIN, "usd", "-92233720368547758.08"},
    {INT64_MIN, "jpy", "-9223372036854775808"},
};

TEST_WITH(test_text, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LEN(printed); i++) {
        struct str text = money_text(arena, printed[i].minor, str_from(printed[i].currency));
        assert_string_equal(arena_cstr(arena, text), printed[i].text);
    }
}

/* A printed amount reads back as the same amount, also through JSON. */
TEST_WITH(test_round_trip, setup, teardown)
{
    static const struct {
        const char *currency;
        int64_t step;
    } kinds[] = {{"usd", 1}, {"jpy", 1}, {"ugx", 100}, {"kwd", 10}};
    struct jr_error error;
    json_t *value;

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct str currency = str_from(kinds[k].currency);
        for (int64_t minor = 0; minor <= MONEY_MINOR_MAX; minor = minor * 3 / 2 + kinds[k].step) {
            int64_t whole = minor - minor % kinds[k].step;
            int64_t back = -1;
            struct str text = money_text(arena, whole, currency);
            assert_int_equal(money_parse(text, currency, &back), 0);
            assert_int_equal(back, whole);
            assert_int_equal(jr_parse(arena, text, &value, &error), 0);
            assert_int_equal(money_from_json(value, currency, &back), 0);
            assert_int_equal(back, whole);
        }
    }
    /* every amount below a hundred, as a double */
    for (int64_t minor = 0; minor < 10000; minor++) {
        int64_t back = -1;
        json_t *real = json_real((double)minor / 100.0);
        assert_int_equal(money_from_json(real, STR("usd"), &back), 0);
        assert_int_equal(back, minor);
        json_decref(real);
    }
}

TEST_WITH(test_currency, setup, teardown)
{
    struct str currency = STR_NONE;
    const char *bad[] = {"",
                         "us",
                         "usdx",
                         "u d",
                         "us1",
                         "\xc3\xa9u",
                         "USD ",
                         "us\n",
                         /* three letters, but no currency to pay with */
                         "abc",
                         "zzz",
                         "aaa",
                         "xxx",
                         "xts",
                         "xau",
                         "xdr",
                         "clf",
                         "usn"};

    assert_int_equal(money_currency(arena, STR("UsD"), &currency), 0);
    assert_string_equal(currency.ptr, "usd");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(money_currency(arena, str_from(bad[i]), &currency), MONEY_BAD_CURRENCY);
    assert_int_equal(money_currency(arena, STR("u\0d"), &currency), MONEY_BAD_CURRENCY);
    assert_int_equal(money_decimals(STR("usd")), 2);
    assert_int_equal(money_decimals(STR("JPY")), 0);
    assert_int_equal(money_currency(arena, STR("aed"), &currency), 0);
    assert_int_equal(money_currency(arena, STR("ZMW"), &currency), 0);
    assert_int_equal(money_decimals(STR("iqd")), 3);
    assert_int_equal(money_decimals(STR("ugx")), 2);
    assert_int_equal(money_decimals(STR("kwd")), 3);
}

TEST_WITH(test_json, setup, teardown)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, 1024);
    jw_init(&w, &out);
    jw_obj(&w);
    money_json(&w, "amount", 1250, STR("usd"));
    money_json(&w, "fee", 5, STR("jpy"));
    jw_obj_end(&w);
    assert_true(jw_is_complete(&w));
    assert_string_equal(strbuf_cstring(&out),
                        "{\"amount\":12.5,\"amount_minor\":1250,\"fee\":5,\"fee_minor\":5}");
}

TEST(test_messages)
{
    for (int rc = MONEY_BAD_CURRENCY; rc <= MONEY_TOO_LARGE; rc++)
        assert_true(strlen(money_message(rc)) > 10);
}
