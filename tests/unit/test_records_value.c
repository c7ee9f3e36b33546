/* Values of records as they are read from requests: every type with its limits, and cells of
 * imports. No database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "crypto/aead.h"
#include "records/rules/value.h"

static const struct str status_values[] = {STR_INIT("open"), STR_INIT("sold")};
static const struct model_enum status = {STR_INIT("status"), status_values, 2};
static const struct entity owner = {.id = 7};

static struct model_field field_of(enum model_type type)
{
    return (struct model_field){
        .id = 9, .name = STR("f"), .type = type, .entity = &owner, .values = &status};
}

/* Returns the parameter's text ("null" for no value, ids joined by commas), or "!code". */
static const char *
read_value(struct arena *arena, const struct model_field *field, const char *json)
{
    struct project *project = ARENA_NEW(arena, project);
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    const struct value_scope scope = {arena, project, errors};
    struct jr_error parse_error;
    struct value value;
    struct strbuf ids;
    json_t *root;

    project->number = 3;
    if (jr_parse(arena, str_from(json), &root, &parse_error) != 0)
        return "!json";
    if (!value_read(&scope, field, root, &value)) {
        assert_int_equal(errors->count, 1);
        assert_true(str_is(errors->items[0].field, "f"));
        return arena_printf(arena, "!%s", errors->items[0].code).ptr;
    }
    assert_int_equal(errors->count, 0);
    if (field->is_many) {
        strbuf_init(&ids, arena, 65536);
        for (size_t i = 0; i < value.id_count; i++)
            strbuf_printf(&ids, "%s%lld", i > 0 ? "," : "", (long long)value.ids[i]);
        return strbuf_cstring(&ids);
    }
    struct str text = value_text(arena, &value.param);
    return text.ptr != NULL ? arena_cstr(arena, text) : "null";
}

struct sample {
    const char *json;
    const char *expected;
};

static void check(struct model_field field, const struct sample *samples, size_t count)
{
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < count; i++) {
        const char *got = read_value(arena, &field, samples[i].json);
        if (strcmp(got, samples[i].expected) != 0)
            fail_msg("%s: %s, expected %s", samples[i].json, got, samples[i].expected);
    }
    arena_free(arena);
}
#define CHECK(field, ...)                                                                          \
    check((field),                                                                                 \
          (const struct sample[]){__VA_ARGS__},                                                    \
          sizeof((const struct sample[]){__VA_ARGS__}) / sizeof(struct sample))

TEST(test_texts)
{
    struct model_field field = field_of(TYPE_VARCHAR);
    field.max_length = 3;
    CHECK(field,
          {"\"abc\"", "abc"},
          {"\"\\u00e4\\u00f6\\u20ac\"", "\xc3\xa4\xc3\xb6\xe2\x82\xac"}, /* characters, not bytes */
          {"\"abcd\"", "!too_long"},
          {"\"\"", ""},
          {"5", "!type_mismatch"},
          {"true", "!type_mismatch"},
          {"[]", "!type_mismatch"},
          {"null", "null"},
          {"\"a\\u0000\"", "!json"});
    field.required = true;
    CHECK(field, {"null", "!required"}, {"\"\"", ""});
}

/* A text that PostgreSQL could not index is refused before the write. */
TEST(test_indexed_texts)
{
    struct arena *arena = arena_new(0);
    struct model_field field = field_of(TYPE_TEXT);
    char text[VALUE_INDEXED_BYTES + 4];

    field.unique = true;
    memset(text, 'x', sizeof(text));
    text[0] = '"';
    text[VALUE_INDEXED_BYTES + 1] = '"';
    text[VALUE_INDEXED_BYTES + 2] = '\0';
    assert_int_equal(strlen(read_value(arena, &field, text)), VALUE_INDEXED_BYTES);
    text[VALUE_INDEXED_BYTES + 1] = 'x';
    text[VALUE_INDEXED_BYTES + 2] = '"';
    text[VALUE_INDEXED_BYTES + 3] = '\0';
    assert_string_equal(read_value(arena, &field, text), "!too_long");
    arena_free(arena);
}

/* The default length of varchar, and the maximum size of text. */
TEST(test_text_limits)
{
    struct arena *arena = arena_new(0);
    struct model_field field = field_of(TYPE_VARCHAR);
    char *text = arena_alloc(arena, VALUE_TEXT_BYTES + 8);

    memset(text, 'x', VALUE_TEXT_BYTES + 8);
    text[0] = '"';
    text[256] = '"';
    text[257] = '\0';
    assert_int_equal(strlen(read_value(arena, &field, text)), 255);
    text[256] = 'x';
    text[257] = '"';
    text[258] = '\0';
    assert_string_equal(read_value(arena, &field, text), "!too_long");
    field = field_of(TYPE_TEXT);
    text[257] = 'x';
    text[258] = 'x';
    text[VALUE_TEXT_BYTES + 1] = '"';
    text[VALUE_TEXT_BYTES + 2] = '\0';
    assert_int_equal(strlen(read_value(arena, &field, text)), VALUE_TEXT_BYTES);
    text[VALUE_TEXT_BYTES + 1] = 'x';
    text[VALUE_TEXT_BYTES + 2] = '"';
    text[VALUE_TEXT_BYTES + 3] = '\0';
    assert_string_equal(read_value(arena, &field, text), "!too_long");
    arena_free(arena);
}

