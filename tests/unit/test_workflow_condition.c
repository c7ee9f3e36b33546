/* Conditions: grammar, operators on values of all types, absence, filters over one object. */
#include "unit.h"

#include "workflow/condition.h"
#include "workflow_json.h"

/* --- operators --- */

static const char root_text[] =
    "{\"trigger\":{\"id\":7,\"data\":{\"total\":100,\"real\":100.0,\"half\":0.5,\"text\":\"100\","
    "\"name\":\"Ann Lee\",\"paid\":true,\"note\":null,\"blank\":\"\",\"none\":[],\"void\":{},"
    "\"list\":[1,\"b\",{\"x\":1.0}],\"at\":\"2026-01-31T12:00:00.000Z\",\"low\":10,\"high\":100,"
    "\"pair\":[10,100],\"big\":9007199254740993,\"one\":\"1e2\",\"evil\":\"$svc.trigger.id\","
    "\"obj\":{\"a\":[1,2]}}}}";

enum { NO, YES, FAILS };
static const struct {
    const char *field; /* member of the data, or a whole reference */
    const char *op;
    const char *value; /* NULL = none */
    int holds;
} rows[] = {
    {"total", "eq", "100", YES},
    {"total", "eq", "100.0", YES},
    {"total", "eq", "\"100\"", YES},
    {"total", "eq", "\"100.0\"", YES},
    {"total", "eq", "\"1e2\"", YES},
    {"total", "eq", "\"0100\"", NO},
    {"total", "eq", "\" 100\"", NO},
    {"total", "eq", "\"\"", NO},
    {"total", "eq", "101", NO},
    {"total", "eq", "true", NO},
    {"total", "eq", "null", NO},
    {"total", "ne", "101", YES},
    {"total", "ne", "100", NO},
    {"real", "eq", "100", YES},
    {"text", "eq", "100", YES},
    {"text", "eq", "\"100\"", YES},
    {"text", "eq", "\"100.0\"", NO},
    {"big", "eq", "9007199254740993", YES},
    {"big", "eq", "9007199254740992", NO},
    {"big", "eq", "9007199254740992.0", NO},
    {"big", "gt", "9007199254740992.0", YES},
    {"paid", "eq", "true", YES},
    {"paid", "eq", "\"true\"", NO},
    {"paid", "eq", "1", NO},
    {"name", "eq", "\"Ann Lee\"", YES},
    {"name", "eq", "\"ann lee\"", NO},
    {"obj", "eq", "{\"a\":[1.0,2]}", YES},
    {"obj", "eq", "{\"a\":[1,2,3]}", NO},
    {"obj", "eq", "{\"b\":[1,2]}", NO},
    {"list", "eq", "[1,\"b\",{\"x\":1}]", YES},
    {"none", "eq", "[]", YES},
    {"none", "eq", "{}", NO},
    {"evil", "eq", "7", NO}, /* data is not a reference */
    /* null and absence */
    {"note", "eq", "null", YES},
    {"note", "ne", "null", NO},
    {"missing", "eq", "null", YES},
    {"missing", "ne", "null", NO},
    {"name", "ne", "null", YES},
    {"missing", "eq", "1", FAILS},
    {"missing", "ne", "1", FAILS},
    {"note", "eq", "1", NO},
    {"note", "ne", "1", YES},
    {"missing", "exists", NULL, NO},
    {"missing", "not_exists", NULL, YES},
    {"note", "exists", NULL, YES},
    {"note", "not_exists", NULL, NO},
    {"name", "exists", "null", YES},
    {"missing", "empty", NULL, YES},
    {"missing", "not_empty", NULL, NO},
    {"note", "empty", NULL, YES},
    {"blank", "empty", NULL, YES},
    {"none", "empty", NULL, YES},
    {"void", "empty", NULL, YES},
    {"name", "empty", NULL, NO},
    {"list", "not_empty", NULL, YES},
    {"total", "empty", NULL, NO},
    {"half", "not_empty", NULL, YES},
    {"$svc.steps.nope.data", "empty", NULL, YES},
    {"$svc.steps.nope.data", "eq", "1", FAILS},
    /* order */
    {"total", "gt", "99", YES},
    {"total", "gt", "100", NO},
    {"total", "gte", "100", YES},
    {"total", "lt", "100.5", YES},
    {"total", "lte", "99.9", NO},
    {"text", "gt", "99", YES},
    {"total", "gt", "\"99\"", YES},
    {"text", "gt", "\"99\"", NO}, /* two texts, byte by byte */
    {"name", "gt", "\"Ann\"", YES},
    {"name", "gt", "5", NO},
    {"name", "lt", "5", NO},
    {"at", "gte", "\"2026-01-01T00:00:00.000Z\"", YES},
    {"at", "lt", "\"2026-02-01T00:00:00.000Z\"", YES},
    {"paid", "gt", "false", NO},
    {"note", "lt", "5", NO},
    {"list", "gte", "[1]", NO},
    {"missing", "gt", "1", FAILS},
    {"half", "between", "[0,1]", YES},
    {"total", "between", "[100,100]", YES},
    {"total", "between", "[101,200]", NO},
    {"at", "between", "[\"2026-01-01\",\"2026-02-01\"]", YES},
    {"total", "between", "\"$svc.trigger.data.pair\"", YES},
    {"total", "between", "\"$svc.trigger.data.list\"", FAILS},
    {"total", "between", "[\"$svc.trigger.data.low\",\"$svc.trigger.data.high\"]", YES},
    /* lists */
    {"total", "in", "[1,\"100\"]", YES},
    {"total", "in", "[1,2]", NO},
    {"total", "nin", "[1,2]", YES},
    {"name", "matches_any_of", "[\"Bob\",\"Ann Lee\"]", YES},
    {"name", "matches_any_of", "[\"Bob\"]", NO},
    {"total", "in", "\"$svc.trigger.data.pair\"", YES},
    {"total", "in", "\"$svc.trigger.data.none\"", NO},
    {"total", "in", "\"$svc.trigger.data.name\"", FAILS},
    {"total", "in", "[\"$svc.trigger.data.high\"]", YES},
    {"missing", "in", "[null]", FAILS},
    /* parts */
    {"name", "contains", "\"n L\"", YES},
    {"name", "contains", "\"n l\"", NO},
    {"name", "contains", "\"\"", YES},
    {"blank", "contains", "\"x\"", NO},
    {"name", "not_contains", "\"Bob\"", YES},
    {"list", "contains", "1", YES},
    {"list", "contains", "{\"x\":1}", YES},
    {"list", "contains", "\"c\"", NO},
    {"list", "not_contains", "\"c\"", YES},
    {"obj", "contains", "\"a\"", YES},
    {"obj", "contains", "\"b\"", NO},
    {"total", "contains", "1", NO},
    {"note", "contains", "\"x\"", NO},
    {"note", "not_contains", "\"x\"", YES},
    {"name", "starts_with", "\"Ann\"", YES},
    {"name", "starts_with", "\"Lee\"", NO},
    {"name", "ends_with", "\"Lee\"", YES},
    {"total", "starts_with", "\"1\"", NO},
    {"name", "starts_with", "5", NO},
    /* references as values */
    {"total", "eq", "\"$svc.trigger.data.high\"", YES},
    {"total", "gt", "\"$svc.trigger.data.low\"", YES},
    {"total", "eq", "\"$svc.trigger.data.missing\"", FAILS},
    {"missing", "eq", "\"$svc.trigger.data.note\"", YES},
    {"$svc.trigger.id", "eq", "7", YES},
    {"$svc.trigger.data.list[2].x", "eq", "1", YES},
    {"$svc.trigger.data.pair[*]", "contains", "10", YES},
};

