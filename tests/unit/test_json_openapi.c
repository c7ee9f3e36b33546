/* OpenAPI output is valid JSON with the members that OpenAPI 3.0 requires, and without those that
 * it forbids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "json/schema.h"

static const char *const colors[] = {"red", "green", NULL};

struct leaf_in {
    struct in_str label;
};
static const struct field leaf_fields[] = {
    {.name = "label", FIELD_AT(struct leaf_in, label), .type = FIELD_STR},
};
static const struct schema leaf = SCHEMA("Leaf", struct leaf_in, leaf_fields);

struct all_in {
    struct in_str text;
};
#define AT FIELD_AT(struct all_in, text)
static const struct field all_fields[] = {
    {.name = "email", AT, .type = FIELD_STR, .required = true, .max = 254, .format = "email"},
    {.name = "key",
     AT,
     .type = FIELD_STR,
     .required = true,
     .min = 2,
     .format = "slug",
     .doc = "Stable \"name\"",
     .example = "\"main\""},
    {.name = "color", AT, .type = FIELD_STR, .nullable = true, .values = colors},
    {.name = "home", AT, .type = FIELD_STR, .format = "url"},
    {.name = "secret", AT, .type = FIELD_STR, .format = "password", .write_only = true},
    {.name = "count",
     AT,
     .type = FIELD_I64,
     .has_min = true,
     .min = -5,
     .has_max = true,
     .max = 1e15},
    {.name = "ratio", AT, .type = FIELD_F64, .has_min = true, .min = 0.25, .nullable = true},
    {.name = "on", AT, .type = FIELD_BOOL, .example = "true"},
    {.name = "at", AT, .type = FIELD_TIME},
    {.name = "day", AT, .type = FIELD_TIME, .format = "date"},
    {.name = "any", AT, .type = FIELD_JSON, .nullable = true, .doc = "Whatever"},
    {.name = "map", AT, .type = FIELD_MAP, .nullable = true},
    {.name = "ids", AT, .type = FIELD_IDS, .min = 1, .max = 50},
    {.name = "tags", AT, .type = FIELD_STRS, .values = colors, .nullable = true},
    {.name = "leaves", AT, .type = FIELD_LIST, .sub = &leaf, .doc = "Many"},
    {.name = "leaf", AT, .type = FIELD_OBJ, .sub = &leaf},
    {.name = "noted", AT, .type = FIELD_OBJ, .sub = &leaf, .doc = "Noted"},
    {.name = "maybe", AT, .type = FIELD_OBJ, .sub = &leaf, .nullable = true},
};
static const struct schema all = {
    .name = "All",
    .fields = all_fields,
    .count = ARRAY_LEN(all_fields),
    .struct_bytes = sizeof(struct all_in),
    .doc = "Everything",
};

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

static json_t *print(const struct schema *schema)
{
    struct strbuf out;
    struct jw w;
    strbuf_init(&out, arena, 1 << 20);
    jw_init(&w, &out);
    schema_openapi(&w, schema);
    assert_true(jw_is_complete(&w));
    json_t *root = NULL;
    struct jr_error error;
    if (jr_parse(arena, strbuf_view(&out), &root, &error) != 0)
        fail_msg("%s: %.*s", error.text, STR_ARG(strbuf_view(&out)));
    return root;
}

static void assert_property(const json_t *root, const char *name, const char *expected)
{
    const json_t *property = json_object_get(json_object_get(root, "properties"), name);
    assert_non_null(property);
    assert_string_equal(arena_cstr(arena, jr_print(arena, property)), expected);
}

TEST_WITH(test_properties, setup, teardown)
{
    const json_t *root = print(&all);
    assert_property(root, "email", "{\"type\":\"string\",\"format\":\"email\",\"maxLength\":254}");
    assert_property(root,
                    "key",
                    "{\"type\":\"string\",\"pattern\":\"^[a-z][a-z0-9-]{1,47}$\",\"minLength\":2,"
                    "\"description\":\"Stable \\\"name\\\"\",\"example\":\"main\"}");
    assert_property(
        root, "color", "{\"type\":\"string\",\"enum\":[\"red\",\"green\",null],\"nullable\":true}");
    assert_property(root, "home", "{\"type\":\"string\",\"format\":\"uri\"}");
    assert_property(
        root, "secret", "{\"type\":\"string\",\"format\":\"password\",\"writeOnly\":true}");
    assert_property(root,
                    "count",
                    "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":-5,"
                    "\"maximum\":1000000000000000}");
    assert_property(
        root,
        "ratio",
        "{\"type\":\"number\",\"format\":\"double\",\"minimum\":0.25,\"nullable\":true}");
    assert_property(root, "on", "{\"type\":\"boolean\",\"example\":true}");
    assert_property(root, "at", "{\"type\":\"string\",\"format\":\"date-time\"}");
    assert_property(root, "day", "{\"type\":\"string\",\"format\":\"date\"}");
}

TEST_WITH(test_containers, setup, teardown)
{
    const json_t *root = print(&all);
    assert_property(root, "any", "{\"description\":\"Whatever\"}");
    assert_property(
        root, "map", "{\"type\":\"object\",\"additionalProperties\":true,\"nullable\":true}");
    assert_property(root,
                    "ids",
                    "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"format\":\"int64\"},"
                    "\"minItems\":1,\"maxItems\":50}");
    assert_property(root,
                    "tags",
                    "{\"type\":\"array\",\"items\":{\"type\":\"string\","
                    "\"enum\":[\"red\",\"green\"]},\"nullable\":true}");
    assert_property(root,
                    "leaves",
                    "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Leaf\"},"
                    "\"description\":\"Many\"}");
    assert_property(root, "leaf", "{\"$ref\":\"#/components/schemas/Leaf\"}");
    assert_property(root,
                    "noted",
                    "{\"allOf\":[{\"$ref\":\"#/components/schemas/Leaf\"}],"
                    "\"description\":\"Noted\"}");
    assert_property(root,
                    "maybe",
                    "{\"type\":\"object\",\"properties\":{\"label\":{\"type\":\"string\"}},"
                    "\"additionalProperties\":false,\"nullable\":true}");
}

TEST_WITH(test_envelope, setup, teardown)
{
    json_t *root = print(&all);
    assert_true(str_is(jr_str(root, "type"), "object"));
    assert_true(str_is(jr_str(root, "description"), "Everything"));
    assert_string_equal(arena_cstr(arena, jr_print(arena, json_object_get(root, "required"))),
                        "[\"email\",\"key\"]");
    assert_true(json_is_false(json_object_get(root, "additionalProperties")));
    assert_int_equal(json_object_size(json_object_get(root, "properties")), ARRAY_LEN(all_fields));

    /* A schema without required fields has no empty list. Open schemas and outputs do not refuse
     * additional members. */
    struct schema open = leaf;
    open.allows_unknown = true;
    root = print(&open);
    assert_null(json_object_get(root, "required"));
    assert_null(json_object_get(root, "additionalProperties"));
    const struct schema output = SCHEMA_OUT("LeafOut", leaf_fields);
    assert_null(json_object_get(print(&output), "additionalProperties"));

    const struct field any = {.type = FIELD_MAP, .doc = "Any"};
    const struct schema value = {.name = "Value", .value = &any};
    assert_string_equal(
        arena_cstr(arena, jr_print(arena, print(&value))),
        "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"Any\"}");
}

/* A schema whose reader checks the value: its fields describe the members, and it has an example of
 * its own. */
TEST_WITH(test_loose, setup, teardown)
{
    static const struct field fields[] = {
        {.name = "key", .type = FIELD_STR, .required = true, .format = "key"},
        {.name = "any", .type = FIELD_LIST},
        {.name = "seconds", .type = FIELD_I64, .format = ""},
    };
    const struct schema loose = {.name = "Loose",
                                 .fields = fields,
                                 .count = ARRAY_LEN(fields),
                                 .is_unchecked = true,
                                 .example = "{\"key\":\"a\"}"};

    assert_string_equal(
        arena_cstr(arena, jr_print(arena, print(&loose))),
        "{\"type\":\"object\",\"required\":[\"key\"],\"properties\":{\"key\":{\"type\":\"string\","
        "\"pattern\":\"^[a-z0-9_]+$\"},\"any\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
        "\"additionalProperties\":true}},\"seconds\":{\"type\":\"integer\"}},"
        "\"example\":{\"key\":\"a\"}}");
}
