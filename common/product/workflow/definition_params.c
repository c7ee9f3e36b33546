/* Checks the parameters of steps. */
#include "base/ascii.h"
#include "catalog/operator.h"
#include "fetch/fetch.h"
#include "workflow/definition_private.h"

#define FILTER_DEPTH  5
#define FILTER_VALUES 500

/* --- shared --- */

void check_param_line(const struct check *in, const struct json_path *at, const json_t *value)
{
    const struct text_rule rule = {.max = in->param->max,
                                   .allows_templates = in->param->allows_templates};
    struct str ignored;

    (void)check_text(in, at, value, &rule, &ignored);
}

void check_param_text(const struct check *in, const struct json_path *at, const json_t *value)
{
    const struct text_rule rule = {.max = in->param->max,
                                   .allows_templates = in->param->allows_templates,
                                   .allows_lines = true};
    struct str ignored;

    (void)check_text(in, at, value, &rule, &ignored);
}

void check_param_number(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (!json_is_integer(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an integer");
    else if (json_integer_value(value) < (json_int_t)in->param->min ||
             json_integer_value(value) > (json_int_t)in->param->max)
        check_fail(in,
                   at,
                   PROBLEM_OUT_OF_RANGE,
                   "must be between %zu and %zu",
                   in->param->min,
                   in->param->max);
}

void check_param_id(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) >= 1)
        return;
    if (json_is_integer(value))
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must be at least 1");
    else if (!json_is_string(value) || !template_has_braces(json_text(value)))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an integer or a template");
}

void check_param_flag(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (!json_is_boolean(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected true or false");
}

void check_param_any(const struct check *in, const struct json_path *at, const json_t *value)
{
    (void)in;
    (void)at;
    (void)value;
}

/* --- records --- */

void check_param_values(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (check_object(in, at, value) && json_object_size(value) < in->param->min)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must name at least one field to change");
}

void check_param_items(const struct check *in, const struct json_path *at, const json_t *value)
{
    size_t count = json_array_size(value);

    if (json_is_string(value)) {
        if (!template_is_single(in->arena, json_text(value)))
            check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
        return;
    }
    if (!json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
    else if (count < in->param->min || count > in->param->max)
        check_fail(in,
                   at,
                   count < 1 ? PROBLEM_OUT_OF_RANGE : PROBLEM_TOO_LONG,
                   "must have %zu to %zu items",
                   in->param->min,
                   in->param->max);
    else
        for (size_t i = 0; i < count; i++) {
            struct json_path item = {.parent = at, .index = i};
            (void)check_object(in, &item, json_array_get(value, i));
        }
}

/* Accepts "id,name" or ["id", "name"]. */
void check_param_names(const struct check *in, const struct json_path *at, const json_t *value)
{
    const struct text_rule rule = {.max = in->param->max};
    struct str ignored;

    if (!json_is_array(value)) {
        (void)check_text(in, at, value, &rule, &ignored);
        return;
    }
    if (json_array_size(value) < 1 || json_array_size(value) > 100)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must have 1 to 100 items");
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_path item = {.parent = at, .index = i};
        (void)check_text(in, &item, json_array_get(value, i), &rule, &ignored);
    }
}

/* --- filters of ReadData --- */

struct filter_check {
    const struct check *in;
    size_t tests;
};

static void check_filter_list(const struct check *in,
                              const struct json_path *at,
                              const json_t *value,
                              bool pair)
{
    size_t count = json_array_size(value);

    if (json_is_string(value) && template_is_single(in->arena, json_text(value)))
        return;
    if (!json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
    else if (pair && count != 2)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "takes two values, the lowest and the highest");
    else if (count < 1 || count > FILTER_VALUES)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "takes 1 to %d values", FILTER_VALUES);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        struct json_path item_at = {.parent = at, .index = i};
        if (json_is_object(item) || json_is_array(item) || json_is_null(item))
            check_fail(
                in, &item_at, PROBLEM_TYPE_MISMATCH, "expected a text, a number or a boolean");
    }
}

static void check_filter_op(struct filter_check *filter,
                            const struct json_path *at,
                            struct str name,
                            const json_t *value)
{
    const struct check *in = filter->in;
    enum filter_op op = filter_op_find(name);
    enum operator_operand takes = op < OP_COUNT ? filter_operator(op)->operand : TAKES_NONE;

    if (op == OP_COUNT)
        check_fail(in,
                   at,
                   PROBLEM_OUT_OF_RANGE,
                   "is not an operator; must be one of: %s",
                   filter_op_names);
    else if (takes == TAKES_LIST || takes == TAKES_PAIR)
        check_filter_list(in, at, value, takes == TAKES_PAIR);
    else if (takes == TAKES_FLAG && !json_is_boolean(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected true or false");
    else if (json_is_object(value) || json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected a text, a number, a boolean or null");
    filter->tests++;
}

static void
check_filter_field(struct filter_check *filter, const struct json_path *at, const json_t *value)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(value)) {
        check_filter_op(filter, at, STR("eq"), value);
        return;
    }
    if (json_object_size(value) == 0)
        check_fail(filter->in, at, PROBLEM_OUT_OF_RANGE, "must name at least one operator");
    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct json_path op = {.parent = at, .name = {name, len}};
        check_filter_op(filter, &op, op.name, item);
    }
}