static struct str row_text(size_t i)
{
    bool whole = rows[i].field[0] == '$';

    return arena_printf(arena,
                        "{\"field\":\"%s%s\",\"op\":\"%s\"%s%s}",
                        whole ? "" : "$svc.trigger.data.",
                        rows[i].field,
                        rows[i].op,
                        rows[i].value ? ",\"value\":" : "",
                        rows[i].value ? rows[i].value : "");
}

static int holds(struct str text, const json_t *root, bool fields)
{
    struct template_context context = {.root = root};
    struct condition *condition;
    struct str path;
    struct str error;
    bool yes;

    if (condition_parse(arena, json(text), fields, &condition, &path, &error) != 0)
        fail_msg("%.*s: %.*s: %.*s", STR_ARG(text), STR_ARG(path), STR_ARG(error));
    int rc = condition_eval(arena, condition, &context, &yes, &error);
    assert_true(rc == 0 || (rc == TEMPLATE_UNRESOLVED && error.len > 0));
    return rc != 0 ? FAILS : yes ? YES : NO;
}

TEST_WITH(test_operators, set_up, tear_down)
{
    json_t *root = json(str_from(root_text));

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int result = holds(row_text(i), root, false);
        if (result != rows[i].holds)
            fail_msg("%.*s: %d", STR_ARG(row_text(i)), result);
    }
}

