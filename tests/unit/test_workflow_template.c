/* Templates: grammar, types, errors that name what is missing, limits. Data is never evaluated
 * as a template. */
#include "unit.h"

#include "workflow/template.h"
#include "workflow_json.h"

static void drop(void *value)
{
    json_decref(value);
}

static struct str secret_of(struct str name, void *arg)
{
    assert_ptr_equal(arg, arena);
    return str_is(name, "API_KEY")  ? STR("s3cret {{ $svc.trigger.id }}")
           : str_is(name, "BINARY") ? STR("\xff\xfe")
                                    : STR_NONE;
}

static struct template_context context(const json_t *root, bool secrets)
{
    return (struct template_context){
        .root = root, .secret = secrets ? secret_of : NULL, .secret_arg = arena};
}

static const char root_text[] =
    "{\"trigger\":{\"kind\":\"event\",\"event\":\"EntityCreated\",\"entity_name\":\"orders\","
    "\"id\":7,\"data\":{\"total\":12.5,\"paid\":true,\"note\":null,\"name\":\"Ann\","
    "\"evil\":\"{{ $svc.secrets.API_KEY }}\",\"half\":\"{{\",\"odd key\":1,\"q\\\"k\":2,\"\":3,"
    "\"big\":9007199254740993,\"empty\":[],\"items\":[{\"sku\":\"a\",\"tags\":[1,2]},"
    "{\"sku\":\"b\",\"tags\":[3]}]}},"
    "\"steps\":{\"find\":{\"data\":[{\"id\":5,\"name\":\"x\"}]},\"none\":{\"data\":[]},"
    "\"a-b_1\":{\"data\":1}},"
    "\"workflow\":{\"id\":3,\"name\":\"W\"},\"job\":{\"id\":90}}";

/* --- values --- */

