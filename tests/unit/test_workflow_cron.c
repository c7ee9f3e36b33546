/* Cron expressions and time zones: forms, refusals, clock changes, and a comparison minute by
 * minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/clock.h"
#include "base/timezone.h"
#include "base/timezone_private.h"
#include "workflow/cron.h"

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

static struct cron parse(const char *text)
{
    struct cron cron;
    struct str error;

    if (cron_parse(arena, str_from(text), &cron, &error) != 0)
        fail_msg("%s: %.*s", text, STR_ARG(error));
    return cron;
}

static int64_t when(const char *text)
{
    int64_t ms;
    if (!clock_parse(str_from(text), &ms))
        fail_msg("%s is no time", text);
    return ms;
}

/* Checks the times that follow `after`. `want`: the beginnings of the times in UTC, separated by
 * "|"; "never": no further time. */
static void
assert_next(const char *expression, const char *zone, const char *after, const char *want)
{
    struct cron cron = parse(expression);
    const struct timezone_rules *rules = timezone_find(str_from(zone));
    int64_t at = when(after);
    struct str rest = str_from(want);
    char text[CLOCK_TEXT_BYTES];

    assert_non_null(rules);
    while (rest.ptr) {
        struct str one = str_split(&rest, '|');
        at = cron_next(&cron, rules, at);
        if (str_is(one, "never")) {
            assert_int_equal(at, -1);
            return;
        }
        (void)clock_format(text, at);
        struct str got = {text, one.len};
        if (!str_eq(got, one))
            fail_msg("%s in %s after %s: %s instead of %.*s",
                     expression,
                     zone,
                     after,
                     text,
                     STR_ARG(one));
    }
}

/* --- forms --- */

static uint64_t range(int low, int high, int step)
{
    uint64_t bits = 0;
    for (int i = low; i <= high; i += step)
        bits |= UINT64_C(1) << i;
    return bits;
}

TEST_WITH(fields_are_read, setup, teardown)
{
    struct cron all = parse("* * * * *");
    assert_true(all.minutes == range(0, 59, 1) && all.hours == range(0, 23, 1));
    assert_true(all.days == range(1, 31, 1) && all.months == range(1, 12, 1));
    assert_true(all.weekdays == 0x7f && all.any_day && all.any_weekday);

    const struct {
        const char *text;
        uint64_t minutes;
    } minutes[] = {
        {"0", 1},
        {"59", UINT64_C(1) << 59},
        {"05", 1 << 5},
        {"*/5", range(0, 59, 5)},
        {"*/59", range(0, 59, 59)},
        {"5/10", range(5, 59, 10)},
        {"59/3", UINT64_C(1) << 59},
        {"10-20", range(10, 20, 1)},
        {"10-10", 1 << 10},
        {"1-30/2", range(1, 30, 2)},
        {"0,30", 1 | 1 << 30},
        {"1,2-4,50/5,2", 1 << 1 | range(2, 4, 1) | range(50, 59, 5)},
    };
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        struct cron cron = parse(arena_printf(arena, "%s * * * *", minutes[i].text).ptr);
        assert_true(cron.minutes == minutes[i].minutes);
    }
    assert_true(parse("* * * jan,MAR-May *").months == (1 << 1 | range(3, 5, 1)));
    assert_true(parse("* * * dec *").months == 1 << 12);
    assert_true(parse("* * * feb/5 *").months == range(2, 12, 5));
    assert_true(parse("* * 10/7 * *").days == range(10, 31, 7));
}

TEST_WITH(weekdays_are_read, setup, teardown)
{
    const struct {
        const char *text;
        unsigned weekdays;
    } cases[] = {
        {"0", 1},
        {"7", 1},
        {"sun", 1},
        {"SAT", 1 << 6},
        {"mon-fri", 0x3e},
        {"1-5", 0x3e},
        {"fri-sun", 0x61},
        {"5-7", 0x61},
        {"0-7", 0x7f},
        {"sun-sat", 0x7f},
        {"sun-sun", 1},
        {"*/2", 0x55},
        {"*/7", 1},
        {"1/2", 0x2a},
        {"7/2", 1},
        {"mon,wed,0", 0x0b},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron cron = parse(arena_printf(arena, "* * * * %s", cases[i].text).ptr);
        if (cron.weekdays != cases[i].weekdays)
            fail_msg("%s: %x", cases[i].text, cron.weekdays);
        assert_int_equal(cron.any_weekday, cases[i].text[0] == '*');
    }
    assert_true(parse(" \t0  0\t1 1 *  ").minutes == 1);
}