/* --- groups --- */

#define IS_PAID  "{\"field\":\"$svc.trigger.data.paid\",\"op\":\"eq\",\"value\":true}"
#define IS_CHEAP "{\"field\":\"$svc.trigger.data.total\",\"op\":\"lt\",\"value\":5}"
#define BROKEN   "{\"field\":\"$svc.trigger.data.missing\",\"op\":\"lt\",\"value\":5}"

TEST_WITH(test_groups, set_up, tear_down)
{
    static const struct {
        const char *text;
        int holds;
    } groups[] = {
        {IS_PAID, YES},
        {"{\"all\":[" IS_PAID "]}", YES},
        {"{\"all\":[" IS_PAID "," IS_CHEAP "]}", NO},
        {"{\"any\":[" IS_CHEAP "," IS_PAID "]}", YES},
        {"{\"any\":[" IS_CHEAP "]}", NO},
        {"{\"all\":[" IS_PAID ",{\"any\":[" IS_CHEAP "," IS_PAID "]}]}", YES},
        {"{\"any\":[{\"all\":[" IS_CHEAP "," IS_PAID "]}," IS_CHEAP "]}", NO},
        /* in order, and no further than needed */
        {"{\"any\":[" IS_PAID "," BROKEN "]}", YES},
        {"{\"all\":[" IS_CHEAP "," BROKEN "]}", NO},
        {"{\"any\":[" BROKEN "," IS_PAID "]}", FAILS},
        {"{\"all\":[{\"all\":[{\"all\":[{\"all\":[{\"any\":[" IS_PAID "]}]}]}]}]}", YES},
    };

    json_t *root = json(str_from(root_text));
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (holds(str_from(groups[i].text), root, false) != groups[i].holds)
            fail_msg("%s", groups[i].text);
}

/* --- filters --- */

TEST_WITH(test_filters, set_up, tear_down)
{
    static const struct {
        const char *text;
        int holds;
    } filters[] = {
        {"{\"field\":\"action_id\",\"op\":\"eq\",\"value\":\"yes\"}", YES},
        {"{\"field\":\"action_id\",\"op\":\"eq\",\"value\":\"no\"}", NO},
        {"{\"field\":\"action_id\",\"op\":\"in\",\"value\":[\"no\",\"yes\"]}", YES},
        {"{\"all\":[{\"field\":\"action_id\",\"op\":\"exists\"},"
         "{\"field\":\"rating\",\"op\":\"gte\",\"value\":4}]}",
         YES},
        {"{\"field\":\"odd name.x\",\"op\":\"eq\",\"value\":1}", YES},
        /* an absent member is null */
        {"{\"field\":\"nope\",\"op\":\"eq\",\"value\":\"yes\"}", NO},
        {"{\"field\":\"nope\",\"op\":\"ne\",\"value\":\"yes\"}", YES},
        {"{\"field\":\"nope\",\"op\":\"gt\",\"value\":1}", NO},
        {"{\"field\":\"nope\",\"op\":\"in\",\"value\":[null]}", YES},
        {"{\"field\":\"nope\",\"op\":\"exists\"}", NO},
        {"{\"field\":\"null\",\"op\":\"exists\"}", YES},
        {"{\"field\":\"null\",\"op\":\"empty\"}", YES},
    };

    json_t *root = json(STR("{\"action_id\":\"yes\",\"rating\":4,\"null\":null,\"odd name.x\":1}"));
    for (size_t i = 0; i < ARRAY_LEN(filters); i++)
        if (holds(str_from(filters[i].text), root, true) != filters[i].holds)
            fail_msg("%s", filters[i].text);
    assert_int_equal(holds(str_from(filters[0].text), json(STR("[1]")), true), NO);
}

