/* Operations as requests: parameters, templates, paths that dots cannot leave, redirects, answers
 * that are cut and mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "integrations/answer.h"
#include "integrations/outgoing.h"
#include "json/jr.h"

static struct arena *arena;

static json_t *parse(const char *text)
{
    struct jr_error error;
    json_t *value;

    if (jr_parse(arena, str_from(text), &value, &error) != 0)
        fail_msg("%s: %s", error.text, text);
    return value;
}

/* Builds a request; returns 0 and the request, or the error, with errors of fields in *errors. */
static int build(const char *operation,
                 const char *params,
                 struct outgoing_request *ret_outgoing,
                 struct schema_errors *errors)
{
    struct integration_operation *work = ARENA_NEW(arena, work);
    struct fill_values values;

    if (integration_operation_read(arena, str_from(operation), work) != 0)
        fail_msg("no operation: %s", operation);
    if (!fill_values_read(arena, work, parse(params), &values, errors))
        return INTEGRATION_FAILED;
    return outgoing_build(arena, STR("https://x.example/v1/"), &values, ret_outgoing, errors);
}

#define OPERATION(method, path, rest)                                                              \
    "{\"name\":\"o\",\"method\":\"" method "\",\"path\":\"" path "\"" rest "}"
#define PARAM(name, in, rest) "{\"name\":\"" name "\",\"in\":\"" in "\"" rest "}"