static const struct {
    const char *template;
    const char *result;
} rows[] = {
    /* one expression keeps its type */
    {"\"{{ $svc.trigger.id }}\"", "7"},
    {"\"{{$svc.trigger.id}}\"", "7"},
    {"\"{{\\n\\t $svc.trigger.id \\r\\n}}\"", "7"},
    {"\"{{ $svc.trigger.data.total }}\"", "12.5"},
    {"\"{{ $svc.trigger.data.big }}\"", "9007199254740993"},
    {"\"{{ $svc.trigger.data.paid }}\"", "true"},
    {"\"{{ $svc.trigger.data.note }}\"", "null"},
    {"\"{{ $svc.trigger.data.name }}\"", "\"Ann\""},
    {"\"{{ $svc.trigger.data.items[1] }}\"", "{\"sku\":\"b\",\"tags\":[3]}"},
    {"\"{{ $svc.trigger.data.items[1].tags[0] }}\"", "3"},
    {"\"{{ $svc.steps.find.data[0].id }}\"", "5"},
    {"\"{{ $svc.steps.find.data }}\"", "[{\"id\":5,\"name\":\"x\"}]"},
    {"\"{{ $svc.steps.a-b_1.data }}\"", "1"},
    {"\"{{ $svc.workflow.name }}\"", "\"W\""},
    {"\"{{ $svc.job.id }}\"", "90"},
    {"\"{{ $svc.job }}\"", "{\"id\":90}"},
    {"\"{{ $svc.trigger.data[\\\"odd key\\\"] }}\"", "1"},
    {"\"{{ $svc.trigger.data[\\\"q\\\\\\\"k\\\"] }}\"", "2"},
    {"\"{{ $svc.trigger.data[\\\"\\\"] }}\"", "3"},
    {"\"{{ $svc.trigger.data[\\\"name\\\"] }}\"", "\"Ann\""},
    /* every item */
    {"\"{{ $svc.trigger.data.items[*].sku }}\"", "[\"a\",\"b\"]"},
    {"\"{{ $svc.trigger.data.items[*] }}\"",
     "[{\"sku\":\"a\",\"tags\":[1,2]},{\"sku\":\"b\",\"tags\":[3]}]"},
    {"\"{{ $svc.trigger.data.items[*].tags[*] }}\"", "[1,2,3]"},
    {"\"{{ $svc.trigger.data.items[*].tags[0] }}\"", "[1,3]"},
    {"\"{{ $svc.trigger.data.empty[*].sku }}\"", "[]"},
    /* within text */
    {"\"{{ $svc.trigger.id }} \"", "\"7 \""},
    {"\" {{ $svc.trigger.id }}\"", "\" 7\""},
    {"\"Dear {{ $svc.trigger.data.name }}, {{ $svc.trigger.data.total }}!\"",
     "\"Dear Ann, 12.5!\""},
    {"\"{{ $svc.trigger.id }}{{ $svc.job.id }}\"", "\"790\""},
    {"\"<{{ $svc.trigger.data.note }}>\"", "\"<>\""},
    {"\"<{{ $svc.trigger.data.paid }}>\"", "\"<true>\""},
    {"\"<{{ $svc.trigger.data.items[1] }}>\"", "\"<{\\\"sku\\\":\\\"b\\\",\\\"tags\\\":[3]}>\""},
    {"\"<{{ $svc.trigger.data.empty }}>\"", "\"<[]>\""},
    {"\"{{ $svc.trigger.data.note }}{{ $svc.trigger.data.note }}\"", "\"\""},
    {"\"\\u00e9 {{ $svc.trigger.data.name }} \\ud83d\\ude00\"",
     "\"\xc3\xa9 Ann \xf0\x9f\x98\x80\""},
    /* X1: evaluated once */
    {"\"{{ $svc.trigger.data.evil }}\"", "\"{{ $svc.secrets.API_KEY }}\""},
    {"\"{{ $svc.trigger.data.half }} $svc.trigger.id }}\"", "\"{{ $svc.trigger.id }}\""},
    {"\"x {{ $svc.trigger.data.evil }}\"", "\"x {{ $svc.secrets.API_KEY }}\""},
    /* no template */
    {"\"\"", "\"\""},
    {"\"{ } }} { {\"", "\"{ } }} { {\""},
    {"\"$svc.trigger.id\"", "\"$svc.trigger.id\""},
    {"5", "5"},
    {"null", "null"},
    {"[1,{\"a\":false}]", "[1,{\"a\":false}]"},
    /* any depth, names are left alone, order is kept */
    {"{\"z\":\"{{ $svc.trigger.id }}\",\"a\":[{\"b\":\"{{ $svc.job.id }}\"},2],\"{{ x\":1}",
     "{\"z\":7,\"a\":[{\"b\":90},2],\"{{ x\":1}"},
};

TEST_WITH(test_values, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), false);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str error = STR_NONE;
        json_t *result;
        json_t *value = json(str_from(rows[i].template));
        struct str before = jr_print(arena, value);
        if (template_eval(arena, value, &ctx, &result, &error) != 0)
            fail_msg("%s: %.*s", rows[i].template, STR_ARG(error));
        struct str text = jr_print(arena, result);
        if (!str_is(text, rows[i].result))
            fail_msg("%s: %.*s", rows[i].template, STR_ARG(text));
        assert_true(str_eq(before, jr_print(arena, value)));
    }
}

TEST_WITH(test_sharing, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), false);
    json_t *value = json(str_from("{\"plain\":[1,2],\"text\":\"{{ $svc.trigger.data }}\"}"));
    struct str error;
    json_t *result;

    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    assert_ptr_not_equal(result, value);
    assert_ptr_equal(json_object_get(result, "plain"), json_object_get(value, "plain"));
    value = json_object_get(value, "plain");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    assert_ptr_equal(result, value);
}

/* --- errors --- */

