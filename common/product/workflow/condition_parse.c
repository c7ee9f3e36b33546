/* Conditions: parsing and visiting. */
#include <stdarg.h>

#include "workflow/condition_private.h"

#define GROUP_MEMBERS 50
#define GROUP_DEPTH   5
#define LIST_ITEMS    500

struct parsing {
    struct arena *arena;
    bool fields;
    struct str *ret_path;
    struct str *ret_error;
};

static int PRINTF_LIKE(3, 4)
    condition_fail(const struct parsing *in, const struct json_path *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *in->ret_error = arena_vprintf(in->arena, format, args);
    va_end(args);
    *in->ret_path = json_path_print(in->arena, at);
    return TEMPLATE_SYNTAX;
}

static int
condition_refuse_unknown(const struct parsing *in, const struct json_path *at, struct str name)
{
    struct json_path member = {.parent = at, .name = name};

    return condition_fail(in, &member, "is not a known member of a condition");
}

/* --- comparisons --- */

static bool is_reference(const json_t *value)
{
    return json_is_string(value) &&
           (str_starts(json_text(value), STR("$svc.")) || str_is(json_text(value), "$svc"));
}

static int condition_read_reference(const struct parsing *in,
                                    const struct json_path *at,
                                    struct str text,
                                    struct operand *operand)
{
    struct str error;

    operand->path = json_path_print(in->arena, at);
    if (reference_parse(in->arena, text, &operand->reference, &error) != 0)
        return condition_fail(in, at, "%.*s", STR_ARG(error));
    return 0;
}

static int condition_read_operand(const struct parsing *in,
                                  const struct json_path *at,
                                  const json_t *value,
                                  struct operand *operand)
{
    operand->value = value;
    if (json_is_string(value) && template_has_braces(json_text(value)))
        return condition_fail(in, at, "must be written without braces in a condition");
    if (!is_reference(value))
        return 0;
    if (in->fields)
        return condition_fail(in, at, "must be a plain value: a filter takes no references");
    return condition_read_reference(in, at, json_text(value), operand);
}

static int condition_read_list(const struct parsing *in,
                               const struct json_path *at,
                               const json_t *value,
                               struct condition *test)
{
    size_t count = json_array_size(value);

    if (condition_operator(test->op)->operand == TAKES_PAIR && count != 2)
        return condition_fail(in, at, "takes two values, the lowest and the highest");
    if (count < 1 || count > LIST_ITEMS)
        return condition_fail(in, at, "takes a list of 1 to %d values", LIST_ITEMS);
    test->is_literal_list = true;
    test->right = ARENA_ARRAY(in->arena, test->right, count);
    test->right_count = count;
    for (size_t i = 0; i < count; i++) {
        struct json_path item = {.parent = at, .index = i};
        TRY(condition_read_operand(in, &item, json_array_get(value, i), &test->right[i]));
    }
    return 0;
}

static int condition_read_value(const struct parsing *in,
                                const struct json_path *at,
                                const json_t *value,
                                struct condition *test)
{
    struct json_path member = {.parent = at, .name = STR("value")};
    const struct condition_operator *op = condition_operator(test->op);

    if (op->operand == TAKES_NONE) {
        if (value != NULL && !json_is_null(value))
            return condition_fail(in, &member, "\"%s\" takes no value", op->name);
        return 0;
    }
    if (value == NULL)
        return condition_fail(in, &member, "is required");
    if (op->operand != TAKES_VALUE && json_is_array(value))
        return condition_read_list(in, &member, value, test);
    if (op->operand != TAKES_VALUE && !is_reference(value))
        return condition_fail(in, &member, "\"%s\" takes a list of values", op->name);
    test->right = ARENA_ARRAY(in->arena, test->right, 1);
    test->right_count = 1;
    return condition_read_operand(in, &member, value, test->right);
}

static int read_op(const struct parsing *in,
                   const struct json_path *at,
                   const json_t *value,
                   struct condition *test)
{
    struct json_path member = {.parent = at, .name = STR("op")};

    if (value == NULL)
        return condition_fail(in, &member, "is required");
    test->op = condition_op_find(json_text(value));
    if (test->op < COND_COUNT)
        return 0;
    return condition_fail(in, &member, "must be one of: %s", condition_op_names);
}

static int condition_read_field(const struct parsing *in,
                                const struct json_path *at,
                                const json_t *value,
                                struct condition *test)
{
    struct json_path member = {.parent = at, .name = STR("field")};