static int tear_down(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static int set_up(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

TEST_WITH(urls, set_up, tear_down)
{
    static const struct {
        const char *path, *params, *values, *url;
    } rows[] = {
        {"/a", "", "{}", "/a"},
        {"/a/{b}/c", PARAM("b", "path", ""), "{\"b\":\"x/../y?#%\"}", "/a/x%2F..%2Fy%3F%23%25/c"},
        {"/{b}", PARAM("b", "path", ",\"type\":\"integer\""), "{\"b\":-7}", "/-7"},
        {"/a", PARAM("q", "query", ",\"type\":\"number\""), "{\"q\":1.50}", "/a?q=1.50"},
        {"/a", PARAM("q", "query", ",\"type\":\"boolean\""), "{\"q\":false}", "/a?q=false"},
        {"/a", PARAM("q", "query", ",\"as\":\"f[x]\""), "{\"q\":\"\"}", "/a?f%5Bx%5D="},
        {"/a", PARAM("q", "query", ",\"type\":\"array\""), "{\"q\":[]}", "/a"},
        {"/a", PARAM("q", "query", ",\"default\":\"d\""), "{\"q\":null}", "/a?q=d"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schema_errors errors = {0};
        struct outgoing_request out;
        struct str text = arena_printf(
            arena, OPERATION("GET", "%s", ",\"params\":[%s]"), rows[i].path, rows[i].params);
        assert_int_equal(build(text.ptr, rows[i].values, &out, &errors), 0);
        struct str expected = arena_printf(arena, "https://x.example/v1%s", rows[i].url);
        if (!str_eq(out.request.url, expected))
            fail_msg("%.*s, expected %.*s", STR_ARG(out.request.url), STR_ARG(expected));
    }
}

TEST_WITH(dots_stay_out, set_up, tear_down)
{
    static const char *const paths[] = {"/a/{p}", "/a/{p}{q}/b", "/{p}./b", "/a/.{p}"};
    static const char *const values[] = {"{\"p\":\".\",\"q\":\".\"}", "{\"p\":\"..\",\"q\":\"\"}"};
    size_t refused = 0;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        for (size_t k = 0; k < ARRAY_LEN(values); k++) {
            struct schema_errors errors = {0};
            struct outgoing_request out;
            struct str text =
                arena_printf(arena,
                             OPERATION("GET",
                                       "%s",
                                       ",\"params\":[" PARAM("p", "path", "") "," PARAM(
                                           "q", "query", ",\"default\":\"x\"") "]"),
                             paths[i]);
            if (strstr(paths[i], "{q}"))
                text = arena_printf(arena,
                                    OPERATION("GET",
                                              "%s",
                                              ",\"params\":[" PARAM("p", "path", "") "," PARAM(
                                                  "q", "path", "") "]"),
                                    paths[i]);
            int rc = build(text.ptr, values[k], &out, &errors);
            refused += rc == INTEGRATION_FAILED;
            if (rc == 0)
                assert_null(strstr(out.request.url.ptr, "/../"));
        }
    assert_true(refused >= 5);
    assert_true(integration_segment_is_dots(STR("%2E.")) &&
                integration_segment_is_dots(STR("%2e")));
    assert_false(integration_segment_is_dots(STR("...")) || integration_segment_is_dots(STR("")) ||
                 integration_segment_is_dots(STR(".a")));
}

TEST_WITH(templates, set_up, tear_down)
{
    static const struct {
        const char *body, *values, *sent;
    } rows[] = {
        {"\"{{ a }}\"", "{\"a\":{\"x\":1.50}}", "{\"x\":1.50}"},
        {"\"{{a}}{{a}}\"", "{\"a\":\"{{ b }}\"}", "\"{{ b }}{{ b }}\""},
        {"{\"k\":\"{{ a }}\",\"l\":[\"{{ a }}\",\"{{ b }}\"],\"m\":\"-{{ b }}-\"}",
         "{\"a\":[1]}",
         "{\"k\":[1],\"l\":[[1]],\"m\":\"--\"}"},
        {"{\"k\":null,\"l\":true,\"m\":{}}", "{}", "{\"k\":null,\"l\":true,\"m\":{}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schema_errors errors = {0};
        struct outgoing_request out;
        struct str text = arena_printf(
            arena,
            OPERATION("POST",
                      "/",
                      ",\"params\":[" PARAM("a", "body", ",\"type\":\"any\"") "," PARAM(
                          "b", "body", "") "],\"body\":%s"),
            rows[i].body);
        assert_int_equal(build(text.ptr, rows[i].values, &out, &errors), 0);
        if (!str_is(out.request.body, rows[i].sent))
            fail_msg("%.*s, expected %s", STR_ARG(out.request.body), rows[i].sent);
    }
}

TEST_WITH(a_template_cannot_grow_without_end, set_up, tear_down)
{
    struct schema_errors errors = {0};
    struct strbuf body;
    struct strbuf value;
    struct outgoing_request out;

    strbuf_init(&body, arena, 1 << 20);
    strbuf_init(&value, arena, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        strbuf_cstr(&body, i ? ",\"{{ a }}\"" : "\"{{ a }}\"");
        strbuf_cstr(&value, "xxxxxxxxxx");
    }
    struct str text = arena_printf(
        arena,
        OPERATION("POST", "/", ",\"params\":[" PARAM("a", "body", "") "],\"body\":[%.*s]"),
        STR_ARG(strbuf_view(&body)));
    struct str values = arena_printf(arena, "{\"a\":\"%.*s\"}", STR_ARG(strbuf_view(&value)));
    assert_int_equal(build(text.ptr, values.ptr, &out, &errors), INTEGRATION_TOO_LARGE);
}

TEST_WITH(secrets_are_not_shown, set_up, tear_down)
{
    const struct outgoing_credentials query = {
        .scheme = SCHEME_QUERY, .name = STR("k"), .token = STR("t&t")};
    struct schema_errors errors = {0};
    struct outgoing_request out;

    assert_int_equal(
        build(OPERATION("GET",
                        "/{p}",
                        ",\"params\":[" PARAM("p", "path", ",\"secret\":true") "," PARAM(
                            "q",
                            "query",
                            ",\"secret\":true") "],\"query\":{\"t\":\"-{{ q }}\",\"u\":\"plain\"}"),
              "{\"p\":\"path-1\",\"q\":\"query-1\"}",
              &out,
              &errors),
        0);
    assert_true(
        str_is(out.masked_url, "https://x.example/v1/********?q=********&t=********&u=plain"));
    struct fetch_request sent = outgoing_add_credentials(arena, &out, &query, STR_NONE);
    assert_true(
        str_is(sent.url, "https://x.example/v1/path-1?q=query-1&t=-query-1&u=plain&k=t%26t"));
    assert_true(
        str_is(out.request.url, "https://x.example/v1/path-1?q=query-1&t=-query-1&u=plain"));
}

TEST_WITH(redirects, set_up, tear_down)
{
    static const struct {
        const char *location, *to;
    } rows[] = {
        {"/b?c#d", "https://x.example/b?c"},
        {"b", "https://x.example/b"},
        {"../b/./c", "https://x.example/b/c"},
        {"?q=\xc3\xa9 x", "https://x.example/a?q=%c3%a9%20x"},
        {"https://X.example/b", "https://X.example/b"},
        {"https://x.example:443/b", "https://x.example:443/b"},
        {"http://x.example/b", NULL},
        {"https://x.example:444/b", NULL},
        {"https://x.example.evil/b", NULL},
        {"https://x.example@evil.example/", NULL},
        {"https://evil.example\\@x.example/", NULL},
        {"//evil.example/", NULL},
        {"", NULL},
        {"file:///etc/passwd", NULL},
        {"/a\nb", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str to =
            outgoing_redirect(arena, STR("https://x.example/a"), str_from(rows[i].location));
        if (rows[i].to ? !str_is(to, rows[i].to) : to.ptr != NULL)
            fail_msg("%s leads to %.*s", rows[i].location, STR_ARG(to));
    }
}

TEST_WITH(answers, set_up, tear_down)
{
    static const struct {
        const char *response, *kept;
    } rows[] = {
        {"{}", "{\"a\":[{\"b\":1},{\"c\":2}]}"},
        {"{\"results_path\":\"a[1]\"}", "{\"c\":2}"},
        {"{\"results_path\":\"a\",\"map\":{\"x\":\"b\"}}", "[{\"x\":1},{\"x\":null}]"},
        {"{\"map\":{\"x\":\"a[0].b\",\"y\":\"a[*].b\"}}", "{\"x\":1,\"y\":null}"},
        {"{\"results_path\":\"nothing\"}", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct integration_operation *work = ARENA_NEW(arena, work);
        struct str text =
            arena_printf(arena, OPERATION("GET", "/", ",\"response\":%s"), rows[i].response);
        struct str reason;
        json_t *kept;
        assert_int_equal(integration_operation_read(arena, text, work), 0);
        int rc = answer_map(
            arena, work->response.value, parse("{\"a\":[{\"b\":1},{\"c\":2}]}"), &kept, &reason);
        assert_true(rows[i].kept ? rc == 0 : rc != 0 && reason.len > 0);
        struct str text_kept = rows[i].kept ? jr_print(arena, kept) : STR_NONE;
        if (rows[i].kept && !str_is(text_kept, rows[i].kept))
            fail_msg("%.*s, expected %s", STR_ARG(text_kept), rows[i].kept);
    }
}

/* Checks an integration with `count` expressions, in a body and a header together. */
static bool fills_fit(size_t count, struct schema_errors *errors)
{
    struct integration_in *in = ARENA_NEW(arena, in);
    struct strbuf text;

    strbuf_init(&text, arena, 1 << 20);
    strbuf_cstr(
        &text,
        "{\"name\":\"n\",\"base_url\":\"https://x.example\",\"operations\":[{\"name\":\"o\","
        "\"method\":\"POST\",\"path\":\"/\",\"params\":[{\"name\":\"a\",\"in\":\"body\"}],"
        "\"headers\":{\"X-A\":\"{{a}}{{ a }}\"},\"body\":[\"");
    for (size_t i = 2; i < count; i++)
        strbuf_cstr(&text, i % 100 == 0 ? "\",\"{{a}}" : "{{a}}");
    strbuf_cstr(&text, "\"]}]}");
    assert_true(
        schema_decode(arena, &integration_create_schema, parse(strbuf_cstring(&text)), in, errors));
    return integration_check(arena, in, errors);
}

TEST_WITH(expressions_are_bounded, set_up, tear_down)
{
    struct schema_errors errors = {0};

    assert_true(fills_fit(INTEGRATION_FILLS_MAX, &errors));
    assert_false(fills_fit(INTEGRATION_FILLS_MAX + 1, &errors));
    assert_int_equal(errors.count, 1);
    assert_true(str_is(errors.items[0].field, "operations[0].body"));
    assert_non_null(
        strstr(errors.items[0].message.ptr, "at most 2000 {{ }} in headers, query and body"));
}