TEST_WITH(others_are_refused, setup, teardown)
{
    const struct {
        const char *text, *error;
    } cases[] = {
        {"", "must have 5 fields, not 0"},
        {"   ", "must have 5 fields, not 0"},
        {"* * * *", "must have 5 fields, not 4"},
        {"* * * * * *", "must have 5 fields, not 6"},
        {"@daily", "must have 5 fields, not 1"},
        {"60 * * * *", "minute: 60 is not between 0 and 59"},
        {"-1 * * * *", "minute: \"\" is not a number"},
        {"+1 * * * *", "minute: \"+1\" is not a number"},
        {"1.5 * * * *", "minute: \"1.5\" is not a number"},
        {"99999999999999999999 * * * *", "minute: 99999999999999999999 is not between 0 and 59"},
        {"* 24 * * *", "hour: 24 is not between 0 and 23"},
        {"* * 0 * *", "day of month: 0 is not between 1 and 31"},
        {"* * 32 * *", "day of month: 32 is not between 1 and 31"},
        {"* * * 0 *", "month: 0 is not between 1 and 12"},
        {"* * * 13 *", "month: 13 is not between 1 and 12"},
        {"* * * mon *", "month: \"mon\" is not a number or a name"},
        {"* * * * 8", "day of week: 8 is not between 0 and 7"},
        {"* * * * jan", "day of week: \"jan\" is not a number or a name"},
        {"* * * * sund", "day of week: \"sund\" is not a number or a name"},
        {"jan * * * *", "minute: \"jan\" is not a number"},
        {"* * ? * *", "day of month: \"?\" is not a number"},
        {"* * L * *", "day of month: \"L\" is not a number"},
        {"* * * * mon#2", "day of week: \"mon#2\" is not a number or a name"},
        {"20-10 * * * *", "minute: the range 20-10 ends before it starts"},
        {"* * * * 5-0", "day of week: the range 5-0 ends before it starts"},
        {"* * * * sat-fri", "day of week: the range sat-fri ends before it starts"},
        {"1-2-3 * * * *", "minute: \"2-3\" is not a number"},
        {"1- * * * *", "minute: \"\" is not a number"},
        {"*-5 * * * *", "minute: \"*\" is not a number"},
        {"** * * * *", "minute: \"**\" is not a number"},
        {"*/0 * * * *", "minute: step 0 is not between 1 and 59"},
        {"*/60 * * * *", "minute: step 60 is not between 1 and 59"},
        {"*/ * * * *", "minute: step \"\" is not a number"},
        {"*/2/2 * * * *", "minute: step \"2/2\" is not a number"},
        {"* * * * */mon", "day of week: step \"mon\" is not a number"},
        {"1,,2 * * * *", "minute: an item of the list is empty"},
        {"1, * * * *", "minute: an item of the list is empty"},
        {", * * * *", "minute: an item of the list is empty"},
        {"0 0 30 2 *", "none of its months has such a day"},
        {"0 0 31 2,4,6,9,11 *", "none of its months has such a day"},
        {"0 0 30 2 */2", "none of its months has such a day"},
    };
    struct cron cron;
    struct str error;
    char longer[CRON_MAX_BYTES + 2];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        error = STR_NONE;
        assert_int_equal(cron_parse(arena, str_from(cases[i].text), &cron, &error), CRON_INVALID);
        if (!str_is(error, cases[i].error))
            fail_msg("%s: %.*s", cases[i].text, STR_ARG(error));
    }
    memset(longer, '1', sizeof(longer));
    assert_int_equal(cron_parse(arena, (struct str){longer, sizeof(longer)}, &cron, &error),
                     CRON_INVALID);
    assert_true(str_is(error, "must be at most 256 bytes"));
}

/* --- times --- */