static const struct {
    const char *template;
    int rc;
    const char *error; /* a part of the message */
} wrong[] = {
    /* missing values name the expression and what is missing */
    {"\"{{ $svc.steps.none.data[0].id }}\"",
     TEMPLATE_UNRESOLVED,
     "$svc.steps.none.data[0].id does not resolve: data has 0 items"},
    {"\"{{ $svc.steps.find.data[0].nix }}\"", TEMPLATE_UNRESOLVED, "data[0] has no member \"nix\""},
    {"\"{{ $svc.steps.nope.data }}\"", TEMPLATE_UNRESOLVED, "step \"nope\" has not run"},
    {"\"{{ $svc.trigger.data.name.x }}\"", TEMPLATE_UNRESOLVED, "name is a text, not an object"},
    {"\"{{ $svc.trigger.data.total[0] }}\"",
     TEMPLATE_UNRESOLVED,
     "total is a number, not an array"},
    {"\"{{ $svc.trigger.data.note.x }}\"", TEMPLATE_UNRESOLVED, "note is null"},
    {"\"{{ $svc.trigger.data.paid.x }}\"", TEMPLATE_UNRESOLVED, "paid is a boolean"},
    {"\"{{ $svc.trigger.data.items.x }}\"",
     TEMPLATE_UNRESOLVED,
     "items is an array, not an object"},
    {"\"{{ $svc.trigger.data[0] }}\"", TEMPLATE_UNRESOLVED, "data is an object, not an array"},
    {"\"{{ $svc.trigger.data[*] }}\"", TEMPLATE_UNRESOLVED, "data is an object, not an array"},
    {"\"{{ $svc.trigger.data.items[*].nix }}\"",
     TEMPLATE_UNRESOLVED,
     "item 0 of items[*] has no member \"nix\""},
    {"\"{{ $svc.trigger.data.items[*].tags[1] }}\"",
     TEMPLATE_UNRESOLVED,
     "item 1 of tags has 1 items"},
    {"\"{{ $svc.trigger.nix }}\"", TEMPLATE_UNRESOLVED, "trigger has no member \"nix\""},
    {"{\"body\":{\"items\":[1,{\"name\":\"{{ $svc.trigger.data.nix }}\"}]}}",
     TEMPLATE_UNRESOLVED,
     "body.items[1].name: $svc.trigger.data.nix does not resolve"},
    {"[\"ok\",\"x {{ $svc.trigger.data.nix }}\"]", TEMPLATE_UNRESOLVED, "[1]: $svc.trigger"},
    /* X2 */
    {"\"{{ $svc.trigger.data.__proto__ }}\"", TEMPLATE_UNRESOLVED, "no member \"__proto__\""},
    {"\"{{ $svc.trigger.data.constructor }}\"", TEMPLATE_UNRESOLVED, "no member \"constructor\""},
    {"\"{{ $svc.trigger.data.items.length }}\"", TEMPLATE_UNRESOLVED, "items is an array"},
    {"\"{{ $svc.trigger.data.items[999999999] }}\"", TEMPLATE_UNRESOLVED, "items has 2 items"},
    {"\"{{ $svc.trigger.data.items[-1] }}\"", TEMPLATE_SYNTAX, "expected a number from 0"},
    {"\"{{ $svc.trigger.data.items[9999999999] }}\"", TEMPLATE_SYNTAX, "at most nine digits"},
    {"\"{{ $svc.trigger.data.items[18446744073709551616] }}\"", TEMPLATE_SYNTAX, "nine digits"},
    {"\"{{ $svc.trigger.data.items[01] }}\"", TEMPLATE_SYNTAX, "leading zeros"},
    /* syntax */
    {"\"{{ $svc.trigger.id\"", TEMPLATE_SYNTAX, "is not closed"},
    {"\"a {{\"", TEMPLATE_SYNTAX, "is not closed"},
    {"\"{{ $svc.trigger.id }\"", TEMPLATE_SYNTAX, "is not closed"},
    {"\"{{}}\"", TEMPLATE_SYNTAX, "begins with $svc"},
    {"\"{{ }}\"", TEMPLATE_SYNTAX, "begins with $svc"},
    {"\"{{ 1 + 1 }}\"", TEMPLATE_SYNTAX, "begins with $svc"},
    {"\"{{ $svc }}\"",
     TEMPLATE_SYNTAX,
     "expected .trigger, .steps, .secrets, .workflow or .job after $svc"},
    {"\"{{ $svcx.trigger }}\"",
     TEMPLATE_SYNTAX,
     "expected .trigger, .steps, .secrets, .workflow or .job after $svc"},
    {"\"{{ $svc.env.HOME }}\"",
     TEMPLATE_SYNTAX,
     "expected .trigger, .steps, .secrets, .workflow or .job after $svc"},
    {"\"{{ $svc. }}\"", TEMPLATE_SYNTAX, "expected a name"},
    {"\"{{ $svc.trigger. }}\"", TEMPLATE_SYNTAX, "expected a name"},
    {"\"{{ $svc.trigger..id }}\"", TEMPLATE_SYNTAX, "expected a name"},
    {"\"{{ $svc.trigger.data[ }}\"", TEMPLATE_SYNTAX, "expected a number"},
    {"\"{{ $svc.trigger.data[0 }}\"", TEMPLATE_SYNTAX, "expected \\\"]\\\""},
    {"\"{{ $svc.trigger.data[*.x }}\"", TEMPLATE_SYNTAX, "expected \\\"]\\\""},
    {"\"{{ $svc.trigger.data[\\\"x }}\"", TEMPLATE_SYNTAX, "not closed"},
    {"\"{{ $svc.trigger.data[\\\"\\\\n\\\"] }}\"", TEMPLATE_SYNTAX, "escapes"},
    {"\"{{ $svc.trigger.id | upper }}\"", TEMPLATE_SYNTAX, "after the reference"},
    {"\"{{ $svc.trigger.id; }}\"", TEMPLATE_SYNTAX, "after the reference"},
    {"\"{{{ $svc.trigger.id }}}\"", TEMPLATE_SYNTAX, "begins with $svc"},
    {"\"{{ {{ $svc.trigger.id }} }}\"", TEMPLATE_SYNTAX, "begins with $svc"},
    {"\"{{ $svc.steps }}\"", TEMPLATE_SYNTAX, "key of a step"},
    {"\"{{ $svc.steps[0] }}\"", TEMPLATE_SYNTAX, "key of a step"},
    {"\"{{ $svc.steps[*].data }}\"", TEMPLATE_SYNTAX, "key of a step"},
    {"\"{{ $svc.secrets }}\"", TEMPLATE_SYNTAX, "name of a secret"},
    {"\"{{ $svc.secrets[*] }}\"", TEMPLATE_SYNTAX, "name of a secret"},
    {"\"{{ $svc.secrets.A.b }}\"", TEMPLATE_SYNTAX, "name of a secret"},
    {"{\"a\":\"{{ x }}\"}", TEMPLATE_SYNTAX, "a: \\\"x"},
    /* secrets */
    {"\"{{ $svc.secrets.API_KEY }}\"", TEMPLATE_FORBIDDEN, "$svc.secrets.API_KEY"},
};

