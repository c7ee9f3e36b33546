/* common/product/records/transfer/cell.c: values as cells of CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"
#include "records/transfer/cell.h"

struct reading {
    const char *cell;
    const char *plain; /* NULL = refused */
};

static void check(const struct reading *reading, bool is_read, struct str plain)
{
    bool as_expected =
        is_read == (reading->plain != NULL) && (!is_read || str_is(plain, reading->plain));

    if (!as_expected)
        print_error("\"%s\" became \"%.*s\"\n", reading->cell, STR_ARG(plain));
    assert_true(as_expected);
}

TEST(guarded_texts_come_back)
{
    static const struct reading guarded[] = {
        {"'=1", "=1"}, {"''=1", "'=1"}, {"'''@x", "''@x"}, {"'\t", "\t"}, {"'-", "-"}};
    static const char *const plain[] = {"", "'", "''", "'x", "x=1", "=1", "+1", "a'=1"};

    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        check(&guarded[i], true, cell_unguarded(str_from(guarded[i].cell)));
        assert_true(cell_is_guarded(str_from(guarded[i].plain)));
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        assert_true(str_is(cell_unguarded(str_from(plain[i])), plain[i]));
    assert_false(cell_is_guarded(STR("'x")));
    assert_false(cell_is_guarded(STR("'")));
    assert_false(cell_is_guarded(STR_NONE));
}

TEST(numbers_have_a_decimal_comma)
{
    static const struct reading readings[] = {
        {"1,5", "1.5"},
        {" -1,50 ", "-1.50"},
        {"+2", "2"},
        {"0,1", "0.1"},
        {"1.234", "1234"},
        {"1.234.567,89", "1234567.89"},
        {"12 345,6", "12345.6"},
        {"12\xc2\xa0"
         "345",
         "12345"},
        {"-12\xe2\x80\xaf"
         "345",
         "-12345"},
        {"1'234", "1234"},
        {"1\xe2\x80\x99"
         "234",
         "1234"},
        {"1234567", "1234567"},
        {"1,5E+10", "1.5E+10"},
        {"1.5", NULL},
        {"1,", NULL},
        {",5", NULL},
        {"1234.567", NULL},
        {"1.23.456", NULL},
        {"1.2345", NULL},
        {"1,234,567", NULL},
        {"1,5 EUR", NULL},
        {"-", NULL},
        {"--1", NULL},
        {"", NULL},
        {"1,5e", NULL},
        {"0x10", NULL},
        {"007", NULL},
        {"NaN", NULL},
    };
    struct cell_text text;
    struct str plain;

    for (size_t i = 0; i < ARRAY_LEN(readings); i++) {
        bool is_read = cell_number_read(str_from(readings[i].cell), &text, &plain);
        check(&readings[i], is_read, is_read ? plain : STR_NONE);
    }
    char long_one[600];
    memset(long_one, '1', sizeof(long_one));
    assert_false(cell_number_read((struct str){long_one, sizeof(long_one)}, &text, &plain));
}

TEST(dates_are_those_of_spreadsheets)
{
    static const struct reading day_first[] = {
        {"31.01.2026", "2026-01-31"},
        {"1/2/2026", "2026-02-01"},
        {"1-2-26", "2026-02-01"},
        {"1.2.29", "2029-02-01"},
        {"1.2.30", "1930-02-01"},
        {"29.02.2024", "2024-02-29"},
        {"31.1.2026 14:05", "2026-01-31T14:05"},
        {"31.1.2026, 9:05:07", "2026-01-31T09:05:07"},
        {"31/01/2026 14:05:07.123", "2026-01-31T14:05:07.123"},
        {"31/01/2026T14:05Z", "2026-01-31T14:05Z"},
        {"2026-01-31", "2026-01-31"},
        {" 2026-01-31T14:05Z", "2026-01-31T14:05Z"},
        {"29.02.2026", NULL},
        {"1/31/2026", NULL},
        {"31.01/2026", NULL},
        {"31.01.226", NULL},
        {"31.01.", NULL},
        {"31.01.2026 x", NULL},
        {"31.01.2026 1405", NULL},
        {"31.01.2026 14:5", NULL},
        {"today", NULL},
        {"", NULL},
    };
    static const struct reading month_first[] = {
        {"1/31/2026", "2026-01-31"},
        {"1/31/2026 2:05 PM", "2026-01-31T14:05"},
        {"1/31/2026 12:05 am", "2026-01-31T00:05"},
        {"1/31/2026 12:05:06 PM", "2026-01-31T12:05:06"},
        {"1/31/2026, 2:05:06\xe2\x80\xaf"
         "PM",
         "2026-01-31T14:05:06"},
        {"1/31/2026 13:05 PM", NULL},
        {"1/31/2026 0:05 AM", NULL},
        {"31.01.2026", NULL},
    };
    struct cell_text text;
    struct str plain;

    for (size_t i = 0; i < ARRAY_LEN(day_first); i++) {
        struct str cell = str_from(day_first[i].cell);
        bool is_read = cell_moment_read(cell, CSV_DATES_DMY, &text, &plain);
        check(&day_first[i], is_read, is_read ? plain : STR_NONE);
    }
    for (size_t i = 0; i < ARRAY_LEN(month_first); i++) {
        struct str cell = str_from(month_first[i].cell);
        bool is_read = cell_moment_read(cell, CSV_DATES_MDY, &text, &plain);
        check(&month_first[i], is_read, is_read ? plain : STR_NONE);
    }
}

TEST(dates_are_printed_for_them)
{
    static const struct reading day_first[] = {
        {"2026-01-31", "31/01/2026"},
        {"2026-01-31T14:05:07.000Z", "31/01/2026 14:05:07"},
        {"2026-01-31T14:05:07.120Z", "31/01/2026 14:05:07.120"}};
    struct cell_text text;

    for (size_t i = 0; i < ARRAY_LEN(day_first); i++)
        check(&day_first[i],
              true,
              cell_moment_print(str_from(day_first[i].cell), CSV_DATES_DMY, &text));
    assert_true(str_is(cell_moment_print(STR("2026-01-31"), CSV_DATES_MDY, &text), "01/31/2026"));
}
