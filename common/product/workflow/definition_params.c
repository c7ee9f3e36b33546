/* Parameters of the steps: what each action takes. */
#include "base/ascii.h"
#include "catalog/operator.h"
#include "workflow/definition_private.h"

#define SCRIPT_MAX    65536
#define URL_MAX       2048
#define HEADERS_MAX   50
#define ITEMS_MAX     1000
#define FILTER_DEPTH  5
#define FILTER_TESTS  50
#define FILTER_VALUES 500

/* --- shared --- */

void check_param_entity(const struct check *in, const struct place *at, const json_t *value)
{
    static const struct text_rule rule = {.max = 48};
    struct str ignored;

    (void)check_text(in, at, value, &rule, &ignored);
}

void check_param_id(const struct check *in, const struct place *at, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) >= 1)
        return;
    if (json_is_integer(value))
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must be at least 1");
    else if (!json_is_string(value) || !template_has_braces(json_text(value)))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an integer or a template");
}

void check_param_id_or_empty(const struct check *in, const struct place *at, const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) > 0)
        check_param_id(in, at, value);
}

static void check_any(const struct check *in, const struct place *at, const json_t *value)
{
    (void)in;
    (void)at;
    (void)value;
}

/* --- records --- */

static void check_values(const struct check *in, const struct place *at, const json_t *value)
{
    (void)check_object(in, at, value);
}

static void check_changes(const struct check *in, const struct place *at, const json_t *value)
{
    if (check_object(in, at, value) && json_object_size(value) == 0)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "names no field to change");
}

static void check_items(const struct check *in, const struct place *at, const json_t *value)
{
    size_t count = json_array_size(value);

    if (json_is_string(value)) {
        if (!template_is_single(in->arena, json_text(value)))
            check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
        return;
    }
    if (!json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
    else if (count < 1 || count > ITEMS_MAX)
        check_fail(in,
                   at,
                   count < 1 ? PROBLEM_OUT_OF_RANGE : PROBLEM_TOO_LONG,
                   "must have 1 to %d items",
                   ITEMS_MAX);
    else
        for (size_t i = 0; i < count; i++) {
            struct place item = {.parent = at, .index = i};
            (void)check_object(in, &item, json_array_get(value, i));
        }
}

/* "id,name" or ["id", "name"]. */
static void check_names(const struct check *in, const struct place *at, const json_t *value)
{
    static const struct text_rule rule = {.max = 500};
    struct str ignored;

    if (!json_is_array(value)) {
        (void)check_text(in, at, value, &rule, &ignored);
        return;
    }
    if (json_array_size(value) < 1 || json_array_size(value) > 100)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must have 1 to 100 items");
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct place item = {.parent = at, .index = i};
        (void)check_text(in, &item, json_array_get(value, i), &rule, &ignored);
    }
}

static void
check_number(const struct check *in, const struct place *at, const json_t *value, json_int_t most)
{
    if (!json_is_integer(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an integer");
    else if (json_integer_value(value) < 1 || json_integer_value(value) > most)
        check_fail(
            in, at, PROBLEM_OUT_OF_RANGE, "must be between 1 and %" JSON_INTEGER_FORMAT, most);
}

static void check_limit(const struct check *in, const struct place *at, const json_t *value)
{
    check_number(in, at, value, 500);
}

static void check_page(const struct check *in, const struct place *at, const json_t *value)
{
    check_number(in, at, value, 1000000);
}

/* --- filters of ReadData --- */

struct filter_check {
    const struct check *in;
    size_t tests;
};

static void
check_filter_list(const struct check *in, const struct place *at, const json_t *value, bool pair)
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
        struct place item_at = {.parent = at, .index = i};
        if (json_is_object(item) || json_is_array(item) || json_is_null(item))
            check_fail(
                in, &item_at, PROBLEM_TYPE_MISMATCH, "expected a text, a number or a boolean");
    }
}

static void check_filter_op(struct filter_check *filter,
                            const struct place *at,
                            struct str name,
                            const json_t *value)
{
    const struct check *in = filter->in;
    enum filter_op op = filter_op_find(name);
    enum operator_takes takes = op < OP_COUNT ? filter_operator(op)->takes : TAKES_NONE;

    if (op == OP_COUNT)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "is no operator: %s", filter_op_names);
    else if (takes == TAKES_LIST || takes == TAKES_PAIR)
        check_filter_list(in, at, value, takes == TAKES_PAIR);
    else if (takes == TAKES_FLAG && !json_is_boolean(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected true or false");
    else if (json_is_object(value) || json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected a text, a number, a boolean or null");
    filter->tests++;
}

static void
check_filter_field(struct filter_check *filter, const struct place *at, const json_t *value)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(value)) {
        check_filter_op(filter, at, STR("eq"), value);
        return;
    }
    if (json_object_size(value) == 0)
        check_fail(filter->in, at, PROBLEM_OUT_OF_RANGE, "names no operator");
    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct place op = {.parent = at, .name = {name, len}};
        check_filter_op(filter, &op, op.name, item);
    }
}