/* NOLINTBEGIN(misc-no-recursion): at most FILTER_DEPTH deep */
static void check_filter_group(struct filter_check *filter,
                               const struct json_path *at,
                               const json_t *group,
                               int depth)
{
    const char *name;
    size_t len;
    json_t *item;

    if (depth > FILTER_DEPTH) {
        check_fail(
            filter->in, at, PROBLEM_OUT_OF_RANGE, "groups nest at most %d deep", FILTER_DEPTH);
        return;
    }
    if (!check_object(filter->in, at, group))
        return;
    json_object_keylen_foreach((json_t *)group, name, len, item)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        if (!definition_is_group(member.name, item)) {
            check_filter_field(filter, &member, item);
            continue;
        }
        for (size_t i = 0; i < json_array_size(item); i++) {
            struct json_path slot = {.parent = &member, .index = i};
            check_filter_group(filter, &slot, json_array_get(item, i), depth + 1);
        }
    }
}
/* NOLINTEND(misc-no-recursion) */

bool definition_is_group(struct str name, const json_t *value)
{
    return json_is_array(value) && (str_is(name, "or") || str_is(name, "and"));
}

void check_param_filter(const struct check *in, const struct json_path *at, const json_t *value)
{
    struct filter_check filter = {.in = in};

    check_filter_group(&filter, at, value, 0);
    if (filter.tests > in->param->max)
        check_fail(in, at, PROBLEM_TOO_LONG, "there are more than %zu conditions", in->param->max);
}

/* --- scripts and requests --- */