/* --- syntax --- */

#define F "\"field\":\"$svc.trigger.id\""

static const struct {
    const char *text;
    bool fields;
    const char *path;
    const char *error;
} wrong[] = {
    {"5", false, "", "expected an object"},
    {"[]", false, "", "expected an object"},
    {"{}", false, "field", "is required"},
    {"{\"op\":\"eq\",\"value\":1}", false, "field", "is required"},
    {"{\"field\":5,\"op\":\"eq\",\"value\":1}", false, "field", "expected a text"},
    {"{\"field\":\"\",\"op\":\"eq\",\"value\":1}", false, "field", "expected a text"},
    {"{\"field\":\"total\",\"op\":\"eq\",\"value\":1}", false, "field", "begins with $svc"},
    {"{\"field\":\"{{ $svc.trigger.id }}\",\"op\":\"eq\",\"value\":1}",
     false,
     "field",
     "without braces"},
    {"{\"field\":\"$svc.trigger.data[-1]\",\"op\":\"eq\",\"value\":1}",
     false,
     "field",
     "number from 0"},
    {"{" F ",\"value\":1}", false, "op", "is required"},
    {"{" F ",\"op\":\"like\",\"value\":1}", false, "op", "must be one of"},
    {"{" F ",\"op\":\"EQ\",\"value\":1}", false, "op", "must be one of"},
    {"{" F ",\"op\":5,\"value\":1}", false, "op", "must be one of"},
    {"{" F ",\"op\":\"eq\"}", false, "value", "is required"},
    {"{" F ",\"op\":\"exists\",\"value\":1}", false, "value", "takes no value"},
    {"{" F ",\"op\":\"in\",\"value\":1}", false, "value", "takes a list"},
    {"{" F ",\"op\":\"in\",\"value\":[]}", false, "value", "1 to 500"},
    {"{" F ",\"op\":\"between\",\"value\":[1]}", false, "value", "two values"},
    {"{" F ",\"op\":\"between\",\"value\":[1,2,3]}", false, "value", "two values"},
    {"{" F ",\"op\":\"eq\",\"value\":\"$svc.nope\"}",
     false,
     "value",
     "expected .trigger, .steps, .secrets, .workflow or .job after $svc"},
    {"{" F ",\"op\":\"in\",\"value\":[1,\"$svc.x.y\"]}",
     false,
     "value[1]",
     "expected .trigger, .steps, .secrets, .workflow or .job after $svc"},
    {"{" F ",\"op\":\"eq\",\"value\":\"{{ $svc.job.id }}\"}", false, "value", "without braces"},
    {"{" F ",\"op\":\"eq\",\"value\":1,\"x\":2}", false, "x", "not a known member"},
    {"{\"all\":[],\"any\":[]}", false, "", "either \"all\" or \"any\""},
    {"{\"all\":[]}", false, "all", "1 to 50"},
    {"{\"all\":{}}", false, "all", "expected an array"},
    {"{\"all\":[" IS_PAID "],\"field\":\"x\"}", false, "field", "not a known member"},
    {"{\"all\":[" IS_PAID ",{" F ",\"op\":\"x\"}]}", false, "all[1].op", "must be one of"},
    {"{\"all\":[" IS_PAID ",{\"any\":[5]}]}", false, "all[1].any[0]", "expected an object"},
    {"{\"all\":[{\"all\":[{\"all\":[{\"all\":[{\"all\":[{\"all\":[" IS_PAID "]}]}]}]}]}]}",
     false,
     "all[0].all[0].all[0].all[0].all[0].all",
     "at most 5 deep"},
    {"{" F ",\"op\":\"eq\",\"value\":1}", true, "field", "not a reference"},
    {"{\"field\":\"a\",\"op\":\"eq\",\"value\":\"$svc.trigger.id\"}",
     true,
     "value",
     "no references"},
};

