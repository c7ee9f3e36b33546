/* Schemas: decoding of every type, errors with path, code and message, PUT-merge flags,
 * responses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "json/schema.h"

static const char *const kinds[] = {"round", "square", NULL};

struct part_in {
    struct in_str label;
    struct in_f64 price;
};
static const struct field part_fields[] = {
    {.name = "label", FIELD_AT(struct part_in, label), .type = FIELD_STR, .required = true},
    {.name = "price", FIELD_AT(struct part_in, price), .type = FIELD_F64, .nullable = true},
};
static const struct schema part_schema = SCHEMA("Part", struct part_in, part_fields);
static const struct field any_field = {.type = FIELD_JSON};
static const struct schema any_schema = {.name = "Any", .value = &any_field};

struct thing_in {
    struct in_str name;
    struct in_str kind;
    struct in_i64 count;
    struct in_f64 weight;
    struct in_bool active;
    struct in_str at;
    struct in_json extra;
    struct in_json meta;
    struct in_ids ids;
    struct in_strs tags;
    struct in_list items;
    struct in_obj main;
    struct in_obj anything;
    struct in_list anythings;
};
static const struct field thing_fields[] = {
    {.name = "name",
     FIELD_AT(struct thing_in, name),
     .type = FIELD_STR,
     .required = true,
     .min = 2,
     .max = 5},
    {.name = "kind",
     FIELD_AT(struct thing_in, kind),
     .type = FIELD_STR,
     .nullable = true,
     .values = kinds},
    {.name = "count",
     FIELD_AT(struct thing_in, count),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 500},
    {.name = "weight", FIELD_AT(struct thing_in, weight), .type = FIELD_F64, .has_min = true},
    {.name = "active", FIELD_AT(struct thing_in, active), .type = FIELD_BOOL},
    {.name = "at", FIELD_AT(struct thing_in, at), .type = FIELD_TIME},
    {.name = "extra", FIELD_AT(struct thing_in, extra), .type = FIELD_JSON},
    {.name = "meta", FIELD_AT(struct thing_in, meta), .type = FIELD_MAP},
    {.name = "ids", FIELD_AT(struct thing_in, ids), .type = FIELD_IDS, .max = 3},
    {.name = "tags",
     FIELD_AT(struct thing_in, tags),
     .type = FIELD_STRS,
     .min = 1,
     .format = "slug"},
    {.name = "items", FIELD_AT(struct thing_in, items), .type = FIELD_LIST, .sub = &part_schema},
    {.name = "main", FIELD_AT(struct thing_in, main), .type = FIELD_OBJ, .sub = &part_schema},
    {.name = "anything",
     FIELD_AT(struct thing_in, anything),
     .type = FIELD_OBJ,
     .sub = &any_schema},
    {.name = "anythings",
     FIELD_AT(struct thing_in, anythings),
     .type = FIELD_LIST,
     .sub = &any_schema},
};
static const struct schema thing_schema = SCHEMA("Thing", struct thing_in, thing_fields);

static struct arena *arena;
static struct schema_errors errors;
static struct thing_in thing;

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

static json_t *parse(const char *text)
{
    json_t *root = NULL;
    struct jr_error error;
    if (jr_parse(arena, str_from(text), &root, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    return root;
}

static bool decode(const char *text)
{
    memset(&errors, 0, sizeof(errors));
    memset(&thing, 0xff, sizeof(thing));
    return schema_decode(arena, &thing_schema, parse(text), &thing, &errors);
}

static void assert_finding(size_t i, const char *field, const char *code, const char *message)
{
    assert_true(i < errors.count);
    assert_string_equal(arena_cstr(arena, errors.items[i].field), field);
    assert_string_equal(errors.items[i].code, code);
    assert_string_equal(arena_cstr(arena, errors.items[i].message), message);
}

static void
assert_refused(const char *text, const char *field, const char *code, const char *message)
{
    if (decode(text))
        fail_msg("accepted %s", text);
    assert_int_equal(errors.count, 1);
    assert_finding(0, field, code, message);
}

TEST_WITH(test_every_type, setup, teardown)
{
    assert_true(decode("{\"name\":\"bolt\",\"kind\":\"round\",\"count\":7,\"weight\":2,"
                       "\"active\":true,\"at\":\"2026-01-31T12:00:00+02:00\",\"extra\":[1],"
                       "\"meta\":{\"k\":1},\"ids\":[1,-2,3.0],\"tags\":[\"a1\",\"b-2\"],"
                       "\"items\":[{\"label\":\"x\",\"price\":1.5},{\"label\":\"y\"}],"
                       "\"main\":{\"label\":\"m\",\"price\":null},\"anything\":{\"q\":1},"
                       "\"anythings\":[{\"q\":2}]}"));
    assert_true(thing.name.set && !thing.name.null && str_is(thing.name.value, "bolt"));
    assert_true(thing.kind.set && str_is(thing.kind.value, "round"));
    assert_true(thing.count.set && thing.count.value == 7);
    assert_true(thing.weight.set && thing.weight.value == 2.0);
    assert_true(thing.active.set && thing.active.value);
    assert_true(thing.at.set && str_is(thing.at.value, "2026-01-31T12:00:00+02:00"));
    assert_true(thing.extra.set && json_is_array(thing.extra.value));
    assert_true(thing.meta.set && json_object_size(thing.meta.value) == 1);
    assert_true(thing.ids.set && thing.ids.count == 3);
    assert_true(thing.ids.items[1] == -2 && thing.ids.items[2] == 3);
    assert_true(thing.tags.set && thing.tags.count == 2 && str_is(thing.tags.items[1], "b-2"));
    assert_true(thing.items.set && thing.items.count == 2);
    const struct part_in *parts = thing.items.items;
    assert_true(str_is(parts[0].label.value, "x") && parts[0].price.value == 1.5);
    assert_true(str_is(parts[1].label.value, "y") && !parts[1].price.set);
    const struct part_in *part = thing.main.value;
    assert_true(str_is(part->label.value, "m") && part->price.set && part->price.null);
    assert_int_equal(jr_i64(thing.anything.value, "q", 0), 1);
    json_t **anythings = thing.anythings.items;
    assert_int_equal(jr_i64(anythings[0], "q", 0), 2);
}

/* PUT merges distinguish an absent member, null and a value. */
TEST_WITH(test_merge_flags, setup, teardown)
{
    assert_true(decode("{\"name\":\"bolt\",\"count\":null,\"extra\":null,\"items\":[]}"));
    assert_false(thing.kind.set || thing.kind.null);
    assert_false(thing.weight.set || thing.active.set || thing.ids.set || thing.main.set);
    assert_true(thing.count.set && thing.count.null && thing.count.value == 0);
    assert_true(thing.extra.set && thing.extra.null && json_is_null(thing.extra.value));
    assert_true(thing.items.set && !thing.items.null && thing.items.count == 0);
    assert_true(thing.name.set && !thing.name.null);
    assert_refused("{\"name\":null}", "name", "type_mismatch", "must not be null");
}