/* NOLINTBEGIN(misc-no-recursion): as deep as FILTER_DEPTH */
static void check_filter_group(struct filter_check *filter,
                               const struct place *at,
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
        struct place member = {.parent = at, .name = {name, len}};
        if (!definition_is_group(member.name, item)) {
            check_filter_field(filter, &member, item);
            continue;
        }
        for (size_t i = 0; i < json_array_size(item); i++) {
            struct place slot = {.parent = &member, .index = i};
            check_filter_group(filter, &slot, json_array_get(item, i), depth + 1);
        }
    }
}
/* NOLINTEND(misc-no-recursion) */

bool definition_is_group(struct str name, const json_t *value)
{
    return json_is_array(value) && (str_is(name, "or") || str_is(name, "and"));
}

static void check_filter(const struct check *in, const struct place *at, const json_t *value)
{
    struct filter_check filter = {.in = in};

    check_filter_group(&filter, at, value, 0);
    if (filter.tests > FILTER_TESTS)
        check_fail(in, at, PROBLEM_TOO_LONG, "there are more than %d conditions", FILTER_TESTS);
}

/* --- scripts and requests --- */

static void check_script(const struct check *in, const struct place *at, const json_t *value)
{
    if (!json_is_string(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected a text");
    else if (json_string_length(value) == 0)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must not be empty");
    else if (json_string_length(value) > SCRIPT_MAX)
        check_fail(in, at, PROBLEM_TOO_LONG, "must be at most %d bytes", SCRIPT_MAX);
}

/* RFC 3986 section 3.2.1: before an @ of the authority. */
static bool has_user(struct str url)
{
    size_t at = 0;

    while (at + 2 < url.len && memcmp(url.ptr + at, "://", 3) != 0)
        at++;
    for (at += 3; at < url.len && strchr("/?#", url.ptr[at]) == NULL; at++)
        if (url.ptr[at] == '@')
            return true;
    return false;
}

static void check_url(const struct check *in, const struct place *at, const json_t *value)
{
    static const struct text_rule rule = {.max = URL_MAX};
    struct str url;

    if (!check_text(in, at, value, &rule, &url))
        return;
    if (!schema_format_ok("url", url))
        check_fail(in, at, PROBLEM_PATTERN, "must be an absolute http or https address");
    else if (has_user(url))
        check_fail(
            in, at, PROBLEM_PATTERN, "must not name a user or a password: send them in a header");
}

static void check_method(const struct check *in, const struct place *at, const json_t *value)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};

    for (size_t i = 0; json_is_string(value) && i < ARRAY_LEN(methods); i++)
        if (str_is(json_text(value), methods[i]))
            return;
    check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must be one of: GET, POST, PUT, DELETE");
}

static bool is_token(struct str text)
{
    return text.len >= 1 && text.len <= 100 && ascii_only(text, ASCII_ALNUM, ASCII_TOKEN_MARKS);
}

/* What the connection itself sets. */
static bool is_framing(struct str name)
{
    static const char *const names[] = {"host",
                                        "content-length",
                                        "transfer-encoding",
                                        "connection",
                                        "upgrade",
                                        "te",
                                        "trailer",
                                        "expect",
                                        "keep-alive",
                                        "proxy-connection"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_from(names[i])))
            return true;
    return false;
}

static void check_headers(const struct check *in, const struct place *at, const json_t *value)
{
    static const struct text_rule rule = {.max = 4096, .templates = true};
    const char *name;
    size_t len;
    json_t *item;

    if (!check_object(in, at, value))
        return;
    if (json_object_size(value) > HEADERS_MAX)
        check_fail(in, at, PROBLEM_TOO_LONG, "there are more than %d headers", HEADERS_MAX);
    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct place member = {.parent = at, .name = {name, len}};
        struct str ignored;
        if (!is_token(member.name))
            check_fail(in, &member, PROBLEM_PATTERN, "is not a header name");
        else if (is_framing(member.name))
            check_fail(in, &member, PROBLEM_VALIDATION_FAILED, "is set by the connection itself");
        else
            (void)check_text(in, &member, item, &rule, &ignored);
    }
}

static void check_path(const struct check *in, const struct place *at, const json_t *value)
{
    static const struct text_rule rule = {.max = 500};
    struct reference *ignored;
    struct str text;
    struct str error;

    if (check_text(in, at, value, &rule, &text) &&
        reference_parse_path(in->arena, text, &ignored, &error) != 0)
        check_fail(in, at, PROBLEM_PATTERN, "%.*s", STR_ARG(error));
}

/* --- tables --- */

