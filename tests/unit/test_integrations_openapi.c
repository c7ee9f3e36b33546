/* Imports of OpenAPI documents as integrations: references, bodies, parts that are left out,
 * documents that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

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

/* Returns the names of all operations of an integration. */
static struct in_strs names_of(const json_t *body)
{
    const json_t *operations = json_object_get(body, "operations");
    struct in_strs names = {.set = true, .count = json_array_size(operations)};

    names.items = arena_alloc(arena, (names.count + 1) * sizeof(struct str));
    for (size_t i = 0; i < names.count; i++)
        names.items[i] = jr_str(json_array_get(operations, i), "name");
    return names;
}

/* Asserts that the same operations, chosen out of the text, give the same integration as those of
 * the parsed tree. */
static void is_same_out_of_text(const char *text, const json_t *expected)
{
    const struct in_strs names = names_of(expected);
    const struct openapi_options wish = {.text = str_from(text), .chosen_names = &names};
    struct schema_errors errors = {0};
    json_t *skipped;
    json_t *body;

    if (names.count == 0)
        return;
    if (!openapi_import(arena, &wish, &body, &skipped, &errors))
        fail_msg("%.*s: %.*s", STR_ARG(errors.items[0].field), STR_ARG(errors.items[0].message));
    assert_string_equal(arena_cstr(arena, jr_print(arena, body)),
                        arena_cstr(arena, jr_print(arena, expected)));
}

/* Imports a document, asserts that the result can be stored, and returns the result. */
static json_t *import(const char *text, json_t **ret_skipped)
{
    const struct openapi_options wish = {.document = parse(text)};
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
    is_same_out_of_text(text, body);
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

TEST_WITH(names_and_addresses, set_up, tear_down)
{
    json_t *body =
        import(HEAD "\"paths\":{\"/a\\u002fb\":{\"get\":{},\"p\\u006fst\":{\"operation\\u0049d\":"
                    "\"9 \\u006cives\"},"
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

TEST_WITH(parameters, set_up, tear_down)
{
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

TEST_WITH(bodies, set_up, tear_down)
{
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

/* Operations that an integration cannot have are left out, each with a reason. */
TEST_WITH(left_out, set_up, tear_down)
{
    static const struct {
        const char *operation, *reason;
    } rows[] = {
        {"{\"parameters\":[{\"name\":\"c\",\"in\":\"cookie\",\"required\":true}]}", "not in path"},
        {"{\"requestBody\":{\"required\":true,\"content\":{\"image/png\":{}}}}", "neither JSON"},
        {"{\"servers\":[{\"url\":\"https://y.example\"}]}", "server of its own"},
        {"{\"parameters\":[{\"name\":\"Host\",\"in\":\"header\",\"required\":true}]}",
         "must not be set here"},
        {"{\"parameters\":[{\"name\":\"x\",\"in\":\"path\",\"required\":true}]}", "has no {x}"},
    };
    json_t *skipped;

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

/* Parts that an imported operation does without are reported with a reason. */
TEST_WITH(done_without, set_up, tear_down)
{
    static const struct {
        const char *operation, *reason;
    } rows[] = {
        {"\"post\":{\"parameters\":[{\"name\":\"c\",\"in\":\"cookie\"},"
         "{\"name\":\"d\",\"in\":\"cookie\"}]}",
         "optional cookies"},
        {"\"post\":{\"parameters\":[{\"name\":\"\",\"in\":\"query\"}]}", "whose name"},
        {"\"post\":{\"requestBody\":{\"content\":{\"image/png\":{}}}}", "without its body"},
        {"\"get\":{\"requestBody\":{\"content\":{\"application/json\":{}}}}", "without its body"},
    };
    json_t *skipped;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = arena_printf(arena, HEAD "\"paths\":{\"/a\":{%s}}}", rows[i].operation);
        json_t *body = import(text.ptr, &skipped);
        assert_int_equal(json_array_size(json_object_get(body, "operations")), 1);
        assert_int_equal(json_array_size(skipped), 1);
        const char *reason =
            json_string_value(json_object_get(json_array_get(skipped, 0), "reason"));
        if (strstr(reason, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].reason, reason);
    }
}

TEST_WITH(schemes, set_up, tear_down)
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

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = arena_printf(
            arena,
            HEAD "\"paths\":{\"/a\":{\"get\":{}}},\"components\":{\"securitySchemes\":{\"s\":%s}}}",
            rows[i].scheme);
        is_json(json_object_get(import(text.ptr, NULL), "auth"), rows[i].auth);
    }
}

TEST_WITH(references_that_lead_nowhere, set_up, tear_down)
{
    static const struct {
        const char *reference, *message;
    } rows[] = {
        {"other.json#/a", "another document"},
        {"#/paths/~1a/get/parameters/0", "cycle"},
        {"#/nothing/here", "does not exist"},
        {"#/paths/~2", "does not exist"},
        {"#/paths/%zz", "does not exist"},
        {"#/paths/~1a/get/parameters/1", "does not exist"},
    };
    struct str names[] = {STR("get_a")};
    const struct in_strs only = {.set = true, .items = names, .count = ARRAY_LEN(names)};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *skipped;
        json_t *body;
        const char *text = arena_printf(arena,
                                        HEAD "\"paths\":{\"/a\":{\"get\":{\"parameters\":[{"
                                             "\"$ref\":\"%s\"}]}}}}",
                                        rows[i].reference)
                               .ptr;
        const struct openapi_options wishes[] = {{.document = parse(text)},
                                                 {.text = str_from(text), .chosen_names = &only}};
        for (size_t n = 0; n < ARRAY_LEN(wishes); n++) {
            struct schema_errors errors = {0};
            assert_false(openapi_import(arena, &wishes[n], &body, &skipped, &errors));
            assert_true(str_is(errors.items[0].field, "document.paths./a.get.parameters[0]"));
            assert_non_null(strstr(errors.items[0].message.ptr, rows[i].message));
        }
    }
}

/* --- bounds of an import --- */

#define LARGE_BYTES (1 << 20) /* the largest body of a request */
#define TEXT_BYTES  ((size_t)40 << 20)

static struct strbuf large;

/* Writes `text` `count` times, each with its number in place of %zu, with commas between them. */
static void large_list(size_t count, const char *text)
{
    const char *number = strstr(text, "%zu");

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            strbuf_char(&large, ',');
        if (number == NULL) {
            strbuf_cstr(&large, text);
            continue;
        }
        strbuf_str(&large, (struct str){text, (size_t)(number - text)});
        strbuf_i64(&large, (int64_t)i);
        strbuf_cstr(&large, number + 3);
    }
}

static void large_text(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        strbuf_char(&large, 'x');
}

/* Writes `count` paths that all refer to one item with seven operations. */
static void paths_of_one_item(size_t count, const char *item)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(count, "\"/%zu\":{\"$ref\":\"#/x\"}");
    strbuf_cstr(&large, "},\"x\":");
    strbuf_cstr(&large, item);
    strbuf_char(&large, '}');
}