TEST(test_integers)
{
    struct model_field field = field_of(TYPE_INTEGER);
    CHECK(field,
          {"9223372036854775807", "9223372036854775807"},
          {"-9223372036854775808", "-9223372036854775808"},
          {"9223372036854775808", "!json"},
          {"9007199254740993", "9007199254740993"},
          {"5.0", "5"},
          {"-0", "0"},
          {"1e3", "1000"},
          {"1e300", "!type_mismatch"},
          {"5.5", "!type_mismatch"},
          {"\"5\"", "!type_mismatch"},
          {"true", "!type_mismatch"});
    field.has_max = true;
    field.max = 9007199254740992.0; /* 2^53: the next integer is not a double */
    field.has_min = true;
    field.min = -1;
    CHECK(field,
          {"9007199254740992", "9007199254740992"},
          {"9007199254740993", "!out_of_range"},
          {"-1", "-1"},
          {"-2", "!out_of_range"});
}

TEST(test_floats)
{
    struct model_field field = field_of(TYPE_FLOAT);
    CHECK(field,
          {"1.5", "1.5"},
          {"2", "2"},
          {"1e308", "1e+308"},
          {"1e400", "!json"},
          {"\"NaN\"", "!type_mismatch"},
          {"\"1.5\"", "!type_mismatch"});
}

TEST(test_decimals)
{
    struct model_field field = field_of(TYPE_DECIMAL);
    CHECK(field,
          {"19.99", "19.99"},
          {"0.1", "0.1"},
          {"\"0.10\"", "0.10"},
          {"\"-1.5e2\"", "-1.5e2"},
          {"5", "5"},
          {"\"99999999999999999999999999999999999999\"", "99999999999999999999999999999999999999"},
          {"\"999999999999999999999999999999999999999\"", "!out_of_range"},
          {"\"1e37\"", "1e37"},
          {"\"1e38\"", "!out_of_range"},
          {"\"1e131071\"", "!type_mismatch"},
          {"\"1e-38\"", "1e-38"},
          {"\"1e-39\"", "!out_of_range"},
          {"\"0e99999999999999999999\"", "!out_of_range"},
          {"\"NaN\"", "!type_mismatch"},
          {"\"Infinity\"", "!type_mismatch"},
          {"\" 1\"", "!type_mismatch"},
          {"\"\"", "!type_mismatch"},
          {"false", "!type_mismatch"});
    field.has_min = true;
    field.min = 0.5;
    CHECK(field, {"0.5", "0.5"}, {"\"0.49\"", "!out_of_range"});
}

TEST(test_times)
{
    CHECK(field_of(TYPE_DATE),
          {"\"2024-02-29\"", "2024-02-29"},
          {"\"2023-02-29\"", "!pattern"},
          {"\"0000-01-01\"", "!out_of_range"},
          {"\"infinity\"", "!pattern"},
          {"\"2024-02-29T00:00:00Z\"", "!pattern"},
          {"20240229", "!type_mismatch"});
    CHECK(field_of(TYPE_DATETIME),
          {"\"2026-01-31T12:00:00+02:00\"", "2026-01-31T10:00:00.000Z"},
          {"\"2026-01-31T12:00:00.1239Z\"", "2026-01-31T12:00:00.123Z"},
          {"\"2026-01-31 12:00\"", "2026-01-31T12:00:00.000Z"},
          {"\"2026-01-31T12:00:00+0100\"", "2026-01-31T11:00:00.000Z"},
          {"\"2026-01-31\"", "2026-01-31T00:00:00.000Z"},
          {"\"2026-01-31 12\"", "!pattern"},
          {"\"now\"", "!pattern"},
          {"\"9999-12-31T23:59:59-01:00\"", "!out_of_range"},
          {"\"0001-01-01T00:00:00+01:00\"", "!out_of_range"},
          {"1", "!type_mismatch"});
}