TEST_WITH(test_types, setup, teardown)
{
    static const struct {
        const char *body;
        const char *field;
        const char *message;
    } cases[] = {
        {"{\"name\":1}", "name", "expected a string"},
        {"{\"name\":\"ab\",\"count\":\"1\"}", "count", "expected an integer"},
        {"{\"name\":\"ab\",\"count\":1.5}", "count", "expected an integer"},
        {"{\"name\":\"ab\",\"count\":true}", "count", "expected an integer"},
        {"{\"name\":\"ab\",\"weight\":\"1\"}", "weight", "expected a number"},
        {"{\"name\":\"ab\",\"active\":1}", "active", "expected true or false"},
        {"{\"name\":\"ab\",\"at\":1}", "at", "expected a string"},
        {"{\"name\":\"ab\",\"meta\":[]}", "meta", "expected an object"},
        {"{\"name\":\"ab\",\"ids\":1}", "ids", "expected an array"},
        {"{\"name\":\"ab\",\"ids\":[1,\"2\"]}", "ids[1]", "expected an integer"},
        {"{\"name\":\"ab\",\"tags\":[\"ab\",2]}", "tags[1]", "expected a string"},
        {"{\"name\":\"ab\",\"items\":{}}", "items", "expected an array"},
        {"{\"name\":\"ab\",\"items\":[1]}", "items[0]", "expected an object"},
        {"{\"name\":\"ab\",\"main\":[]}", "main", "expected an object"},
        {"{\"name\":\"ab\",\"main\":{\"label\":1}}", "main.label", "expected a string"},
        {"{\"name\":\"ab\",\"anything\":1}", "anything", "expected an object"},
        {"{\"name\":\"ab\",\"items\":[{\"label\":\"\"},{\"label\":\"\"},{\"label\":\"\"},"
         "{\"label\":\"\",\"price\":\"1\"}]}",
         "items[3].price",
         "expected a number"},
        {"[]", "", "expected an object"},
        {"null", "", "expected an object"},
        {"1", "", "expected an object"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].body, cases[i].field, "type_mismatch", cases[i].message);
}