#define SEVEN                                                                                      \
    "{\"get\":{},\"put\":{},\"post\":{},\"delete\":{},\"patch\":{},\"head\":{},\"options\":{}"

static void many_operations(void)
{
    paths_of_one_item(7000, SEVEN "}");
}

static void operations_of_one_long_name(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(20000, "\"/%zu\":{\"$ref\":\"#/x\"}");
    strbuf_cstr(&large, "},\"x\":{\"get\":{\"operationId\":\"");
    large_text(300000);
    strbuf_cstr(&large, "\"}}}");
}

static void parameters_of_path_and_operation(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(200, "\"/%zu\":{\"$ref\":\"#/x\"}");
    strbuf_cstr(&large, "},\"x\":{\"parameters\":[");
    large_list(1200, "{\"in\":\"cookie\",\"name\":\"a%zu\"}");
    strbuf_cstr(&large, "],\"get\":{\"parameters\":[");
    large_list(1200, "{\"in\":\"cookie\",\"name\":\"b%zu\"}");
    strbuf_cstr(&large, "]}}}");
}

static void members_and_required_members(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(200, "\"/%zu\":{\"$ref\":\"#/x\"}");
    strbuf_cstr(&large,
                "},\"x\":{\"put\":{\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{"
                "\"required\":[");
    large_list(4000, "\"r%zu\"");
    strbuf_cstr(&large, "],\"properties\":{");
    large_list(4000, "\"p%zu\":{\"readOnly\":true}");
    strbuf_cstr(&large, "}}}}}}}}");
}