/* Whether the error contains the part. The table writes \" as in JSON, so backslashes are left
 * out. */
static bool has(struct str error, const char *part)
{
    char text[256];
    size_t len = 0;

    for (; *part != '\0'; part++)
        if (*part != '\\')
            text[len++] = *part;
    return memmem(error.ptr, error.len, text, len) != NULL;
}

TEST_WITH(test_errors, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), false);

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct str error = STR_NONE;
        json_t *result;
        int rc = template_eval(arena, json(str_from(wrong[i].template)), &ctx, &result, &error);
        if (rc != wrong[i].rc || !has(error, wrong[i].error))
            fail_msg("%s: %d %.*s", wrong[i].template, rc, STR_ARG(error));
    }
}

TEST_WITH(test_secrets, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), true);
    struct str error;
    json_t *result;

    json_t *value = json(str_from("{\"Authorization\":\"Bearer {{ $svc.secrets.API_KEY }}\","
                                  "\"b\":\"{{ $svc.secrets[\\\"API_KEY\\\"] }}\"}"));
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    assert_string_equal(json_string_value(json_object_get(result, "Authorization")),
                        "Bearer s3cret {{ $svc.trigger.id }}");
    assert_string_equal(json_string_value(json_object_get(result, "b")),
                        "s3cret {{ $svc.trigger.id }}");
    value = json(str_from("\"{{ $svc.secrets.NONE }}\""));
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_UNRESOLVED);
    assert_true(has(error, "there is no secret \"NONE\""));
    value = json(str_from("\"{{ $svc.secrets.BINARY }}\""));
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_UNRESOLVED);
}