void check_param_script(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (!json_is_string(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected a text");
    else if (json_string_length(value) == 0)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must not be empty");
    else if (json_string_length(value) > in->param->max)
        check_fail(in, at, PROBLEM_TOO_LONG, "must be at most %zu bytes", in->param->max);
}

/* Whether the authority of the URL names a user, before an @ (RFC 3986 section 3.2.1). */
static bool has_user(struct str url)
{
    size_t at = 0;

    while (at + 2 < url.len && memcmp(url.ptr + at, "://", 3) != 0)
        at++;
    for (at += 3; at < url.len && !ascii_is_in(url.ptr[at], "/?#"); at++)
        if (url.ptr[at] == '@')
            return true;
    return false;
}

static bool url_is_ascii(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

void check_param_url(const struct check *in, const struct json_path *at, const json_t *value)
{
    const struct text_rule rule = {.max = in->param->max};
    struct str url;

    if (!check_text(in, at, value, &rule, &url))
        return;
    struct str stored = fetch_url_escape(in->arena, url);
    if (!schema_format_ok("url", url))
        check_fail(in, at, PROBLEM_PATTERN, "must be an absolute http or https address");
    else if (has_user(url))
        check_fail(
            in, at, PROBLEM_PATTERN, "must not name a user or a password: send them in a header");
    else if (!url_is_ascii(stored))
        check_fail(
            in, at, PROBLEM_PATTERN, "must have a host in ASCII: write other letters as xn--...");
    else if (stored.len > in->param->max)
        check_fail(in,
                   at,
                   PROBLEM_TOO_LONG,
                   "must be at most %zu characters after percent-encoding",
                   in->param->max);
}

void check_param_method(const struct check *in, const struct json_path *at, const json_t *value)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

    for (size_t i = 0; json_is_string(value) && i < ARRAY_LEN(methods); i++)
        if (str_is(json_text(value), methods[i]))
            return;
    check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must be one of: GET, POST, PUT, PATCH, DELETE");
}

static bool params_is_token(struct str text)
{
    return text.len >= 1 && text.len <= 100 && ascii_has_only(text, ASCII_ALNUM, ASCII_TOKEN_MARKS);
}

void check_param_headers(const struct check *in, const struct json_path *at, const json_t *value)
{
    static const struct text_rule rule = {.max = 4096, .allows_templates = true};
    const char *name;
    size_t len;
    json_t *item;

    if (!check_object(in, at, value))
        return;
    if (json_object_size(value) > in->param->max)
        check_fail(in, at, PROBLEM_TOO_LONG, "there are more than %zu headers", in->param->max);
    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        struct str ignored;
        if (!params_is_token(member.name))
            check_fail(in, &member, PROBLEM_PATTERN, "is not a header name");
        else if (fetch_header_is_reserved(member.name))
            check_fail(in, &member, PROBLEM_VALIDATION_FAILED, "is set by the connection itself");
        else
            (void)check_text(in, &member, item, &rule, &ignored);
    }
}

void check_param_path(const struct check *in, const struct json_path *at, const json_t *value)
{
    const struct text_rule rule = {.max = in->param->max};
    struct reference *ignored;
    struct str text;
    struct str error;

    if (check_text(in, at, value, &rule, &text) &&
        reference_parse_path(in->arena, text, &ignored, &error) != 0)
        check_fail(in, at, PROBLEM_PATTERN, "%.*s", STR_ARG(error));
}

/* --- the table --- */

enum { REQUIRED = 1, TEMPLATES = 2, SECRETS = 4 };

/* A row without a name begins an action, and ends the parameters of the action before it. */
static const struct step_param param_rows[] = {
#define STEP(constant, action, function, kind, seconds, about) {.step_action = (constant)},
#define PARAM(name_, flags, type, min_, max_, about)                                               \
    {.name = (name_),                                                                              \
     .is_required = ((flags)&REQUIRED) != 0,                                                       \
     .allows_templates = ((flags)&TEMPLATES) != 0,                                                 \
     .allows_secrets = ((flags)&SECRETS) != 0,                                                     \
     .check = check_param_##type,                                                                  \
     .min = (min_),                                                                                \
     .max = (max_)},
#include "catalog/step.def"
    {.step_action = STEP_ACTIONS},
};

const struct step_param *step_params(enum step_action action)
{
    const struct step_param *row = param_rows;

    while (row->name != NULL || row->step_action != action)
        row++;
    return row + 1;
}

/* --- checks --- */

bool check_has_param(const struct step_param *list, struct str name)
{
    for (; list->name != NULL; list++)
        if (str_is(name, list->name))
            return true;
    return false;
}

void check_param_list(const struct check *in,
                      const struct json_path *at,
                      const json_t *object,
                      const struct step_param *list)
{
    const char *name;
    size_t len;
    json_t *ignored;
    struct check inner = *in;

    for (const struct step_param *it = list; it->name != NULL; it++) {
        struct json_path member = {.parent = at, .name = str_from(it->name)};
        inner.param = it;
        const json_t *value = check_member(object, it->name);
        if (value != NULL)
            it->check(&inner, &member, value);
        else if (it->is_required)
            check_fail(in, &member, PROBLEM_REQUIRED, "is required");
    }
    json_object_keylen_foreach((json_t *)object, name, len, ignored)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        if (!check_has_param(list, member.name))
            check_fail(in, &member, PROBLEM_UNKNOWN_FIELD, "is not a known parameter");
    }
}

static void check_condition(const struct check *in, const struct json_path *at, struct step *step)
{
    struct str path;
    struct str error;

    if (condition_parse(in->arena, step->params, false, &step->condition, &path, &error) == 0)
        return;
    struct json_path inner = {.parent = at, .name = path};
    check_fail(in, path.len > 0 ? &inner : at, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(error));
}

/* Checks parameters that depend on each other. */
static void
check_dependent_params(const struct check *in, const struct json_path *at, const struct step *step)
{
    bool any_body =
        check_member(step->params, "body_text") || check_member(step->params, "body_html");

    bool own = !check_member(step->params, "template_type");

    if (step->action == STEP_SEND_EMAIL && own && !check_member(step->params, "subject")) {
        struct json_path member = {.parent = at, .name = STR("subject")};
        check_fail(in, &member, PROBLEM_REQUIRED, "is required");
    }
    if (step->action == STEP_SEND_EMAIL && own && !any_body) {
        struct json_path member = {.parent = at, .name = STR("body_text")};
        check_fail(in, &member, PROBLEM_REQUIRED, "body_text or body_html is required");
    }
    for (int i = 0; step->action == STEP_SEND_PUSH && i < 2; i++) {
        const char *name = i == 0 ? "title" : "body";
        struct json_path member = {.parent = at, .name = str_from(name)};
        if (!check_member(step->params, name) && !check_member(step->params, "template_type"))
            check_fail(in, &member, PROBLEM_REQUIRED, "is required without template_type");
    }
}

void check_params(const struct check *in, const struct json_path *at, struct step *step)
{
    if (step->action == STEP_CONDITION) {
        check_condition(in, at, step);
        return;
    }
    check_param_list(in, at, step->params, step_params(step->action));
    check_dependent_params(in, at, step);
}