TEST_WITH(times_follow, setup, teardown)
{
    const char *utc = "UTC";
    assert_next("* * * * *", utc, "2026-01-01T00:00:00Z", "2026-01-01T00:01|2026-01-01T00:02");
    assert_next("* * * * *", utc, "2026-01-01T00:00:59.999Z", "2026-01-01T00:01");
    assert_next("* * * * *", utc, "2025-12-31T23:59:00Z", "2026-01-01T00:00:00.000Z");
    assert_next("0 0 1 1 *", utc, "2026-01-01T00:00:00Z", "2027-01-01T00:00");
    assert_next("30 4 1,15 * 5",
                utc,
                "2026-05-01T04:30:00Z", /* a Friday */
                "2026-05-08T04:30|2026-05-15T04:30|2026-05-22T04:30|2026-05-29T04:30|"
                "2026-06-01T04:30|2026-06-05T04:30");
    /* When one of the day fields begins with *, both day fields have to match. */
    assert_next("0 0 */2 * mon", utc, "2026-11-01T00:00:00Z", "2026-11-09T00:00|2026-11-23T00:00");
    assert_next("0 0 13 * */5", utc, "2026-01-01T00:00:00Z", "2026-02-13T00:00|2026-03-13T00:00");
    assert_next("0 0 * * 7", utc, "2026-11-20T00:00:00Z", "2026-11-22T00:00|2026-11-29T00:00");
    assert_next("0 22 * * 1-5", utc, "2026-11-20T22:00:00Z", "2026-11-23T22:00");
    /* Leap days, also across a century year without a leap day. */
    assert_next("0 0 29 2 *", utc, "2026-01-01T00:00:00Z", "2028-02-29T00:00|2032-02-29T00:00");
    assert_next("0 0 29 2 *", utc, "2096-02-29T00:00:00Z", "2104-02-29T00:00");
    assert_next("0 0 31 * *", utc, "2026-02-01T00:00:00Z", "2026-03-31T00:00|2026-05-31T00:00");
    /* 29 February is a Sunday in 2032, then in 2060, which is more than eight years later. */
    assert_next("0 0 29 2 */7", utc, "2026-01-01T00:00:00Z", "2032-02-29T00:00|never");
    assert_next("* * * * *", utc, "9999-12-31T23:58:00Z", "9999-12-31T23:59");
    struct cron cron = parse("* * * * *");
    assert_int_equal(cron_next(&cron, timezone_find(STR("UTC")), INT64_MAX), -1);
    assert_true(cron_next(&cron, timezone_find(STR("UTC")), INT64_MIN) < 0);
    assert_int_equal(cron_next(&cron, timezone_find(STR("UTC")), -1), 0);
    assert_int_equal(cron_next(&cron, timezone_find(STR("UTC")), -60000), 0);
}

TEST_WITH(gaps_are_made_up_for, setup, teardown)
{
    /* Berlin 2026-03-29: 02:00 -> 03:00 at 01:00 UTC; New York 2026-03-08 at 07:00 UTC. */
    assert_next("30 2 * * *",
                "Europe/Berlin",
                "2026-03-28T00:00:00Z",
                "2026-03-28T01:30|2026-03-29T01:00|2026-03-30T00:30");
    assert_next("0,30 2,3 * * *",
                "Europe/Berlin",
                "2026-03-29T00:00:00Z",
                "2026-03-29T01:00|2026-03-29T01:30|2026-03-30T00:00");
    assert_next("30 2 * * *",
                "America/New_York",
                "2026-03-07T12:00:00Z",
                "2026-03-08T07:00|2026-03-09T06:30");
    assert_next("*/10 * * * *",
                "Europe/Berlin",
                "2026-03-29T00:45:00Z",
                "2026-03-29T00:50|2026-03-29T01:00|2026-03-29T01:10");
    assert_next(
        "30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30|2026-03-29T02:30");
    /* Lord Howe 2026-10-04: 02:00 -> 02:30 at 15:30 UTC of the day before. */
    assert_next("15 2 * * *",
                "Australia/Lord_Howe",
                "2026-10-02T00:00:00Z",
                "2026-10-02T15:45|2026-10-03T15:30|2026-10-04T15:15");
    assert_next("45 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:45");
    /* Apia had no 30 December 2011. */
    assert_next("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00");
}

