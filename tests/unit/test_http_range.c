/* Ranges (RFC 9110 section 14) and names of downloads (RFC 6266, 8187). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "http/disposition.h"
#include "http/range.h"

static struct arena *arena;

/* Returns the parts as "first+length ...", "whole" or "none". */
static struct str shape(struct str header, int64_t size)
{
    struct ranges ranges;
    struct strbuf out;

    strbuf_init(&out, arena, 4096);
    switch (range_parse(header, size, &ranges)) {
    case RANGE_WHOLE:
        return STR("whole");
    case RANGE_UNSATISFIABLE:
        return STR("none");
    case RANGE_PARTS:
        break;
    }
    for (size_t i = 0; i < ranges.count; i++)
        strbuf_printf(&out,
                      "%s%lld+%lld",
                      i ? " " : "",
                      (long long)ranges.items[i].first,
                      (long long)ranges.items[i].length);
    return strbuf_view(&out);
}

static const struct {
    const char *header;
    int64_t size;
    const char *shape;
} cases[] = {
    {"bytes=0-499", 10000, "0+500"},
    {"bytes=500-999", 10000, "500+500"},
    {"bytes=-500", 10000, "9500+500"},
    {"bytes=9500-", 10000, "9500+500"},
    {"bytes=0-0,-1", 10000, "0+1 9999+1"},
    {"BYTES = 0-1", 10, "0+2"},
    {"bytes=0-", 10, "0+10"},
    {"bytes=-20", 10, "0+10"},
    {"bytes=5-100", 10, "5+5"},
    {"bytes=007-08", 10, "7+2"},
    {"bytes=0-99999999999999999999999", 10, "0+10"},
    {"bytes=99999999999999999999999-", 10, "none"},
    {"bytes=10-", 10, "none"},
    {"bytes=-0", 10, "none"},
    {"bytes=0-", 0, "none"},
    {"bytes=10-20,3-4", 10, "3+2"},
    /* Adjacent ranges are merged; the order is that of the request. */
    {"bytes=5-9,0-4", 20, "0+10"},
    {"bytes=0-3,8-9,2-8", 20, "0+10"},
    {"bytes=15-16,0-1,1-3,10-11", 20, "15+2 0+4 10+2"},
    {"bytes=10-12, ,0-2", 20, "10+3 0+3"},
    {"bytes=0-,0-,0-,-20,-19", 20, "0+20"},
    /* A malformed range is ignored, so the whole is sent. */
    {"bytes", 10, "whole"},
    {"bytes=", 10, "whole"},
    {"bytes=,", 10, "whole"},
    {"bytes=a-b", 10, "whole"},
    {"bytes=1", 10, "whole"},
    {"bytes=5-4", 10, "whole"},
    {"bytes=--5", 10, "whole"},
    {"bytes=1-2-3", 10, "whole"},
    {"bytes=+1-2", 10, "whole"},
    {"bytes=0-1;2-3", 10, "whole"},
    {"lines=0-1", 10, "whole"},
    {"bytes=0-1,x", 10, "whole"},
};

TEST(test_ranges)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct str got = shape(str_from(cases[i].header), cases[i].size);
        if (!str_is(got, cases[i].shape))
            fail_msg("%s of %lld: %.*s instead of %s",
                     cases[i].header,
                     (long long)cases[i].size,
                     STR_ARG(got),
                     cases[i].shape);
    }
    assert_true(str_is(shape(STR_NONE, 10), "whole"));
}

/* A client cannot ask for more work than an answer in RANGES_MAX parts. */
TEST(test_many)
{
    struct strbuf header;

    for (int count = 1; count <= 100; count++) {
        strbuf_init(&header, arena, 4096);
        strbuf_str(&header, STR("bytes="));
        for (int i = 0; i < count; i++)
            strbuf_printf(&header, "%s%d-%d", i ? "," : "", i * 10, i * 10 + 1);
        bool whole = str_is(shape(strbuf_view(&header), 100000), "whole");
        assert_int_equal(whole, count > RANGES_MAX);
    }
}

TEST(test_if_range)
{
    const struct str etag = STR_INIT("\"abc\"");
    const struct str date = STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT");

    assert_true(range_if(STR_NONE, etag, date));
    assert_true(range_if(STR("\"abc\""), etag, date));
    assert_true(range_if(date, etag, date));
    assert_false(range_if(STR("W/\"abc\""), etag, date));
    assert_false(range_if(STR("\"abd\""), etag, date));
    assert_false(range_if(STR("Sun, 06 Nov 1994 08:49:38 GMT"), etag, date));
    assert_false(range_if(STR(""), etag, date));
}

static void check_name(const char *name, const char *wanted)
{
    struct str got = disposition_header(arena, true, str_from(name));

    assert_string_equal(arena_cstr(arena, got), wanted);
}

TEST(test_disposition)
{
    check_name("plain name.txt", "attachment; filename=\"plain name.txt\"");
    check_name("a\"b\\c.txt", "attachment; filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b%5Cc.txt");
    check_name("100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt");
    check_name("na\xc3\xafve.txt",
               "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt");
    check_name("a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab");
    assert_true(str_starts(disposition_header(arena, false, STR("x")), STR("inline; ")));
}

static int set_up(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(set_up, tear_down)