    if (value == NULL)
        return condition_fail(in, &member, "is required");
    if (!json_is_string(value) || json_string_length(value) == 0)
        return condition_fail(in, &member, "expected a text");
    if (!in->fields)
        return condition_read_reference(in, &member, json_text(value), &test->left);
    if (str_starts(json_text(value), STR("$svc")) || template_has_braces(json_text(value)))
        return condition_fail(
            in, &member, "must name a member of the event's data, not a reference");
    test->left.name = json_text(value);
    test->left.path = json_path_print(in->arena, &member);
    return 0;
}

static int condition_read_test(const struct parsing *in,
                               const struct json_path *at,
                               const json_t *value,
                               struct condition *test)
{
    const char *name;
    size_t len;
    json_t *ignored;

    json_object_keylen_foreach((json_t *)value, name, len, ignored)
    {
        struct str key = {name, len};
        if (!str_is(key, "field") && !str_is(key, "op") && !str_is(key, "value"))
            return condition_refuse_unknown(in, at, key);
    }
    test->kind = CONDITION_TEST;
    TRY(condition_read_field(in, at, json_object_get(value, "field"), test));
    TRY(read_op(in, at, json_object_get(value, "op"), test));
    return condition_read_value(in, at, json_object_get(value, "value"), test);
}

/* --- groups --- */

/* NOLINTBEGIN(misc-no-recursion): at most GROUP_DEPTH deep */

static int read_condition(const struct parsing *in,
                          const struct json_path *at,
                          const json_t *value,
                          int depth,
                          struct condition *ret_condition);

static int read_group(const struct parsing *in,
                      const struct json_path *at,
                      const json_t *members,
                      int depth,
                      struct condition *group)
{
    size_t count = json_array_size(members);

    if (depth >= GROUP_DEPTH)
        return condition_fail(in, at, "groups nest at most %d deep", GROUP_DEPTH);
    if (!json_is_array(members))
        return condition_fail(in, at, "expected an array");
    if (count < 1 || count > GROUP_MEMBERS)
        return condition_fail(in, at, "takes 1 to %d members", GROUP_MEMBERS);
    group->members = ARENA_ARRAY(in->arena, group->members, count);
    group->count = count;
    for (size_t i = 0; i < count; i++) {
        struct json_path item = {.parent = at, .index = i};
        TRY(read_condition(in, &item, json_array_get(members, i), depth + 1, &group->members[i]));
    }
    return 0;
}

static int read_condition(const struct parsing *in,
                          const struct json_path *at,
                          const json_t *value,
                          int depth,
                          struct condition *ret_condition)
{
    const json_t *all = json_object_get(value, "all");
    const json_t *any = json_object_get(value, "any");
    const char *name;
    size_t len;
    json_t *ignored;

    if (!json_is_object(value))
        return condition_fail(in, at, "expected an object");
    if (all == NULL && any == NULL)
        return condition_read_test(in, at, value, ret_condition);
    if (all != NULL && any != NULL)
        return condition_fail(in, at, "a group must have either \"all\" or \"any\", not both");
    json_object_keylen_foreach((json_t *)value, name, len, ignored)
    {
        struct str key = {name, len};
        if (!str_is(key, all ? "all" : "any"))
            return condition_refuse_unknown(in, at, key);
    }
    struct json_path member = {.parent = at, .name = all ? STR("all") : STR("any")};
    ret_condition->kind = all ? CONDITION_ALL : CONDITION_ANY;
    return read_group(in, &member, all ? all : any, depth, ret_condition);
}

int condition_parse(struct arena *arena,
                    const json_t *value,
                    bool fields,
                    struct condition **ret_condition,
                    struct str *ret_path,
                    struct str *ret_error)
{
    struct parsing in = {arena, fields, ret_path, ret_error};
    struct condition *condition = ARENA_NEW(arena, condition);

    TRY(read_condition(&in, NULL, value, 0, condition));
    *ret_condition = condition;
    return 0;
}

/* --- visiting --- */

static int visit_operand(const struct operand *operand, template_visit_fn visit, void *arg)
{
    struct reference_view view = {.text = operand->name, .path = operand->path};

    if (operand->reference != NULL) {
        view = reference_view(operand->reference);
        view.path = operand->path;
    } else if (operand->name.len == 0) {
        return 0;
    }
    return visit(&view, arg);
}

int condition_visit(const struct condition *condition, template_visit_fn visit, void *arg)
{
    for (size_t i = 0; i < condition->count; i++)
        TRY(condition_visit(&condition->members[i], visit, arg));
    if (condition->kind != CONDITION_TEST)
        return 0;
    TRY(visit_operand(&condition->left, visit, arg));
    for (size_t i = 0; i < condition->right_count; i++)
        TRY(visit_operand(&condition->right[i], visit, arg));
    return 0;
}

/* NOLINTEND(misc-no-recursion) */