TEST_WITH(repeats_fire_once, setup, teardown)
{
    /* Berlin 2026-10-25: 03:00 -> 02:00 at 01:00 UTC; New York 2026-11-01 at 06:00 UTC. */
    assert_next(
        "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30|2026-10-26T01:30");
    assert_next("0 3 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00");
    assert_next("0 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:00");
    assert_next("30 1 * * *",
                "America/New_York",
                "2026-10-31T12:00:00Z",
                "2026-11-01T05:30|2026-11-02T06:30");
    /* An expression for every hour neither pauses nor skips a time. */
    assert_next("*/30 * * * *",
                "Europe/Berlin",
                "2026-10-25T00:00:00Z",
                "2026-10-25T00:30|2026-10-25T01:00|2026-10-25T01:30|2026-10-25T02:00");
    /* Lord Howe 2026-04-05: 02:00 -> 01:30 at 15:00 UTC of the day before. */
    assert_next("45 1 * * *",
                "Australia/Lord_Howe",
                "2026-04-04T00:00:00Z",
                "2026-04-04T14:45|2026-04-05T15:15");
}

TEST_WITH(zones_are_known, setup, teardown)
{
    const struct {
        const char *zone, *at;
        int32_t offset;
    } cases[] = {
        {"UTC", "2026-07-01T00:00:00Z", 0},
        {"Etc/GMT+5", "2026-07-01T00:00:00Z", -5 * 3600},
        {"Europe/Berlin", "2026-03-29T00:59:59Z", 3600},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 7200},
        {"Europe/Berlin", "2026-10-25T00:59:59Z", 7200},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 3600},
        {"Europe/Berlin", "2099-07-01T00:00:00Z", 7200},
        {"Europe/Berlin", "2099-12-01T00:00:00Z", 3600},
        {"Europe/Berlin", "1945-05-24T01:00:00Z", 10800},
        {"Europe/Berlin", "1800-01-01T00:00:00Z", 3208},
        {"Europe/Dublin", "2099-07-01T00:00:00Z", 3600},
        {"Europe/Dublin", "2099-01-01T00:00:00Z", 0},
        {"America/New_York", "2060-07-01T00:00:00Z", -4 * 3600},
        {"Asia/Kathmandu", "2026-07-01T00:00:00Z", 20700},
        {"Asia/Kathmandu", "1985-12-31T18:29:59Z", 19800},
        {"Australia/Lord_Howe", "2060-01-01T00:00:00Z", 39600},
        {"Australia/Lord_Howe", "2060-07-01T00:00:00Z", 37800},
        {"America/Argentina/Buenos_Aires", "2026-07-01T00:00:00Z", -10800},
        {"Africa/Casablanca", "2090-07-01T00:00:00Z", 3600},
    };
    const char *unknown[] = {
        "",
        "utc ",
        "Europe/Atlantis",
        "../UTC",
        "Europe/../UTC",
        "/etc/passwd",
        "Europe/",
        "/Europe/Berlin",
        "Europe//Berlin",
        "Europe",
        "zone.tab",
        "tzdata.zi",
        "leapseconds",
        "right/UTC",
        "posix/UTC",
        "posixrules",
        "localtime",
        "Factory",
        "Europe/Berlin\n",
        "Europe\\Berlin",
        "A/B/C/D",
        "iso3166.tab",
        "Europe/Berlin ",
        "%2e%2e/UTC",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct timezone_rules *zone = timezone_find(str_from(cases[i].zone));
        assert_non_null(zone);
        assert_ptr_equal(zone, timezone_find(str_from(cases[i].zone)));
        int32_t offset = timezone_span(zone, when(cases[i].at) / 1000).offset;
        if (offset != cases[i].offset)
            fail_msg("%s at %s: %d", cases[i].zone, cases[i].at, offset);
    }
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        if (timezone_find(str_from(unknown[i])))
            fail_msg("\"%s\" is a zone", unknown[i]);
    }
    assert_null(timezone_find((struct str){"UTC\0x", 5}));
    assert_null(timezone_find((struct str){"Europe/Berlin\0", 14}));
    assert_null(timezone_find(arena_printf(arena, "Europe/%064d", 0)));
}