TEST_WITH(test_text_limits, setup, teardown)
{
    /* Five code points, fifteen bytes. */
    assert_true(
        decode("{\"name\":\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\"}"));
    assert_refused("{\"name\":\"abcdef\"}", "name", "too_long", "must be at most 5 characters");
    assert_refused(
        "{\"name\":\"\xe2\x82\xac\"}", "name", "out_of_range", "must be at least 2 characters");
    assert_refused("{\"name\":\"ab\",\"kind\":\"oval\"}",
                   "kind",
                   "out_of_range",
                   "must be one of: round, square");
    assert_refused(
        "{\"name\":\"ab\",\"kind\":\"\"}", "kind", "out_of_range", "must be one of: round, square");
    assert_refused("{\"name\":\"ab\",\"at\":\"yesterday\"}",
                   "at",
                   "pattern",
                   "must be a time such as 2026-01-31T12:00:00Z");
    assert_refused("{\"name\":\"ab\",\"tags\":[\"ok\",\"Not\"]}",
                   "tags[1]",
                   "pattern",
                   "must be 2 to 48 characters of a-z, 0-9 and \"-\", starting with a letter");
}

TEST_WITH(test_default_text_limit, setup, teardown)
{
    static char body[65536 + 100];
    const struct field field = {
        .name = "label", FIELD_AT(struct part_in, label), .type = FIELD_STR};
    const struct schema schema = {
        .name = "One", .fields = &field, .count = 1, .struct_bytes = sizeof(struct part_in)};
    for (size_t extra = 0; extra < 2; extra++) {
        struct part_in part;
        memset(&errors, 0, sizeof(errors));
        memset(body, 'x', sizeof(body));
        memcpy(body, "{\"label\":\"", 10);
        memcpy(body + 10 + 65536 + extra, "\"}", 3);
        assert_int_equal(schema_decode(arena, &schema, parse(body), &part, &errors), extra == 0);
    }
    assert_finding(0, "label", "too_long", "must be at most 65536 characters");
}

TEST_WITH(test_number_limits, setup, teardown)
{
    assert_true(decode("{\"name\":\"ab\",\"count\":1}"));
    assert_true(decode("{\"name\":\"ab\",\"count\":5e2}") && thing.count.value == 500);
    assert_true(decode("{\"name\":\"ab\",\"count\":5.0}") && thing.count.value == 5);
    assert_true(decode("{\"name\":\"ab\",\"ids\":[9007199254740993,9007199254740992.0]}"));
    assert_true(thing.ids.items[0] == 9007199254740993 && thing.ids.items[1] == 9007199254740992);
    const char *range = "must be between 1 and 500";
    assert_refused("{\"name\":\"ab\",\"count\":0}", "count", "out_of_range", range);
    assert_refused("{\"name\":\"ab\",\"count\":-0}", "count", "out_of_range", range);
    assert_refused("{\"name\":\"ab\",\"count\":501}", "count", "out_of_range", range);
    assert_refused(
        "{\"name\":\"ab\",\"weight\":-0.5}", "weight", "out_of_range", "must be at least 0");
    assert_refused("{\"name\":\"ab\",\"ids\":[9007199254740994.0]}",
                   "ids[0]",
                   "out_of_range",
                   "must be written as an integer without an exponent");
    assert_refused("{\"name\":\"ab\",\"ids\":[1e300]}",
                   "ids[0]",
                   "out_of_range",
                   "must be written as an integer without an exponent");
}

TEST_WITH(test_list_limits, setup, teardown)
{
    assert_refused(
        "{\"name\":\"ab\",\"ids\":[1,2,3,4]}", "ids", "too_long", "must have at most 3 items");
    assert_refused(
        "{\"name\":\"ab\",\"tags\":[]}", "tags", "out_of_range", "must have at least 1 items");
    static char body[16000];
    size_t len = (size_t)sprintf(body, "{\"name\":\"ab\",\"items\":[");
    for (int i = 0; i <= 1000; i++)
        len += (size_t)sprintf(body + len, "{},");
    memcpy(body + len - 1, "]}", 3);
    assert_refused(body, "items", "too_long", "must have at most 1000 items");
}