/* Writes eight levels of schemas, each of which refers to the next level eight times. */
static void parts_of_parts(void)
{
    strbuf_cstr(&large,
                HEAD "\"paths\":{\"/a\":{\"put\":{\"requestBody\":{\"content\":{"
                     "\"application/json\":{\"schema\":{\"$ref\":\"#/s/0\"}}}}}}},\"s\":[");
    for (int level = 0; level < 8; level++) {
        strbuf_cstr(&large, "{\"allOf\":[");
        for (int i = 0; i < 8; i++)
            strbuf_printf(&large, "%s{\"$ref\":\"#/s/%d\"}", i > 0 ? "," : "", level + 1);
        strbuf_cstr(&large, "]},");
    }
    strbuf_cstr(&large, "{\"properties\":{\"a\":{}}}]}");
}

static void values_of_many_parameters(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(200, "\"/%zu\":{\"$ref\":\"#/x\"}");
    strbuf_cstr(&large, "},\"x\":{\"get\":{\"parameters\":[");
    large_list(60, "{\"in\":\"query\",\"name\":\"a%zu\",\"schema\":{\"$ref\":\"#/e\"}}");
    strbuf_cstr(&large, "]}},\"e\":{\"type\":\"string\",\"enum\":[");
    for (int i = 0; i < 200; i++) {
        strbuf_cstr(&large, i > 0 ? ",\"" : "\"");
        large_text(1000);
        strbuf_printf(&large, "%d\"", i);
    }
    strbuf_cstr(&large, "]}}");
}

static void schemes_with_long_names(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{\"/a\":{\"get\":{}}},\"security\":[");
    large_list(2000, "{\"s\":[]}");
    strbuf_cstr(&large,
                "],\"components\":{\"securitySchemes\":{\"s\":{\"type\":\"apiKey\",\"in\":"
                "\"header\",\"name\":\"");
    large_text(100000);
    strbuf_cstr(&large, "\"}}}}");
}

static void long_paths_with_many_parameters(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{\"/");
    large_text(200000);
    strbuf_cstr(&large, "\":{\"get\":{\"parameters\":[");
    large_list(1000, "{\"in\":\"cookie\",\"name\":\"c%zu\"}");
    strbuf_cstr(&large, "]}}}}");
}

static void paths_that_are_left_out(void)
{
    paths_of_one_item(7000, "{\"trace\":{}}");
}

/* The import of any document up to the largest body uses bounded memory, and its error names the
 * part that is too large. */