TEST(test_small_types)
{
    struct model_field dangling = field_of(TYPE_ENUM);

    CHECK(field_of(TYPE_BOOL),
          {"true", "t"},
          {"false", "f"},
          {"1", "!type_mismatch"},
          {"\"true\"", "!type_mismatch"});
    CHECK(field_of(TYPE_ENUM),
          {"\"open\"", "open"},
          {"\"Open\"", "!out_of_range"},
          {"\"\"", "!out_of_range"},
          {"1", "!type_mismatch"});
    dangling.values = NULL;
    CHECK(dangling, {"\"open\"", "!out_of_range"});
    CHECK(field_of(TYPE_FILE),
          {"12", "12"},
          {"0", "!out_of_range"},
          {"-1", "!out_of_range"},
          {"\"12\"", "!type_mismatch"});
    CHECK(field_of(TYPE_RELATION), {"12", "12"}, {"0", "!out_of_range"}, {"[1]", "!type_mismatch"});
    CHECK(field_of(TYPE_JSON),
          {"{\"a\":[1,null]}", "{\"a\":[1,null]}"},
          {"\"x\"", "\"x\""},
          {"null", "null"});
}

TEST(test_links)
{
    struct model_field field = field_of(TYPE_RELATION);
    struct arena *arena = arena_new(0);
    struct strbuf many;

    field.is_many = true;
    CHECK(field,
          {"[3,1,2]", "3,1,2"},
          {"[]", ""},
          {"null", ""},
          {"[1,1]", "!out_of_range"},
          {"[0]", "!out_of_range"},
          {"[\"1\"]", "!type_mismatch"},
          {"1", "!type_mismatch"});
    field.required = true;
    CHECK(field, {"[]", "!required"}, {"null", "!required"});
    strbuf_init(&many, arena, 65536);
    for (int i = 0; i <= VALUE_LINKS_MAX; i++)
        strbuf_printf(&many, "%c%d", i == 0 ? '[' : ',', i + 1);
    strbuf_char(&many, ']');
    assert_string_equal(read_value(arena, &field, strbuf_cstring(&many)), "!too_long");
    arena_free(arena);
}

TEST(test_secrets)
{
    struct arena *arena = arena_new(0);
    struct model_field field = field_of(TYPE_SECRET);
    struct project *project = ARENA_NEW(arena, project);
    struct schema_errors errors = {0};
    const struct value_scope scope = {arena, project, &errors};
    json_t *text = json_string("hunter2");
    struct value value;
    struct str plain;

    project->number = 3;
    assert_true(value_read(&scope, &field, text, &value));
    assert_int_equal(value.param.kind, PARAM_BYTES);
    assert_int_equal(
        aead_open(arena, &project->data_key, 1, value.param.str, STR("p3:e7:f9"), &plain), 0);
    assert_true(str_is(plain, "hunter2"));
    assert_int_equal(
        aead_open(arena, &project->data_key, 1, value.param.str, STR("p3:e7:f8"), &plain),
        AEAD_BAD);
    assert_false(value_is_mask(&field, text));
    json_decref(text);
    text = json_string("********");
    assert_true(value_is_mask(&field, text));
    field.type = TYPE_TEXT;
    assert_false(value_is_mask(&field, text));
    json_decref(text);
    arena_free(arena);
}

static void check_cell(struct model_field field, const char *cell, const char *expected)
{
    struct arena *arena = arena_new(0);
    json_t *json = value_cell(&field, str_from(cell));
    const char *got = arena_cstr(arena, jr_print(arena, json));

    if (strcmp(got, expected) != 0)
        fail_msg("%s: %s, expected %s", cell, got, expected);
    json_decref(json);
    arena_free(arena);
}

TEST(test_cells)
{
    struct model_field links = field_of(TYPE_RELATION);

    check_cell(field_of(TYPE_INTEGER), " 12 ", "12");
    check_cell(field_of(TYPE_INTEGER), "1.5", "\"1.5\"");
    check_cell(field_of(TYPE_INTEGER), "9007199254740993", "9007199254740993");
    check_cell(field_of(TYPE_FLOAT), "1.5", "1.5");
    check_cell(field_of(TYPE_FLOAT), "inf", "\"inf\"");
    check_cell(field_of(TYPE_DECIMAL), "1.50", "\"1.50\"");
    check_cell(field_of(TYPE_BOOL), "Yes", "true");
    check_cell(field_of(TYPE_BOOL), "0", "false");
    check_cell(field_of(TYPE_BOOL), "2", "\"2\"");
    check_cell(field_of(TYPE_VARCHAR), " 12 ", "\" 12 \"");
    check_cell(field_of(TYPE_JSON), "{\"a\":1}", "{\"a\":1}");
    check_cell(field_of(TYPE_JSON), "{", "\"{\"");
    check_cell(links, "7", "7");
    links.is_many = true;
    check_cell(links, "[3,1]", "[3,1]");
    check_cell(links, "3; 1", "[3,1]");
    check_cell(links, "x", "[\"x\"]");
}
