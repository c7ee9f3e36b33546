/* Checks the parameters of steps that send something to people: push notifications and mail. */
#include "workflow/definition_private.h"

#define TEXT_LINE_MAX 998 /* RFC 5322 section 2.1.1 */
#define USERS_MAX     10000

/* --- mail --- */

void check_param_address(const struct check *in, const struct json_path *at, const json_t *value)
{
    static const struct text_rule rule = {.max = TEXT_LINE_MAX, .allows_templates = true};
    struct str address;

    if (check_text(in, at, value, &rule, &address) && !template_has_braces(address) &&
        !schema_format_ok("email", address))
        check_fail(in, at, PROBLEM_PATTERN, "must be an e-mail address");
}

void check_param_addresses(const struct check *in, const struct json_path *at, const json_t *value)
{
    size_t count = json_array_size(value);

    if (!json_is_array(value)) {
        check_param_address(in, at, value);
        return;
    }
    if (count < in->param->min || count > in->param->max)
        check_fail(in,
                   at,
                   count < 1 ? PROBLEM_OUT_OF_RANGE : PROBLEM_TOO_LONG,
                   "must have %zu to %zu addresses",
                   in->param->min,
                   in->param->max);
    for (size_t i = 0; i < count; i++) {
        struct json_path item = {.parent = at, .index = i};
        check_param_address(in, &item, json_array_get(value, i));
    }
}

/* --- push --- */

#define A_LINE .allows_templates = true, .check = check_param_line, .min = 1, .max = TEXT_LINE_MAX

static const struct step_param button_params[] = {
    {.name = "id", .is_required = true, A_LINE},
    {.name = "label", .is_required = true, A_LINE},
    {.name = "click_action", A_LINE},
    {.name = NULL},
};

static bool is_single(const struct check *in, const json_t *value)
{
    return json_is_string(value) && template_is_single(in->arena, json_text(value));
}

void check_param_buttons(const struct check *in, const struct json_path *at, const json_t *value)
{
    size_t count = json_array_size(value);

    if (is_single(in, value))
        return;
    if (!json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
    else if (count > in->param->max)
        check_fail(in, at, PROBLEM_TOO_LONG, "must have at most %zu buttons", in->param->max);
    for (size_t i = 0; i < count; i++) {
        struct json_path item = {.parent = at, .index = i};
        const json_t *button = json_array_get(value, i);
        if (check_object(in, &item, button))
            check_param_list(in, &item, button, button_params);
    }
}

void check_param_data(const struct check *in, const struct json_path *at, const json_t *value)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!check_object(in, at, value))
        return;
    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        if (!json_is_string(item))
            check_fail(in, &member, PROBLEM_TYPE_MISMATCH, "expected a text");
    }
}

static void
send_check_users(const struct check *in, const struct json_path *at, const json_t *value)
{
    size_t count = json_array_size(value);

    if (is_single(in, value))
        return;
    if (!json_is_array(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an array or one expression");
    else if (count < 1 || count > USERS_MAX)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must have 1 to %d ids", USERS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct json_path item = {.parent = at, .index = i};
        check_param_id(in, &item, json_array_get(value, i));
    }
}

static void
check_id_or_empty(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) > 0)
        check_param_id(in, at, value);
}

static void check_kind(const struct check *in, const struct json_path *at, const json_t *value)
{
    check_param_any(in, at, value); /* check_param_audience() has checked the kind */
}

static void check_provider(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (!str_is(json_text(value), "fcm") && !str_is(json_text(value), "web_push"))
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must be one of: fcm, web_push");
}

#define AUDIENCE_KIND                                                                              \
    {                                                                                              \
        .name = "kind", .is_required = true, .check = check_kind                                   \
    }
#define AUDIENCE_PROVIDER                                                                          \
    {                                                                                              \
        .name = "provider", .check = check_provider                                                \
    }

static const struct step_param user_params[] = {
    AUDIENCE_KIND,
    {.name = "user_id", .check = check_id_or_empty},
    AUDIENCE_PROVIDER,
    {.name = NULL},
};
static const struct step_param users_params[] = {
    AUDIENCE_KIND,
    {.name = "user_ids", .is_required = true, .check = send_check_users},
    AUDIENCE_PROVIDER,
    {.name = NULL},
};
static const struct step_param entity_params[] = {
    AUDIENCE_KIND,
    {.name = "owner_entity_name", .is_required = true, A_LINE},
    {.name = "owner_entity_id", .check = check_id_or_empty},
    AUDIENCE_PROVIDER,
    {.name = NULL},
};
static const struct step_param all_params[] = {
    AUDIENCE_KIND,
    AUDIENCE_PROVIDER,
    {.name = NULL},
};

void check_param_audience(const struct check *in, const struct json_path *at, const json_t *value)
{
    static const struct {
        const char *kind;
        const struct step_param *params;
    } audiences[] = {
        {"user", user_params},
        {"users", users_params},
        {"entity", entity_params},
        {"all", all_params},
    };

    if (!check_object(in, at, value))
        return;
    const json_t *kind = check_member(value, "kind");
    for (size_t i = 0; i < ARRAY_LEN(audiences); i++) {
        if (str_is(json_text(kind), audiences[i].kind)) {
            check_param_list(in, at, value, audiences[i].params);
            return;
        }
    }
    struct json_path member = {.parent = at, .name = STR("kind")};
    check_fail(in,
               &member,
               kind == NULL ? PROBLEM_REQUIRED : PROBLEM_OUT_OF_RANGE,
               "must be one of: user, users, entity, all");
}