TEST_WITH(test_no_payload, set_up, tear_down)
{
    static const char *const roots[] = {
        "{\"trigger\":{\"data\":null}}", "{\"trigger\":{}}", "{\"trigger\":{\"data\":{}}}"};

    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        struct template_context ctx = context(json(str_from(roots[i])), false);
        struct str error;
        json_t *result;
        json_t *value = json(str_from("\"{{ $svc.trigger.data }}\""));
        assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
        assert_true(json_is_object(result) && json_object_size(result) == 0);
        value = json(str_from("\"{{ $svc.trigger.data.x }}\""));
        assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_UNRESOLVED);
        assert_true(has(error, "data has no member \"x\""));
    }
}

/* --- limits --- */

/* Returns the text "<before><part><part>...<after>" as a JSON string. */
static json_t *repeated(const char *before, const char *part, size_t times, const char *after)
{
    struct strbuf out;

    strbuf_init(&out, arena, 64 << 20);
    strbuf_cstr(&out, before);
    for (size_t i = 0; i < times; i++)
        strbuf_cstr(&out, part);
    strbuf_cstr(&out, after);
    assert_false(out.overflow);
    json_t *value = json_stringn(out.ptr, out.len);
    arena_defer(arena, drop, value);
    return value;
}

TEST_WITH(test_deep_paths, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), false);
    struct str error;
    json_t *result;

    json_t *value = repeated("{{ $svc.trigger.data", ".a", 10000, " }}");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_SYNTAX);
    assert_true(has(error, "at most 64 parts"));
    assert_true(error.len < 400);
    value = repeated("{{ $svc.trigger.data", "[0]", 62, " }}");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_UNRESOLVED);
    value = repeated("{{ $svc.trigger.data", "[0]", 63, " }}");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_SYNTAX);
    value = repeated("", "{{", 100000, "");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_SYNTAX);
    value = repeated("{{ $svc.trigger.data[\"", "\xc3\xa9", 1000, "\"] }}");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_UNRESOLVED);
    json_t *shown = json_stringn(error.ptr, error.len); /* NULL when not UTF-8 */
    assert_non_null(shown);
    json_decref(shown);
}

static json_t *with_data(json_t *data)
{
    json_t *root = json_pack("{s:{s:O}}", "trigger", "data", data);

    arena_defer(arena, drop, root);
    return root;
}