TEST_WITH(test_members, setup, teardown)
{
    assert_refused("{}", "name", "required", "is required");
    assert_refused("{\"name\":\"ab\",\"main\":{}}", "main.label", "required", "is required");
    assert_refused("{\"name\":\"ab\",\"nam\":1}", "nam", "unknown_field", "is not a known field");
    assert_refused("{\"name\":\"ab\",\"\":1}", "", "unknown_field", "is not a known field");
    assert_refused("{\"name\":\"ab\",\"main\":{\"label\":\"x\",\"\":1}}",
                   "main.",
                   "unknown_field",
                   "is not a known field");
    assert_refused("{\"name\":\"ab\",\"id\":1}", "id", "read_only", "is set by the service");
    assert_refused(
        "{\"name\":\"ab\",\"created_at\":1}", "created_at", "read_only", "is set by the service");
    assert_refused("{\"name\":\"ab\",\"main\":{\"label\":\"x\",\"updated_at\":null}}",
                   "main.updated_at",
                   "read_only",
                   "is set by the service");
    assert_false(decode("{\"count\":\"x\",\"zz\":1,\"weight\":[]}"));
    assert_int_equal(errors.count, 4);
    assert_finding(0, "name", "required", "is required");
    assert_finding(1, "count", "type_mismatch", "expected an integer");
    assert_finding(2, "weight", "type_mismatch", "expected a number");
    assert_finding(3, "zz", "unknown_field", "is not a known field");
}

TEST_WITH(test_open_schema_and_own_id, setup, teardown)
{
    struct id_in {
        struct in_i64 id;
    };
    const struct field field = {.name = "id", FIELD_AT(struct id_in, id), .type = FIELD_I64};
    struct schema schema = {
        .name = "Id", .fields = &field, .count = 1, .struct_bytes = sizeof(struct id_in)};
    struct id_in in;
    memset(&errors, 0, sizeof(errors));
    assert_true(schema_decode(arena, &schema, parse("{\"id\":3}"), &in, &errors));
    assert_int_equal(in.id.value, 3);
    schema.allows_unknown = true;
    assert_true(schema_decode(arena, &schema, parse("{\"x\":1,\"created_at\":1}"), &in, &errors));
    assert_false(in.id.set);
    assert_true(schema_decode(arena, &any_schema, parse("{\"x\":1}"), NULL, &errors));
    assert_false(schema_decode(arena, &any_schema, parse("[]"), NULL, &errors));
}

TEST_WITH(test_many_findings, setup, teardown)
{
    struct strbuf body;
    strbuf_init(&body, arena, 1 << 20);
    strbuf_cstr(&body, "{\"name\":\"ab\"");
    for (int i = 0; i < 50; i++)
        strbuf_printf(&body, ",\"x%d\":1", i);
    strbuf_cstr(&body, "}");
    assert_false(decode(strbuf_cstring(&body)));
    assert_int_equal(errors.count, 50);
    assert_finding(19, "x19", "unknown_field", "is not a known field");
    schema_error_add(arena, &errors, STR("late"), PROBLEM_PATTERN, "%d", 1);
    assert_int_equal(errors.count, 51);
    struct schema_errors own = {.count = 0};
    schema_error_add(arena, &own, STR("a"), PROBLEM_PATTERN, "must be %d", 1);
    assert_true(str_is(own.items[0].field, "a") && str_is(own.items[0].message, "must be 1"));
}

/* A caller's long names are shortened in errors, and stay UTF-8. */
TEST_WITH(test_long_unknown_name, setup, teardown)
{
    struct strbuf body;
    strbuf_init(&body, arena, 1 << 20);
    strbuf_cstr(&body, "{\"name\":\"ab\",\"");
    for (int i = 0; i < 1000; i++)
        strbuf_cstr(&body, "\xe2\x82\xac");
    strbuf_cstr(&body, "\":1}");
    assert_false(decode(strbuf_cstring(&body)));
    assert_int_equal(errors.items[0].field.len, 99);
    assert_true(utf8_valid(errors.items[0].field));
}