TEST_WITH(large_documents_are_bounded, set_up, tear_down)
{
    static const struct {
        void (*write)(void);
        const char *field, *advice; /* of the error; NULL = no error */
    } rows[] = {
        {many_operations, "document.paths", "at most 200 of them in \"operations\""},
        {operations_of_one_long_name, "document.paths", "at most 200 of them in \"operations\""},
        {parameters_of_path_and_operation, "document", "list fewer names in \"operations\""},
        {members_and_required_members, "document", "list fewer names in \"operations\""},
        {parts_of_parts, "document", "list fewer names in \"operations\""},
        {values_of_many_parameters, "document", "list fewer names in \"operations\""},
        {schemes_with_long_names, "document", "list fewer names in \"operations\""},
        {long_paths_with_many_parameters, NULL, NULL},
        {paths_that_are_left_out, "document.paths", "more than 1000 operations would be left out"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schema_errors errors = {0};
        json_t *skipped;
        json_t *body;
        strbuf_init(&large, arena, LARGE_BYTES);
        rows[i].write();
        assert_false(large.overflow);
        const struct openapi_options wish = {.document = parse(strbuf_cstring(&large))};
        size_t before = arena_used_bytes(arena);
        bool fine = openapi_import(arena, &wish, &body, &skipped, &errors);
        assert_true(arena_used_bytes(arena) - before <= OPENAPI_BYTES_MAX);
        assert_int_equal(fine, rows[i].field == NULL);
        if (rows[i].field == NULL)
            continue;
        if (!str_is(errors.items[0].field, rows[i].field) ||
            strstr(errors.items[0].message.ptr, rows[i].advice) == NULL)
            fail_msg("%zu: %.*s: %.*s",
                     i,
                     STR_ARG(errors.items[0].field),
                     STR_ARG(errors.items[0].message));
    }
}

/* Two operations can be imported out of as many as a document can have. */
TEST_WITH(few_of_very_many_operations, set_up, tear_down)
{
    struct str names[] = {STR("get_1"), STR("options_6999")};
    const struct in_strs only = {.set = true, .items = names, .count = ARRAY_LEN(names)};
    struct schema_errors errors = {0};
    json_t *skipped;
    json_t *body;

    strbuf_init(&large, arena, LARGE_BYTES);
    many_operations();
    const struct openapi_options wish = {.document = parse(strbuf_cstring(&large)),
                                         .chosen_names = &only};
    if (!openapi_import(arena, &wish, &body, &skipped, &errors))
        fail_msg("%.*s", STR_ARG(errors.items[0].message));
    assert_int_equal(json_array_size(json_object_get(body, "operations")), 2);
}

/* Sixteen megabytes of empty operations. */
static void text_of_operations(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(800000, "\"/%zu\":{\"get\":{}}");
    strbuf_cstr(&large, "}}");
}

/* An operation that refers to a schema of several megabytes. */
static void text_of_one_schema(void)
{
    strbuf_cstr(&large,
                HEAD "\"paths\":{\"/a\":{\"get\":{\"parameters\":[{\"in\":\"query\",\"name\":\"x\","
                     "\"schema\":{\"$ref\":\"#/components/schemas/a\"}}]}}},"
                     "\"components\":{\"schemas\":{\"a\":{\"enum\":[");
    large_list(4000000, "%zu");
    strbuf_cstr(&large, "]}}}}");
}

/* A small operation in a document with megabytes that the import does not need. */
static void text_beside_which_much_stands(void)
{
    strbuf_cstr(&large, HEAD "\"paths\":{\"/a\":{\"get\":{\"responses\":[");
    large_list(1000000, "{\"a\":[]}");
    strbuf_cstr(&large, "]}}},\"x-more\":{\"a\":[");
    large_list(100000, "{\"a\":\"%zu\"}");
    strbuf_cstr(&large, "]}}");
}

TEST_WITH(large_texts_are_bounded, set_up, tear_down)
{
    static const struct {
        void (*write)(void);
        bool is_fine;
    } rows[] = {
        {many_operations, false},
        {operations_of_one_long_name, false},
        {parameters_of_path_and_operation, false},
        {members_and_required_members, false},
        {parts_of_parts, false},
        {values_of_many_parameters, false},
        {schemes_with_long_names, false},
        {long_paths_with_many_parameters, false},
        {paths_that_are_left_out, false},
        {text_of_operations, false},
        {text_of_one_schema, false},
        {text_beside_which_much_stands, true},
    };
    struct str names[] = {STR("get_a")};
    const struct in_strs only = {.set = true, .items = names, .count = ARRAY_LEN(names)};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schema_errors errors = {0};
        json_t *skipped;
        json_t *body;
        strbuf_init(&large, arena, TEXT_BYTES);
        rows[i].write();
        assert_false(large.overflow);
        const struct openapi_options wish = {.text = strbuf_view(&large), .chosen_names = &only};
        size_t before = arena_used_bytes(arena);
        bool is_fine = openapi_import(arena, &wish, &body, &skipped, &errors);
        assert_true(arena_used_bytes(arena) - before <= OPENAPI_BYTES_MAX);
        assert_int_equal(is_fine, rows[i].is_fine);
        assert_int_equal(errors.count == 0, is_fine);
    }
}

/* Operations that would have the same name get numbers in their order. */
TEST_WITH(one_name_of_many_operations, set_up, tear_down)
{
    strbuf_init(&large, arena, LARGE_BYTES);
    strbuf_cstr(&large, HEAD "\"paths\":{");
    large_list(200, "\"/%zu\":{\"get\":{\"operationId\":\"a\"}}");
    strbuf_cstr(&large, "}}");
    json_t *body = import(strbuf_cstring(&large), NULL);

    assert_string_equal(json_string_value(json_object_get(operation(body, 0), "name")), "a");
    assert_string_equal(json_string_value(json_object_get(operation(body, 1), "name")), "a_2");
    assert_string_equal(json_string_value(json_object_get(operation(body, 199), "name")), "a_200");
}