static const struct step_param create_params[] = {
    {.name = "entity", .required = true, .check = check_param_entity},
    {.name = "values", .required = true, .templates = true, .check = check_values},
    {.name = NULL},
};
static const struct step_param read_params[] = {
    {.name = "entity", .required = true, .check = check_param_entity},
    {.name = "id", .templates = true, .check = check_param_id},
    {.name = "filter", .templates = true, .check = check_filter},
    {.name = "sort", .check = check_names},
    {.name = "fields", .check = check_names},
    {.name = "limit", .check = check_limit},
    {.name = "page", .check = check_page},
    {.name = NULL},
};
static const struct step_param update_params[] = {
    {.name = "entity", .required = true, .check = check_param_entity},
    {.name = "id", .required = true, .templates = true, .check = check_param_id},
    {.name = "values", .required = true, .templates = true, .check = check_changes},
    {.name = NULL},
};
static const struct step_param delete_params[] = {
    {.name = "entity", .required = true, .check = check_param_entity},
    {.name = "id", .required = true, .templates = true, .check = check_param_id},
    {.name = NULL},
};
static const struct step_param bulk_params[] = {
    {.name = "entity", .required = true, .check = check_param_entity},
    {.name = "items", .required = true, .templates = true, .check = check_items},
    {.name = NULL},
};
static const struct step_param no_params[] = {{.name = NULL}};
static const struct step_param script_params[] = {
    {.name = "script", .required = true, .check = check_script},
    {.name = NULL},
};
static const struct step_param call_params[] = {
    {.name = "url", .required = true, .check = check_url},
    {.name = "method", .required = true, .check = check_method},
    {.name = "headers", .templates = true, .secrets = true, .check = check_headers},
    {.name = "body", .templates = true, .secrets = true, .check = check_any},
    {.name = "results_path", .check = check_path},
    {.name = NULL},
};

const struct step_param *step_params(enum step_action action)
{
    static const struct step_param *const tables[STEP_ACTIONS] = {
        [STEP_CREATE_DATA] = create_params,
        [STEP_READ_DATA] = read_params,
        [STEP_UPDATE_DATA] = update_params,
        [STEP_DELETE_DATA] = delete_params,
        [STEP_BULK_CREATE_DATA] = bulk_params,
        [STEP_CONDITION] = no_params,
        [STEP_RUN_SCRIPT] = script_params,
        [STEP_CALL_AN_API] = call_params,
        [STEP_SEND_PUSH] = push_params,
        [STEP_SEND_EMAIL] = email_params,
    };

    return tables[action];
}

/* --- checks --- */

static bool is_param(const struct step_param *params, struct str name)
{
    for (; params->name != NULL; params++)
        if (str_is(name, params->name))
            return true;
    return false;
}

void check_param_list(const struct check *in,
                      const struct place *at,
                      const json_t *object,
                      const struct step_param *params)
{
    const char *name;
    size_t len;
    json_t *ignored;

    for (const struct step_param *it = params; it->name != NULL; it++) {
        struct place member = {.parent = at, .name = str_from(it->name)};
        const json_t *value = check_member(object, it->name);
        if (value != NULL)
            it->check(in, &member, value);
        else if (it->required)
            check_fail(in, &member, PROBLEM_REQUIRED, "is required");
    }
    json_object_keylen_foreach((json_t *)object, name, len, ignored)
    {
        struct place member = {.parent = at, .name = {name, len}};
        if (!is_param(params, member.name))
            check_fail(in, &member, PROBLEM_UNKNOWN_FIELD, "is not a known parameter");
    }
}

static void check_condition(const struct check *in, const struct place *at, struct step *step)
{
    struct str path;
    struct str error;

    if (condition_parse(in->arena, step->params, false, &step->condition, &path, &error) == 0)
        return;
    struct place inner = {.parent = at, .name = path};
    check_fail(in, path.len > 0 ? &inner : at, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(error));
}

/* What one parameter demands of another. */
static void check_together(const struct check *in, const struct place *at, const struct step *step)
{
    const json_t *params = step->params;
    bool any_body = check_member(params, "body_text") || check_member(params, "body_html");

    if (step->action == STEP_SEND_EMAIL && !any_body) {
        struct place member = {.parent = at, .name = STR("body_text")};
        check_fail(in, &member, PROBLEM_REQUIRED, "body_text or body_html is required");
    }
    for (int i = 0; step->action == STEP_SEND_PUSH && i < 2; i++) {
        const char *name = i == 0 ? "title" : "body";
        struct place member = {.parent = at, .name = str_from(name)};
        if (!check_member(params, name) && !check_member(params, "template_type"))
            check_fail(in, &member, PROBLEM_REQUIRED, "is required without template_type");
    }
}

void check_params(const struct check *in, const struct place *at, struct step *step)
{
    if (step->action == STEP_CONDITION) {
        check_condition(in, at, step);
        return;
    }
    check_param_list(in, at, step->params, step_params(step->action));
    check_together(in, at, step);
}