TEST_WITH(test_formats, setup, teardown)
{
    static const struct {
        const char *format;
        const char *good[6];
        const char *bad[20];
    } cases[] = {
        {"email",
         {"a@b.c",
          "first.last+tag@sub.example.com",
          "o'neil@x-y.org",
          "root@localhost",
          "\xc3\xa9@b.c",
          "josé@bücher.example"},
         {"",
          "a",
          "@",
          "a@",
          "@b.c",
          "a b@c.d",
          "a@b c",
          "a@b..c",
          ".a@b.c",
          "a..b@c.d",
          "a@-b.c",
          "a@b@c",
          "a@b.c\n",
          "a\xc2\xa0@b.c",
          "a\xe2\x80\xae@b.c",
          "a@\xe2\x80\x8b.c",
          "\xc3@b.c",
          "a@[127.0.0.1]"}},
        {"slug",
         {"ab", "a-b-1"},
         {"",
          "a",
          "1a",
          "-a",
          "aB",
          "a_b",
          "a b",
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
        {"name",
         {"a", "a_1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
         {"",
          "_a",
          "1",
          "A",
          "a-b",
          "a'b",
          "a\"b",
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
        {"url",
         {"http://a", "HTTPS://example.com:8443/p?q=1#f", "http://[::1]:80/", "http://u@h/"},
         {"",
          "http:",
          "http://",
          "http:///p",
          "ftp://a",
          "//a",
          "/a",
          "javascript:alert(1)",
          "http://a b",
          "http://a\n",
          "http://a\\b",
          "http://a:0",
          "http://a:65536",
          "http://a:x",
          "http://[::1"}},
        {"date", {"2026-01-31", "2024-02-29"}, {"", "2026-02-29", "2026-1-1", "20260131"}},
        {"date-time",
         {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123+01:00"},
         {"", "2026-01-31", "2026-01-31T25:00:00Z", "2026-01-31T12:00:00"}},
        {"uuid",
         {"123e4567-e89b-42d3-a456-426614174000", "123E4567-E89B-42D3-A456-426614174000"},
         {"",
          "123e4567e89b42d3a456426614174000",
          "123e4567-e89b-42d3-a456-42661417400g",
          "123e4567-e89b-42d3-a456-4266141740000"}},
        {"color", {"#fff", "#A0b1C2", "#a0b1c2d3"}, {"", "fff", "#ff", "#ggg", "#ffff1"}},
        {"password", {"", "any thing"}, {NULL}},
        {"never_heard_of", {"x"}, {NULL}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t j = 0; j < ARRAY_LEN(cases[i].good) && cases[i].good[j]; j++)
            if (!schema_format_ok(cases[i].format, str_from(cases[i].good[j])))
                fail_msg("%s refuses \"%s\"", cases[i].format, cases[i].good[j]);
        for (size_t j = 0; j < ARRAY_LEN(cases[i].bad) && cases[i].bad[j]; j++)
            if (schema_format_ok(cases[i].format, str_from(cases[i].bad[j])))
                fail_msg("%s accepts \"%s\"", cases[i].format, cases[i].bad[j]);
    }
    assert_false(schema_format_ok("url", STR("http://a\0b")));
    assert_false(schema_format_ok("email", STR("a\0@b.c")));
}

/* 64 + 1 + 189 bytes are the longest address. */
TEST_WITH(test_email_length, setup, teardown)
{
    char text[300];
    memset(text, 'a', sizeof(text));
    text[64] = '@';
    for (size_t at = 64 + 50; at < 254; at += 50)
        text[at] = '.';
    assert_true(schema_format_ok("email", (struct str){text, 254}));
    assert_false(schema_format_ok("email", (struct str){text, 255}));
    text[64] = 'a';
    text[65] = '@';
    assert_false(schema_format_ok("email", (struct str){text, 100}));
}

/* Objects that their reader checks are passed on unchanged. */
TEST_WITH(test_loose, setup, teardown)
{
    struct loose_in {
        struct in_list list;
        struct in_obj one;
    } in;
    static const struct field inner[] = {{.name = "key", .type = FIELD_STR, .required = true}};
    static const struct schema loose = {
        .name = "Loose", .fields = inner, .count = ARRAY_LEN(inner), .is_unchecked = true};
    const struct field fields[] = {
        {.name = "list", FIELD_AT(struct loose_in, list), .type = FIELD_LIST, .sub = &loose},
        {.name = "one", FIELD_AT(struct loose_in, one), .type = FIELD_OBJ, .sub = &loose},
    };
    const struct schema schema = SCHEMA("Holder", struct loose_in, fields);

    memset(&errors, 0, sizeof(errors));
    const json_t *body = parse("{\"list\":[{\"x\":1},{}],\"one\":{\"key\":5}}");
    assert_true(schema_decode(arena, &schema, body, &in, &errors));
    assert_int_equal(in.list.count, 2);
    assert_ptr_equal(((json_t **)in.list.items)[1],
                     json_array_get(json_object_get(body, "list"), 1));
    assert_ptr_equal(in.one.value, json_object_get(body, "one"));
    assert_false(schema_decode(arena, &schema, parse("{\"list\":[5]}"), &in, &errors));
    assert_finding(0, "list[0]", "type_mismatch", "expected an object");
}
