/* Requests without the members that a model server refuses, and the error messages that may be
 * shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "assistant/model_server.h"
#include "json/jr.h"

TEST(bodies_without_members)
{
    const unsigned both = MODEL_NO_MAX_TOKENS | MODEL_NO_STREAM_OPTIONS;
    const struct {
        const char *body;
        unsigned quirks;
        const char *without; /* NULL = the body itself */
    } rows[] = {
        {"{\"model\":\"m\",\"max_tokens\":7}",
         MODEL_NO_MAX_TOKENS,
         "{\"model\":\"m\",\"max_completion_tokens\":7}"},
        {"{ \"max_tokens\" : 7 , \"a\" : [ 1, \"}\" ] }",
         MODEL_NO_MAX_TOKENS,
         "{\"max_completion_tokens\":7,\"a\":[ 1, \"}\" ]}"},
        {"{\"max_tokens\":7,\"max_completion_tokens\":8}",
         MODEL_NO_MAX_TOKENS,
         "{\"max_completion_tokens\":8}"},
        {"{\"max_completion_tokens\":8}", MODEL_NO_MAX_TOKENS, NULL},
        {"{\"stream_options\":{\"a\":{}},\"max_tokens\":7}", both, "{\"max_completion_tokens\":7}"},
        {"{\"stream_options\":{\"a\":{}},\"max_tokens\":7}", 0, NULL},
        {"{\"tools\":[{\"max_tokens\":1}],\"s\":\"\\\"max_tokens\\\":2\"}", both, NULL},
        {"{\"s\":\"\\\\\\\"\",\"max_tokens\":null,\"t\":-1.5e3}",
         MODEL_NO_MAX_TOKENS,
         "{\"s\":\"\\\\\\\"\",\"max_completion_tokens\":null,\"t\":-1.5e3}"},
        {"{\"stream_options\":{}}", both, "{}"},
        {"{}", both, NULL},
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str without = model_body_without(arena, str_from(rows[i].body), rows[i].quirks);
        assert_string_equal(arena_cstr(arena, without),
                            rows[i].without != NULL ? rows[i].without : rows[i].body);
        assert_int_equal(without.ptr == rows[i].body, rows[i].without == NULL);
    }
    arena_free(arena);
}

TEST(words_of_errors)
{
    const struct model_server server = {.key = STR("sk-1")};
    static const struct {
        const char *error, *words;
    } rows[] = {
        {"{\"error\":{\"message\":\"m\"}}", "m"},
        {"{\"error\":\"m\"}", "m"},
        {"{\"object\":\"error\",\"message\":\"m\"}", "m"},
        {"{\"detail\":\"m\"}", "m"},
        {"{\"error\":{\"message\":\"it is sk-1, no\"}}", ""},
        {"{\"error\":{\"code\":7}}", ""},
        {"[]", ""},
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jr_error fault;
        json_t *error;
        assert_int_equal(jr_parse(arena, str_from(rows[i].error), &error, &fault), 0);
        assert_string_equal(arena_cstr(arena, model_error_message(&server, error)), rows[i].words);
    }
    arena_free(arena);
}