TEST_WITH(posix_rules_are_read, setup, teardown)
{
    const struct {
        const char *text, *at;
        int32_t offset;
    } cases[] = {
        {"EST5", "2026-07-01T00:00:00Z", -18000},
        {"<+0545>-5:45", "2026-07-01T00:00:00Z", 20700},
        {"<-03>3:00:30", "2026-07-01T00:00:00Z", -10830},
        {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59Z", -18000},
        {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14400},
        {"EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00:00Z", -18000},
        /* The southern summer spans the new year. */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 36000},
        /* Negative and far times of day (RFC 9636 3.3.2), Julian days, the fifth week. */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7200},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600},
        {"IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z", 10800},
        {"IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-26T23:59:59Z", 7200},
        {"AAA0BBB,J60/0,J300/0", "2024-03-01T00:00:00Z", 3600},
        {"AAA0BBB,J60/0,J300/0", "2024-02-29T23:59:59Z", 0},
        {"AAA0BBB,59/0,299/0", "2024-02-29T00:00:00Z", 3600},
        /* Daylight time all year. */
        {"XXX3EDT4,0/0,J365/23", "2026-01-01T03:00:00Z", -14400},
        {"XXX3EDT4,0/0,J365/23", "2026-07-01T00:00:00Z", -14400},
    };
    const char *bad[] = {
        "",
        "E5",
        "EST",
        "EST5EDT",
        "EST5EDT,M3.2.0",
        "EST25",
        "EST5:60",
        "<EST5",
        "EST5EDT,M13.1.0,J1",
        "EST5EDT,M3.6.0,J1",
        "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,J0,J5",
        "EST5EDT,366,J5",
        "EST5EDT,M3.2.0/168,J5",
        "EST5EDT,M3.2.0,M11.1.0x",
        "EST5x",
        "EST5EDT,M3.2,M11.1.0",
    };
    struct posix_rules rules;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(posix_tz_parse(str_from(cases[i].text), &rules), 0);
        struct timezone_span span = posix_tz_span(&rules, when(cases[i].at) / 1000);
        if (span.offset != cases[i].offset)
            fail_msg("%s at %s: %d", cases[i].text, cases[i].at, span.offset);
        assert_true(span.start_s <= when(cases[i].at) / 1000 &&
                    span.end_s > when(cases[i].at) / 1000);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (posix_tz_parse(str_from(bad[i]), &rules) == 0)
            fail_msg("\"%s\" is read", bad[i]);
    }
}

/* A prefix of a real file is refused. A file with a changed byte is refused or read, and never
 * read beyond its bytes. */
TEST_WITH(broken_files_are_refused, setup, teardown)
{
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    static char bytes[TZIF_MAX_BYTES];
    struct timezone_rules *zone;

    assert_non_null(file);
    size_t len = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    assert_int_equal(timezone_parse(arena, (struct str){bytes, len}, &zone), 0);
    for (size_t cut = 0; cut < len; cut += 7) {
        struct str part = arena_dup(arena, (struct str){bytes, cut});
        assert_int_equal(timezone_parse(arena, part, &zone), TZIF_BAD);
    }
    for (size_t i = 0; i < len; i += 5) {
        struct str changed = arena_dup(arena, (struct str){bytes, len});
        ((char *)changed.ptr)[i] ^= (char)0x81;
        if (timezone_parse(arena, changed, &zone) == 0)
            (void)timezone_span(zone, 1800000000);
    }
}

TEST_WITH(dates_are_counted, setup, teardown)
{
    for (int64_t days = -800000; days < 800000; days++) {
        int64_t year;
        int month;
        int day;
        civil_from_days(days, &year, &month, &day);
        assert_true(month >= 1 && month <= 12 && day >= 1 && day <= civil_month_days(year, month));
        assert_true(civil_days(year, month, day) == days);
    }
    assert_int_equal(civil_days(1970, 1, 1), 0);
    assert_int_equal(civil_days(2026, 11, 21), 20778);
    assert_int_equal(civil_weekday(20778), 6);
    assert_int_equal(civil_weekday(-1), 3);
}

/* --- minute by minute --- */

