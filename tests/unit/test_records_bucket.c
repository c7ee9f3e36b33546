/* Spans of the calendar, compared with the C library's calendar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"
#include "records/bucket.h"

#define DAY_SECONDS 86400
#define FIRST       (-719162) /* 0001-01-01 */
#define LAST        2932896   /* 9999-12-31 */

static struct tm calendar(int64_t day)
{
    time_t at = (time_t)(day * DAY_SECONDS);
    struct tm tm;

    assert_non_null(gmtime_r(&at, &tm));
    return tm;
}

TEST(test_every_day_is_printed_and_read)
{
    for (int64_t day = FIRST; day <= LAST; day += day > -2000 && day < 40000 ? 1 : 13) {
        struct tm tm = calendar(day);
        char wanted[40];
        char buf[BUCKET_TEXT_BYTES];
        int64_t read;
        (void)snprintf(
            wanted, sizeof(wanted), "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        assert_string_equal(bucket_print(buf, day), wanted);
        assert_true(bucket_parse(str_from(buf), &read));
        assert_int_equal(read, day);
    }
}

TEST(test_spans_hold_their_days_and_follow_each_other)
{
    for (int unit = BUCKET_DAY; unit < BUCKET_UNITS; unit++) {
        enum bucket_unit span = (enum bucket_unit)unit;
        for (int64_t day = -3000; day < 30000; day++) {
            int64_t start = bucket_start(span, day);
            int64_t next = bucket_step(span, start, 1);
            assert_true(start <= day && day < next);
            assert_int_equal(bucket_start(span, start), start);
            assert_int_equal(bucket_start(span, next), next);
            assert_int_equal(bucket_step(span, next, -1), start);
            struct tm tm = calendar(start);
            assert_true(span != BUCKET_WEEK || tm.tm_wday == 1);
            assert_true(span < BUCKET_MONTH || tm.tm_mday == 1);
            assert_true(span != BUCKET_QUARTER || tm.tm_mon % 3 == 0);
            assert_true(span != BUCKET_YEAR || tm.tm_mon == 0);
        }
    }
}

static int64_t day_of(const char *text)
{
    int64_t day;

    assert_true(bucket_parse(str_from(text), &day));
    return day;
}

static void assert_window(const char *unit,
                          int64_t count,
                          const char *day,
                          int64_t before,
                          const char *from,
                          const char *to)
{
    enum bucket_unit span = bucket_find(str_from(unit));
    struct bucket_window window = bucket_window(span, count, day_of(day), before);
    char buf[BUCKET_TEXT_BYTES];

    assert_string_equal(bucket_name(span), unit);
    assert_string_equal(bucket_print(buf, window.from), from);
    assert_string_equal(bucket_print(buf, window.to), to);
}

TEST(test_windows_and_those_before)
{
    assert_window("day", 7, "2026-03-03", 0, "2026-02-25", "2026-03-04");
    assert_window("day", 7, "2026-03-03", 1, "2026-02-18", "2026-02-25");
    assert_window("week", 1, "2026-01-01", 0, "2025-12-29", "2026-01-05");
    assert_window("month", 1, "2024-02-29", 0, "2024-02-01", "2024-03-01");
    assert_window("month", 1, "2024-02-29", 1, "2024-01-01", "2024-02-01");
    assert_window("month", 12, "2026-03-31", 1, "2024-04-01", "2025-04-01");
    assert_window("quarter", 2, "2026-02-01", 0, "2025-10-01", "2026-04-01");
    assert_window("year", 1, "2026-12-31", 1, "2025-01-01", "2026-01-01");
    assert_window("year", 1000, "0500-06-01", 2, "0001-01-01", "0001-01-01");
}

TEST(test_what_is_no_date_or_span)
{
    static const char *const wrong[] = {"",
                                        "2026-02-29",
                                        "2026-13-01",
                                        "0000-01-01",
                                        "2026-1-01",
                                        "2026-01-01 BC",
                                        "12026-01-01",
                                        "2026/01/01"};
    int64_t day;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(bucket_parse(str_from(wrong[i]), &day));
    assert_int_equal(bucket_find(STR("hour")), BUCKET_NONE);
    assert_int_equal(bucket_find(STR("")), BUCKET_NONE);
}
