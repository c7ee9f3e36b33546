/* Query strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include "base/strbuf.h"
#include "http/query.h"

static struct arena *arena;

/* Returns "name{key}{key}=value;" for each parameter, or "!". */
static struct str shape(struct str text)
{
    struct query query;
    const char *reason = NULL;
    struct strbuf out;

    strbuf_init(&out, arena, 1 << 20);
    if (query_parse(arena, text, &query, &reason) != 0) {
        assert_non_null(reason);
        return STR("!");
    }
    for (size_t i = 0; i < query.count; i++) {
        strbuf_str(&out, query.items[i].name);
        for (size_t k = 0; k < query.items[i].key_count; k++) {
            strbuf_char(&out, '{');
            strbuf_str(&out, query.items[i].keys[k]);
            strbuf_char(&out, '}');
        }
        strbuf_char(&out, '=');
        assert_non_null(query.items[i].value.ptr);
        strbuf_str(&out, query.items[i].value);
        strbuf_char(&out, ';');
    }
    return strbuf_view(&out);
}

static const struct {
    const char *text;
    const char *expected;
} cases[] = {
    {"", ""},
    {"a=1", "a=1;"},
    {"a=1&b=2&a=3", "a=1;b=2;a=3;"},
    {"a", "a=;"},
    {"a=", "a=;"},
    {"a=b=c", "a=b=c;"},
    {"&&a=1&", "a=1;"},
    {"a+b=c+d%2B", "a b=c d+;"},
    {"filter[author.country][in]=a,b", "filter{author.country}{in}=a,b;"},
    {"filter%5Bx%5D=1", "filter{x}=1;"},
    {"filter[or][0][a]=1", "filter{or}{0}{a}=1;"},
    {"f[]=1", "f{}=1;"},
    {"v=[x]", "v=[x];"},
    {"a%3D=1", "a==1;"},
    {"a=%2541", "a=%41;"},
    {"f[1][2][3][4][5][6]=x", "f{1}{2}{3}{4}{5}{6}=x;"},
    {"f[1][2][3][4][5][6][7]=x", "f{1}{2}{3}{4}{5}{6}{7}=x;"},
    {"f[1][2][3][4][5][6][7][8]=x", "!"},
    {"a=%", "!"},
    {"a=%4", "!"},
    {"a=%zz", "!"},
    {"a=%00", "!"},
    {"a=%ff", "!"},
    {"%c0%80=1", "!"},
    {"=1", "!"},
    {"[a]=1", "!"},
    {"a[b=1", "!"},
    {"a]b=1", "!"},
    {"a[b]c=1", "!"},
    {"a[[b]]=1", "!"},
    {"a[b]]=1", "!"},
    {"a[b][=1", "!"},
};

TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str out = shape(str_from(cases[i].text));
        if (!str_is(out, cases[i].expected))
            fail_msg("%s gave %.*s", cases[i].text, STR_ARG(out));
    }
}

TEST(test_count)
{
    struct strbuf text;
    struct query query;
    const char *reason;

    strbuf_init(&text, arena, 1 << 20);
    for (int i = 0; i < 100; i++)
        strbuf_cstr(&text, "a=1&");
    assert_int_equal(query_parse(arena, strbuf_view(&text), &query, &reason), 0);
    assert_int_equal(query.count, 100);
    strbuf_cstr(&text, "a=1");
    assert_int_equal(query_parse(arena, strbuf_view(&text), &query, &reason), QUERY_INVALID);
    text.len = 0;
    for (int i = 0; i < 1000; i++)
        strbuf_cstr(&text, "&");
    assert_int_equal(query_parse(arena, strbuf_view(&text), &query, &reason), QUERY_INVALID);
}

TEST(test_get)
{
    struct query query;
    const char *reason;

    assert_int_equal(query_parse(arena, STR("p[x]=0&p=1&p=2&e="), &query, &reason), 0);
    assert_true(str_is(query_get(&query, "p"), "1"));
    assert_int_equal(query_get(&query, "e").len, 0);
    assert_non_null(query_get(&query, "e").ptr);
    assert_null(query_get(&query, "q").ptr);
}

static int begin(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int end(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(begin, end)