static bool local_matches(const struct cron *cron, int64_t minute)
{
    int64_t days = floor_div(minute, 1440);
    int of_day = (int)(minute - days * 1440);
    int64_t year;
    int month;
    int day;

    civil_from_days(days, &year, &month, &day);
    bool by_day = cron->days >> day & 1;
    bool by_weekday = cron->weekdays >> civil_weekday(days) & 1;
    return (cron->minutes >> (of_day % 60) & 1) && (cron->hours >> (of_day / 60) & 1) &&
           (cron->months >> month & 1) &&
           (cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday);
}

/* Compares each minute from `from` to `to`. A local time is due when the clock first shows the
 * time or has jumped over the time. */
static void walk(const char *expression, const char *name, int64_t from, int64_t to)
{
    struct cron cron = parse(expression);
    const struct timezone_rules *zone = timezone_find(str_from(name));
    bool every_hour = cron.hours == 0xffffff;
    int64_t latest = INT64_MIN;
    int64_t last = from - 1;
    int64_t due = cron_next(&cron, zone, last * 60000);

    for (int64_t minute = from - 60 * 53; minute < to; minute++) {
        int64_t local = floor_div(minute * 60 + timezone_span(zone, minute * 60).offset, 60);
        bool fires = every_hour && local_matches(&cron, local);
        for (int64_t m = latest + 1; !every_hour && minute >= from && m <= local; m++)
            fires = fires || local_matches(&cron, m);
        latest = local > latest ? local : latest;
        if (minute < from)
            continue;
        if (fires != (due == minute * 60000))
            fail_msg("%s in %s: minute %lld %s",
                     expression,
                     name,
                     (long long)minute,
                     fires ? "is due" : "is not");
        if (fires)
            due = cron_next(&cron, zone, minute * 60000 + 59999);
    }
}

TEST_WITH(walks_agree, setup, teardown)
{
    static const struct {
        const char *zone, *from, *to;
    } changes[] = {
        {"Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z"},
        {"Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z"},
        {"Australia/Lord_Howe", "2026-04-03T00:00:00Z", "2026-04-07T00:00:00Z"},
        {"Australia/Lord_Howe", "2026-10-02T00:00:00Z", "2026-10-06T00:00:00Z"},
        {"Pacific/Apia", "2011-12-28T00:00:00Z", "2012-01-02T00:00:00Z"},
        {"America/Juneau", "1867-10-16T00:00:00Z", "1867-10-22T00:00:00Z"},
    };
    static const char *const zones[] = {
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Pacific/Apia",
        "Africa/Casablanca",
        "Europe/Dublin",
    };
    static const char *const minute[] = {"*", "0", "*/7", "30", "1-59/13", "15,45"};
    static const char *const hour[] = {"*", "2", "1-3", "*/2", "0", "23,2"};
    static const char *const day[] = {"*", "1", "*/2", "29-31", "25"};
    static const char *const month[] = {"*", "3,4,10-12", "2", "feb-dec/2"};
    static const char *const weekday[] = {"*", "sun", "1-5", "*/3", "6,7"};
    unsigned seed = 20261121;

    srandom(seed);
    for (int i = 0; i < 120; i++) {
        struct str text = arena_printf(arena,
                                       "%s %s %s %s %s",
                                       minute[random() % (long)ARRAY_LEN(minute)],
                                       hour[random() % (long)ARRAY_LEN(hour)],
                                       day[random() % (long)ARRAY_LEN(day)],
                                       month[random() % (long)ARRAY_LEN(month)],
                                       weekday[random() % (long)ARRAY_LEN(weekday)]);
        struct cron cron;
        struct str error;
        if (cron_parse(arena, text, &cron, &error) != 0)
            continue;
        /* Sixty days somewhere between 2008 and 2060. */
        int64_t from = (INT64_C(1199145600) + random() % (52 * INT64_C(365) * 86400)) / 60;
        walk(text.ptr, zones[i % (int)ARRAY_LEN(zones)], from, from + 60 * INT64_C(1440));
    }
    /* The clock changes themselves, independently of the random choice. */
    for (size_t i = 0; i < ARRAY_LEN(hour); i++) {
        struct str text = arena_printf(arena, "*/5 %s * * *", hour[i]);
        for (size_t j = 0; j < ARRAY_LEN(changes); j++)
            walk(text.ptr,
                 changes[j].zone,
                 when(changes[j].from) / 60000,
                 when(changes[j].to) / 60000);
    }
}