TEST_WITH(test_syntax, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct condition *condition;
        struct str path = STR_NONE;
        struct str error = STR_NONE;
        json_t *value = json(str_from(wrong[i].text));
        int rc = condition_parse(arena, value, wrong[i].fields, &condition, &path, &error);
        if (rc != TEMPLATE_SYNTAX || !str_is(path, wrong[i].path) ||
            memmem(error.ptr, error.len, wrong[i].error, strlen(wrong[i].error)) == NULL)
            fail_msg("%s: %d %.*s: %.*s", wrong[i].text, rc, STR_ARG(path), STR_ARG(error));
    }
}

TEST_WITH(test_many_members, set_up, tear_down)
{
    for (size_t count = 50; count <= 51; count++) {
        struct condition *condition;
        struct strbuf text;
        struct str path;
        struct str error;
        strbuf_init(&text, arena, 65536);
        for (size_t i = 0; i < count; i++)
            strbuf_printf(&text, "%s" IS_PAID, i > 0 ? "," : "{\"all\":[");
        strbuf_cstr(&text, "]}");
        int rc = condition_parse(arena, json(strbuf_view(&text)), false, &condition, &path, &error);
        assert_int_equal(rc, count == 50 ? 0 : TEMPLATE_SYNTAX);
    }
}

/* --- references --- */

static int note(const struct reference_view *view, void *arg)
{
    strbuf_printf(arg,
                  "%.*s %.*s@%.*s;",
                  STR_ARG(view->root),
                  STR_ARG(view->second_part),
                  STR_ARG(view->path));
    return 0;
}

static int note_name(const struct reference_view *view, void *arg)
{
    assert_int_equal(view->root.len, 0);
    strbuf_printf(arg, "%.*s@%.*s;", STR_ARG(view->text), STR_ARG(view->path));
    return 0;
}

TEST_WITH(test_visit, set_up, tear_down)
{
    struct condition *condition;
    struct strbuf out;
    struct str path;
    struct str error;

    strbuf_init(&out, arena, 4096);
    json_t *value =
        json(STR("{\"all\":[" IS_PAID ",{\"any\":[{\"field\":\"$svc.steps.a.data\",\"op\":\"in\","
                 "\"value\":[1,\"$svc.steps.b.data\"]},"
                 "{" F ",\"op\":\"eq\",\"value\":\"$svc.job.id\"}]}]}"));
    assert_int_equal(condition_parse(arena, value, false, &condition, &path, &error), 0);
    assert_int_equal(condition_visit(condition, note, &out), 0);
    assert_true(str_is(strbuf_view(&out),
                       "trigger data@all[0].field;steps a@all[1].any[0].field;"
                       "steps b@all[1].any[0].value[1];trigger id@all[1].any[1].field;"
                       "job id@all[1].any[1].value;"));
    strbuf_init(&out, arena, 4096);
    value = json(STR("{\"any\":[{\"field\":\"a\",\"op\":\"eq\",\"value\":\"b\"}]}"));
    assert_int_equal(condition_parse(arena, value, true, &condition, &path, &error), 0);
    assert_int_equal(condition_visit(condition, note_name, &out), 0);
    assert_true(str_is(strbuf_view(&out), "a@any[0].field;"));
}

/* A condition cannot read a secret, not even whether the secret exists. */
TEST_WITH(test_secrets, set_up, tear_down)
{
    struct template_context context = {.root = json(str_from(root_text))};
    struct condition *condition;
    struct str path;
    struct str error;
    bool yes;

    json_t *value = json(STR("{\"field\":\"$svc.secrets.K\",\"op\":\"exists\"}"));
    assert_int_equal(condition_parse(arena, value, false, &condition, &path, &error), 0);
    assert_int_equal(condition_eval(arena, condition, &context, &yes, &error), TEMPLATE_FORBIDDEN);
}
