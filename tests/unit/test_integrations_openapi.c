/* OpenAPI documents as integrations: references, bodies, what is left out, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/panic.h"
#include "integrations/openapi_import.h"
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

/* Of one that is imported: whatever comes out is one that can be stored. */
static json_t *import(const char *text, json_t **ret_skipped)
{
    const struct openapi_wish wish = {.document = parse(text)};
    struct schema_errors errors = {0};
    struct integration_in in;
    json_t *skipped;
    json_t *body;

    if (!openapi_import(arena, &wish, &body, &skipped, &errors))
        fail_msg("%.*s: %.*s", STR_ARG(errors.items[0].field), STR_ARG(errors.items[0].message));
    if (!schema_decode(arena, &integration_create_schema, body, &in, &errors) ||
        !integration_check(arena, &in, &errors))
        fail_msg("%.*s: %.*s", STR_ARG(errors.items[0].field), STR_ARG(errors.items[0].message));
    if (ret_skipped)
        *ret_skipped = skipped;
    return body;
}

#define HEAD                                                                                       \
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"A shop!\"},"                                     \
    "\"servers\":[{\"url\":\"https://x.example/v1/\"}],"

static const json_t *operation(const json_t *body, size_t index)
{
    return json_array_get(json_object_get(body, "operations"), index);
}

static void is_json(const json_t *value, const char *expected)
{
    assert_non_null(value);
    struct str text = jr_print(arena, value);
    if (!str_is(text, expected))
        fail_msg("%.*s, expected %s", STR_ARG(text), expected);
}

static void names_and_addresses(void **state)
{
    (void)state;
    json_t *body =
        import(HEAD "\"paths\":{\"/a/b\":{\"get\":{},\"post\":{\"operationId\":\"9 lives\"},"
                    "\"put\":{\"operationId\":\"get_a_b\"}}}}",
               NULL);

    assert_string_equal(json_string_value(json_object_get(body, "name")), "A_shop");
    assert_string_equal(json_string_value(json_object_get(body, "base_url")),
                        "https://x.example/v1");
    assert_string_equal(json_string_value(json_object_get(operation(body, 0), "name")), "get_a_b");
    assert_string_equal(json_string_value(json_object_get(operation(body, 1), "name")),
                        "get_a_b_2");
    assert_string_equal(json_string_value(json_object_get(operation(body, 2), "name")),
                        "op_9_lives");
}

static void parameters(void **state)
{
    (void)state;
    json_t *body = import(
        HEAD
        "\"paths\":{\"/a/"
        "{id}\":{\"parameters\":[{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
        "\"schema\":{\"type\":[\"null\",\"integer\"]}},{\"name\":\"q\",\"in\":\"query\","
        "\"required\":"
        "true}],\"get\":{\"parameters\":[{\"name\":\"q\",\"in\":\"query\",\"schema\":{\"type\":"
        "\"string\",\"enum\":[\"a\",null],\"default\":\"b\"}},{\"name\":\"Accept\",\"in\":"
        "\"header\"},"
        "{\"name\":\"ids\",\"in\":\"query\",\"explode\":false,\"schema\":{\"type\":\"array\"}},"
        "{\"name\":\"id\",\"in\":\"header\"}]}}}}",
        NULL);

    is_json(json_object_get(operation(body, 0), "params"),
            "[{\"name\":\"id\",\"in\":\"path\",\"type\":\"integer\",\"required\":true},"
            "{\"name\":\"q\",\"in\":\"query\",\"type\":\"string\",\"enum\":[\"a\"]},"
            "{\"name\":\"ids\",\"in\":\"query\",\"type\":\"string\"},"
            "{\"name\":\"id_header\",\"as\":\"id\",\"in\":\"header\",\"type\":\"string\"}]");
}

static void bodies(void **state)
{
    (void)state;
    json_t *body = import(
        HEAD "\"components\":{\"schemas\":{\"T\":{\"properties\":{\"t\":{\"$ref\":"
             "\"#/components/schemas/T\"},\"id\":{\"type\":\"integer\",\"readOnly\":true}},"
             "\"required\":[\"t\"]}}},\"paths\":{\"/a\":{"
             "\"post\":{\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
             "\"#/components/schemas/T\"}}}}},"
             "\"put\":{\"requestBody\":{\"required\":true,\"content\":{\"application/vnd.x+json\":{"
             "\"schema\":{\"type\":\"array\"}}}}},"
             "\"patch\":{\"requestBody\":{\"content\":{\"application/x-www-form-urlencoded\":{"
             "\"schema\":{\"properties\":{\"a b\":{\"type\":\"string\"}}}}}}}}}}",
        NULL);

    is_json(json_object_get(operation(body, 0), "params"),
            "[{\"name\":\"body\",\"in\":\"body\",\"type\":\"array\",\"required\":true}]");
    assert_string_equal(json_string_value(json_object_get(operation(body, 0), "body")),
                        "{{ body }}");
    is_json(json_object_get(operation(body, 1), "params"),
            "[{\"name\":\"t\",\"in\":\"body\",\"type\":\"object\",\"required\":true}]");
    is_json(json_object_get(operation(body, 2), "params"),
            "[{\"name\":\"a_b\",\"as\":\"a b\",\"in\":\"body\",\"type\":\"string\"}]");
    assert_string_equal(json_string_value(json_object_get(operation(body, 2), "body_type")),
                        "form");
}