TEST_WITH(test_size, set_up, tear_down)
{
    struct str error;
    json_t *result;
    struct template_context ctx = context(with_data(repeated("", "x", 1000, "")), false);

    json_t *value = repeated("", "{{ $svc.trigger.data }}", 1048, "");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    assert_int_equal(json_string_length(result), 1048000);
    value = repeated("", "{{ $svc.trigger.data }}", 1049, "");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_TOO_LARGE);

    /* whole values, each small enough */
    json_t *list = json_array();
    arena_defer(arena, drop, list);
    for (int i = 0; i < 1100; i++)
        json_array_append_new(list, json_string("{{ $svc.trigger.data }}"));
    assert_int_equal(template_eval(arena, list, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
    assert_true(has(error, "["));

    /* exactly at the limit, with the quotes */
    ctx = context(with_data(repeated("", "x", TEMPLATE_MAX_BYTES - 2, "")), false);
    value = json(str_from("\"{{ $svc.trigger.data }}\""));
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    ctx = context(with_data(repeated("", "x", TEMPLATE_MAX_BYTES - 1, "")), false);
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
}

static json_t *nested(size_t depth)
{
    struct strbuf out;

    strbuf_init(&out, arena, 4096);
    for (size_t i = 0; i < depth; i++)
        strbuf_char(&out, '[');
    for (size_t i = 0; i < depth; i++)
        strbuf_char(&out, ']');
    return json(str_from(strbuf_cstring(&out)));
}

TEST_WITH(test_depth, set_up, tear_down)
{
    json_t *value = json(str_from("\"{{ $svc.trigger.data }}\""));
    json_t *inside = json(str_from("[[\"{{ $svc.trigger.data }}\"]]"));
    json_t *mixed = json(str_from("\"x{{ $svc.trigger.data }}\""));
    struct str error;
    json_t *result;

    struct template_context ctx = context(with_data(nested(TEMPLATE_MAX_DEPTH)), false);
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
    assert_int_equal(template_eval(arena, mixed, &ctx, &result, &error), 0);
    assert_int_equal(template_eval(arena, inside, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
    ctx = context(with_data(nested(TEMPLATE_MAX_DEPTH - 2)), false);
    assert_int_equal(template_eval(arena, inside, &ctx, &result, &error), 0);
    ctx = context(with_data(nested(TEMPLATE_MAX_DEPTH + 1)), false);
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
    assert_int_equal(template_eval(arena, mixed, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
    assert_int_equal(template_eval(arena, nested(60), &ctx, &result, &error), TEMPLATE_TOO_LARGE);
}

/* The work of an evaluation is bounded, too, even when the result is small. */
TEST_WITH(test_wide, set_up, tear_down)
{
    json_t *rows_of_nothing = json_array();
    struct str error;
    json_t *result;

    arena_defer(arena, drop, rows_of_nothing);
    for (int i = 0; i < 5000; i++)
        json_array_append_new(rows_of_nothing, json_array());
    struct template_context ctx = context(with_data(rows_of_nothing), false);
    json_t *value = repeated("", "{{ $svc.trigger.data[*][*] }}", 201, "");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), TEMPLATE_TOO_LARGE);
    value = repeated("", "{{ $svc.trigger.data[*][*] }}", 199, "");
    assert_int_equal(template_eval(arena, value, &ctx, &result, &error), 0);
}

/* Inserted data is escaped. The HTML that the author wrote stays. */
TEST_WITH(test_html, set_up, tear_down)
{
    static const struct {
        const char *data, *text, *want;
    } cases[] = {
        {"\"<b>&\\\"'\"", "\"<p>{{ $svc.trigger.data }}</p>\"", "<p>&lt;b&gt;&amp;&quot;&#39;</p>"},
        {"\"<i>\"", "\"{{ $svc.trigger.data }}\"", "&lt;i&gt;"},
        {"{\"a\":\"<\"}", "\"{{ $svc.trigger.data }}\"", "{&quot;a&quot;:&quot;&lt;&quot;}"},
        {"7", "\"{{ $svc.trigger.data }}\"", "7"},
        {"[null]", "\"<b>{{ $svc.trigger.data[0] }}</b>\"", "<b></b>"},
        {"\"x\"", "\"<b>none</b>\"", "<b>none</b>"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct template_context ctx = context(with_data(json(str_from(cases[i].data))), false);
        struct str error;
        json_t *result;
        ctx.html = true;
        assert_int_equal(template_eval(arena, json(str_from(cases[i].text)), &ctx, &result, &error),
                         0);
        assert_string_equal(json_string_value(result), cases[i].want);
    }
}

/* --- references --- */

TEST_WITH(test_references, set_up, tear_down)
{
    struct template_context ctx = context(json(str_from(root_text)), false);
    struct reference *reference;
    struct str error;
    json_t *value;

    assert_int_equal(reference_parse(arena, STR(" $svc.trigger.id\n"), &reference, &error), 0);
    assert_int_equal(reference_eval(arena, reference, &ctx, &value, &error), 0);
    assert_int_equal(json_integer_value(value), 7);
    assert_int_equal(reference_parse(arena, STR("{{ $svc.trigger.id }}"), &reference, &error),
                     TEMPLATE_SYNTAX);
    assert_true(has(error, "without braces"));
    assert_int_equal(reference_parse(arena, STR("$svc.trigger.id x"), &reference, &error),
                     TEMPLATE_SYNTAX);
    assert_int_equal(reference_parse(arena, STR(""), &reference, &error), TEMPLATE_SYNTAX);
    assert_int_equal(reference_parse(arena, STR_NONE, &reference, &error), TEMPLATE_SYNTAX);
}

TEST_WITH(test_paths, set_up, tear_down)
{
    static const struct {
        const char *path;
        const char *result; /* NULL: syntax error; "": does not resolve */
    } paths[] = {
        {"a", "{\"b\":[{\"c\":1},{\"c\":2}]}"},
        {" a.b[1].c ", "2"},
        {"a.b[*].c", "[1,2]"},
        {"[\"a\"].b[0]", "{\"c\":1}"},
        {"a.b[2]", ""},
        {"data", ""},
        {"", NULL},
        {".a", NULL},
        {"a.", NULL},
        {"a b", NULL},
        {"$.a", NULL},
        {"a[", NULL},
    };

    struct template_context ctx =
        context(json(str_from("{\"a\":{\"b\":[{\"c\":1},{\"c\":2}]}}")), false);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct reference *reference;
        struct str error;
        json_t *value;
        int rc = reference_parse_path(arena, str_from(paths[i].path), &reference, &error);
        if ((rc != 0) != (paths[i].result == NULL))
            fail_msg("%s", paths[i].path);
        if (rc != 0)
            continue;
        rc = reference_eval(arena, reference, &ctx, &value, &error);
        if (rc == 0)
            assert_true(str_is(jr_print(arena, value), paths[i].result));
        else
            assert_string_equal(paths[i].result, "");
    }
}

/* --- visiting --- */

static int note(const struct reference_view *view, void *arg)
{
    struct strbuf *out = arg;

    strbuf_printf(out,
                  "%.*s/%.*s%s@%.*s;",
                  STR_ARG(view->root),
                  STR_ARG(view->second_part),
                  view->has_wildcard ? "*" : "",
                  STR_ARG(view->path));
    return str_is(view->root, "job") ? 77 : 0;
}

TEST_WITH(test_visit, set_up, tear_down)
{
    struct strbuf out;
    struct str place;
    struct str error;

    strbuf_init(&out, arena, 4096);
    json_t *value =
        json(str_from("{\"a\":\"{{ $svc.steps.x.data[*].y }} {{ $svc.trigger }}\",\"n\":1,"
                      "\"b\":[\"\",{\"c\":\"{{ $svc.secrets.K }}\"}]}"));
    assert_int_equal(template_visit(arena, value, true, note, &out, &place, &error), 0);
    assert_true(str_is(strbuf_view(&out), "steps/x*@a;trigger/@a;secrets/K@b[1].c;"));
    value = json(str_from("[\"{{ $svc.job.id }}\",\"{{ $svc.trigger.id }}\"]"));
    assert_int_equal(template_visit(arena, value, true, note, &out, &place, &error), 77);
    value = json(str_from("[1,{\"x\":\"{{ nope }}\"}]"));
    assert_int_equal(template_visit(arena, value, true, note, &out, &place, &error),
                     TEMPLATE_SYNTAX);
    assert_true(str_is(place, "[1].x"));
    strbuf_init(&out, arena, 4096);
    value = json(str_from("\"$svc.steps.x.data\""));
    assert_int_equal(template_visit(arena, value, false, note, &out, &place, &error), 0);
    assert_true(str_is(strbuf_view(&out), "steps/x@;"));
    assert_int_equal(template_visit(arena, json(str_from("5")), false, note, &out, &place, &error),
                     0);
    value = json(str_from("\"nothing\""));
    assert_int_equal(template_visit(arena, value, false, note, &out, &place, &error),
                     TEMPLATE_SYNTAX);
}

/* --- rows --- */

static const char rows_root[] =
    "{\"trigger\":{\"data\":{\"list\":[{\"n\":1,\"tags\":[\"a\",\"b\"]},{\"n\":2,\"tags\":[]}],"
    "\"more\":[7,8],\"three\":[1,2,3],\"none\":[],\"one\":{}}}}";

/* By row, [*] means one item. Checks the number of rows, and the values in rows 0 and 1. */
TEST_WITH(test_rows, set_up, tear_down)
{
    static const struct {
        const char *value, *first, *second;
        size_t count;
    } cases[] = {
        {"\"plain\"", "\"plain\"", "\"plain\"", SIZE_MAX},
        {"\"{{ $svc.trigger.data.list[*].n }}\"", "1", "2", 2},
        {"\"No {{ $svc.trigger.data.list[*].n }}/{{ $svc.trigger.data.more[*] }}\"",
         "\"No 1/7\"",
         "\"No 2/8\"",
         2},
        {"{\"x\":[\"{{ $svc.trigger.data.list[*].tags }}\"]}",
         "{\"x\":[[\"a\",\"b\"]]}",
         "{\"x\":[[]]}",
         2},
        {"\"{{ $svc.trigger.data.list[*].tags[*] }}\"", "[\"a\",\"b\"]", "[]", 2},
    };
    const json_t *root = json(str_from(rows_root));
    struct template_context of_row = context(root, false);

    of_row.by_row = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const json_t *value = json(str_from(cases[i].value));
        struct str reason;
        json_t *found;
        size_t count;
        assert_int_equal(template_rows(arena, value, &of_row, &count, &reason), 0);
        assert_int_equal(count, cases[i].count);
        for (of_row.row = 0; of_row.row < 2; of_row.row++) {
            assert_int_equal(template_eval(arena, value, &of_row, &found, &reason), 0);
            assert_true(
                json_equal(found, json(str_from(of_row.row ? cases[i].second : cases[i].first))));
        }
    }
}

TEST_WITH(test_rows_wrong, set_up, tear_down)
{
    static const char *const texts[] = {
        "\"{{ $svc.trigger.data.list[*].n }} {{ $svc.trigger.data.three[*] }}\"",
        "\"{{ $svc.trigger.data.one[*] }}\"",
        "\"{{ $svc.trigger.data.missing[*] }}\"",
    };
    const json_t *root = json(str_from(rows_root));
    struct template_context of_row = context(root, false);
    struct str reason;
    json_t *found;
    size_t count;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(template_rows(arena, json(str_from(texts[i])), &of_row, &count, &reason),
                         TEMPLATE_UNRESOLVED);
    of_row.by_row = true;
    of_row.row = 2;
    assert_int_equal(template_eval(arena,
                                   json(str_from("\"{{ $svc.trigger.data.list[*].n }}\"")),
                                   &of_row,
                                   &found,
                                   &reason),
                     TEMPLATE_UNRESOLVED);
    assert_non_null(strstr(arena_cstr(arena, reason), "list has 2 items"));
}