/* What is no integration's, with what is said of it. */
static void left_out(void **state)
{
    static const struct {
        const char *operation, *reason;
    } rows[] = {
        {"{\"parameters\":[{\"name\":\"c\",\"in\":\"cookie\",\"required\":true}]}", "in no path"},
        {"{\"requestBody\":{\"required\":true,\"content\":{\"image/png\":{}}}}", "neither JSON"},
        {"{\"servers\":[{\"url\":\"https://y.example\"}]}", "server of its own"},
        {"{\"parameters\":[{\"name\":\"Host\",\"in\":\"header\",\"required\":true}]}",
         "set by the connection"},
        {"{\"parameters\":[{\"name\":\"x\",\"in\":\"path\",\"required\":true}]}", "has no {x}"},
    };
    json_t *skipped;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = arena_printf(
            arena, HEAD "\"paths\":{\"/a\":{\"get\":{},\"post\":%s}}}", rows[i].operation);
        json_t *body = import(text.ptr, &skipped);
        assert_int_equal(json_array_size(json_object_get(body, "operations")), 1);
        const char *reason =
            json_string_value(json_object_get(json_array_get(skipped, 0), "reason"));
        if (reason == NULL || strstr(reason, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].reason, reason);
    }
}

static void schemes(void **state)
{
    static const struct {
        const char *scheme, *auth;
    } rows[] = {
        {"{\"type\":\"apiKey\",\"in\":\"query\",\"name\":\"k\"}",
         "{\"scheme\":\"query\",\"name\":\"k\"}"},
        {"{\"type\":\"http\",\"scheme\":\"Basic\"}", "{\"scheme\":\"basic\"}"},
        {"{\"type\":\"http\",\"scheme\":\"bearer\"}", "{\"scheme\":\"bearer\"}"},
        {"{\"type\":\"openIdConnect\"}", "{\"scheme\":\"none\"}"},
        {"{\"type\":\"oauth2\",\"flows\":{\"clientCredentials\":{\"tokenUrl\":\"https://"
         "t.example\","
         "\"scopes\":{\"a\":\"\"}}}}",
         "{\"scheme\":\"oauth2_client_credentials\",\"token_url\":\"https://"
         "t.example\",\"scopes\":["
         "\"a\"]}"},
        {"{\"type\":\"oauth2\",\"flows\":{\"authorizationCode\":{\"tokenUrl\":\"javascript:1\"}}}",
         "{\"scheme\":\"none\"}"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = arena_printf(
            arena,
            HEAD "\"paths\":{\"/a\":{\"get\":{}}},\"components\":{\"securitySchemes\":{\"s\":%s}}}",
            rows[i].scheme);
        is_json(json_object_get(import(text.ptr, NULL), "auth"), rows[i].auth);
    }
}

static void references_that_lead_nowhere(void **state)
{
    static const struct {
        const char *reference, *message;
    } rows[] = {
        {"other.json#/a", "another document"},
        {"#/paths/~1a/get/parameters/0", "circle"},
        {"#/nothing/here", "not there"},
        {"#/paths/~2", "not there"},
        {"#/paths/%zz", "not there"},
        {"#/paths/~1a/get/parameters/1", "not there"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct openapi_wish wish = {
            .document = parse(arena_printf(arena,
                                           HEAD "\"paths\":{\"/a\":{\"get\":{\"parameters\":[{"
                                                "\"$ref\":\"%s\"}]}}}}",
                                           rows[i].reference)
                                  .ptr)};
        struct schema_errors errors = {0};
        json_t *skipped;
        json_t *body;
        assert_false(openapi_import(arena, &wish, &body, &skipped, &errors));
        assert_true(str_is(errors.items[0].field, "document.paths./a.get.parameters[0]"));
        assert_non_null(strstr(errors.items[0].message.ptr, rows[i].message));
    }
}

static int set_up(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_and_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schemes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(references_that_lead_nowhere, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
