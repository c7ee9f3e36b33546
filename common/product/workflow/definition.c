/* Workflow definitions: the document and its steps. */
#include "workflow/definition.h"

#include <stdarg.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "workflow/definition_private.h"

#define NAME_MAX_CHARS 200
#define KEY_MAX        48
#define TIMEOUT_MAX_S  3600

static const struct {
    const char *name;
    int seconds; /* default timeout */
} actions[STEP_ACTIONS] = {
#define STEP(constant, action, function, kind, seconds, about) [constant] = {action, seconds},
#include "catalog/step.def"
};

/* Each name has a comma in front of it. */
static const char action_names[] =
#define STEP(constant, action, function, kind, seconds, about) ", " action
#include "catalog/step.def"
    ;

const char *step_action_name(enum step_action action)
{
    return actions[action].name;
}

/* Accepts "Create Data" as well as "CreateData". Returns -1 for an unknown action. */
static int find_action(struct str text)
{
    char name[32];
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ')
            continue;
        if (len == sizeof(name))
            return -1;
        name[len++] = text.ptr[i];
    }
    for (int i = 0; i < STEP_ACTIONS; i++)
        if (str_is((struct str){name, len}, actions[i].name))
            return i;
    return -1;
}

/* --- shared by all checks --- */

void check_fail(
    const struct check *in, const struct json_path *at, enum problem code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(in->arena, format, args);
    va_end(args);
    schema_error_add(
        in->arena, in->errors, json_path_print(in->arena, at), code, "%.*s", STR_ARG(message));
}

const json_t *check_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_null(value) ? NULL : value;
}

static bool definition_is_listed(struct str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_is(name, *names))
            return true;
    return false;
}

void check_known(const struct check *in,
                 const struct json_path *at,
                 const json_t *object,
                 const char *const *names)
{
    const char *name;
    size_t len;
    json_t *ignored;

    json_object_keylen_foreach((json_t *)object, name, len, ignored)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        if (!definition_is_listed(member.name, names))
            check_fail(in, &member, PROBLEM_UNKNOWN_FIELD, "is not a known member");
    }
}

bool check_object(const struct check *in, const struct json_path *at, const json_t *value)
{
    if (json_is_object(value))
        return true;
    check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected an object");
    return false;
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return true;
    return false;
}

bool check_text(const struct check *in,
                const struct json_path *at,
                const json_t *value,
                const struct text_rule *rule,
                struct str *ret_text)
{
    struct str text = json_text(value);

    if (!json_is_string(value))
        check_fail(in, at, PROBLEM_TYPE_MISMATCH, "expected a text");
    else if (text.len == 0)
        check_fail(in, at, PROBLEM_OUT_OF_RANGE, "must not be empty");
    else if (text.len > rule->max && utf8_length(text) > rule->max)
        check_fail(in, at, PROBLEM_TOO_LONG, "must be at most %zu characters", rule->max);
    else if (!rule->allows_templates && template_has_braces(text))
        check_fail(in,
                   at,
                   PROBLEM_VALIDATION_FAILED,
                   "must be a fixed text: templates are not evaluated here");
    else if (!rule->allows_lines && has_control(text))
        check_fail(in, at, PROBLEM_PATTERN, "must be one line without control characters");
    else {
        *ret_text = text;
        return true;
    }
    return false;
}

void step_paths_init(struct step_paths *paths, const struct definition *definition, size_t index)
{
    paths->steps = (struct json_path){.name = STR("steps")};
    paths->step = (struct json_path){
        .parent = &paths->steps, .index = index, .label = definition->steps[index].key};
    paths->params = (struct json_path){.parent = &paths->step, .name = STR("params")};
}

/* --- steps --- */

static const char *const step_members[] = {
    "key", "name", "action", "enabled", "params", "next", "on_failure", "timeout_seconds", NULL};
static const char *const condition_members[] = {"key",
                                                "name",
                                                "action",
                                                "enabled",
                                                "params",
                                                "then",
                                                "else",
                                                "on_failure",
                                                "timeout_seconds",
                                                NULL};
static const char *const any_members[] = {"key",
                                          "name",
                                          "action",
                                          "enabled",
                                          "params",
                                          "next",
                                          "then",
                                          "else",
                                          "on_failure",
                                          "timeout_seconds",
                                          NULL};

static int definition_find_step(const struct definition *definition, struct str key)
{
    for (size_t i = 0; i < definition->step_count; i++)
        if (key.len > 0 && str_eq(definition->steps[i].key, key))
            return (int)i;
    return STEP_NONE;
}

static bool definition_key_ok(struct str key)
{
    return key.len >= 1 && key.len <= KEY_MAX &&
           ascii_has_only(key, ASCII_LOWER | ASCII_DIGIT, "_");
}

/* The keys of all steps are read before anything else: links and the places of findings need
 * them. */
static void definition_read_key(struct check *in, size_t index, const json_t *object)
{
    struct definition *definition = in->definition;
    struct step_paths paths;
    const json_t *value = check_member(object, "key");
    struct str key = json_text(value);

    step_paths_init(&paths, definition, index);
    struct json_path at = {.parent = &paths.step, .name = STR("key")};
    if (!json_is_object(object))
        return;
    if (value == NULL)
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
    else if (!definition_key_ok(key))
        check_fail(in, &at, PROBLEM_PATTERN, "must be 1 to 48 of a-z, 0-9 and \"_\"");
    else if (definition_find_step(definition, key) != STEP_NONE)
        check_fail(in,
                   &at,
                   PROBLEM_ALREADY_EXISTS,
                   "steps[%d] already has the key \"%.*s\"",
                   definition_find_step(definition, key),
                   STR_ARG(key));
    else {
        definition->steps[index].key = key;
        return;
    }
    in->has_invalid_links = true;
}

static int
read_link(struct check *in, const struct json_path *step, const json_t *object, const char *name)
{
    struct json_path at = {.parent = step, .name = str_from(name)};
    const json_t *value = check_member(object, name);

    if (value == NULL)
        return STEP_NONE;
    int target = definition_find_step(in->definition, json_text(value));
    if (target != STEP_NONE)
        return target;
    in->has_invalid_links = true;
    if (!json_is_string(value))
        check_fail(in, &at, PROBLEM_TYPE_MISMATCH, "expected the key of a step");
    else
        check_fail(in,
                   &at,
                   PROBLEM_NOT_FOUND,
                   "there is no step \"%.*s\"",
                   STR_ARG(text_shorten(in->arena, json_text(value))));
    return STEP_NONE;
}

static void
read_flag(const struct check *in, const struct json_path *up, const json_t *object, bool *ret_flag)
{
    struct json_path at = {.parent = up, .name = STR("enabled")};
    const json_t *value = check_member(object, "enabled");

    *ret_flag = value == NULL || json_is_true(value);
    if (value != NULL && !json_is_boolean(value))
        check_fail(in, &at, PROBLEM_TYPE_MISMATCH, "expected true or false");
}

static void read_timeout(const struct check *in,
                         const struct json_path *step_at,
                         const json_t *object,
                         struct step *step)
{
    struct json_path at = {.parent = step_at, .name = STR("timeout_seconds")};
    const json_t *value = check_member(object, "timeout_seconds");

    step->timeout_ms = (int64_t)actions[step->action].seconds * 1000;
    if (value == NULL)
        return;
    json_int_t seconds = json_integer_value(value);
    if (!json_is_integer(value))
        check_fail(in, &at, PROBLEM_TYPE_MISMATCH, "expected an integer");
    else if (seconds < 1 || seconds > TIMEOUT_MAX_S)
        check_fail(in, &at, PROBLEM_OUT_OF_RANGE, "must be between 1 and %d", TIMEOUT_MAX_S);
    else
        step->timeout_ms = seconds * 1000;
}

static bool read_action(const struct check *in,
                        const struct json_path *step_at,
                        const json_t *object,
                        struct step *step)
{
    struct json_path at = {.parent = step_at, .name = STR("action")};
    const json_t *value = check_member(object, "action");
    int action = find_action(json_text(value));

    if (action >= 0) {
        step->action = (enum step_action)action;
        return true;
    }
    if (value == NULL)
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
    else
        check_fail(in, &at, PROBLEM_OUT_OF_RANGE, "must be one of: %s", action_names + 2);
    return false;
}

static const json_t *read_params(const struct check *in, const json_t *object)
{
    const json_t *params = check_member(object, "params");

    return params != NULL ? params : jr_attach(in->arena, json_object());
}

static void definition_read_links(struct check *in,
                                  const struct json_path *step_at,
                                  const json_t *object,
                                  struct step *step)
{
    bool condition = step->action == STEP_CONDITION;

    step->on_failure = read_link(in, step_at, object, "on_failure");
    if (condition) {
        step->on_true = read_link(in, step_at, object, "then");
        step->on_false = read_link(in, step_at, object, "else");
    } else {
        step->next = read_link(in, step_at, object, "next");
    }
}

static void read_step(struct check *in, size_t index, const json_t *object)
{
    static const struct text_rule rule = {.max = NAME_MAX_CHARS};
    struct step *step = &in->definition->steps[index];
    struct step_paths paths;

    step_paths_init(&paths, in->definition, index);
    if (!check_object(in, &paths.step, object)) {
        in->has_invalid_links = true;
        return;
    }
    struct json_path name_at = {.parent = &paths.step, .name = STR("name")};
    const json_t *name = check_member(object, "name");
    if (name != NULL && !(json_is_string(name) && json_string_length(name) == 0))
        (void)check_text(in, &name_at, name, &rule, &step->name);
    read_flag(in, &paths.step, object, &step->enabled);
    step->params = read_params(in, object);
    if (!read_action(in, &paths.step, object, step)) {
        check_known(in, &paths.step, object, any_members);
        in->has_invalid_links = true;
        return;
    }
    check_known(
        in, &paths.step, object, step->action == STEP_CONDITION ? condition_members : step_members);
    definition_read_links(in, &paths.step, object, step);
    read_timeout(in, &paths.step, object, step);
    if (check_object(in, &paths.params, step->params))
        check_params(in, &paths.params, step);
}

static void read_steps(struct check *in, const json_t *steps)
{
    struct json_path at = {.name = STR("steps")};
    struct definition *definition = in->definition;
    size_t count = json_array_size(steps);

    in->has_invalid_links = true; /* until the steps have been found */
    if (steps == NULL)
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
    else if (!json_is_array(steps))
        check_fail(in, &at, PROBLEM_TYPE_MISMATCH, "expected an array");
    else if (count < 1 || count > STEPS_MAX)
        check_fail(in,
                   &at,
                   count < 1 ? PROBLEM_OUT_OF_RANGE : PROBLEM_TOO_LONG,
                   "must have 1 to %d steps",
                   STEPS_MAX);
    else
        in->has_invalid_links = false;
    if (in->has_invalid_links)
        return;
    definition->steps = ARENA_ARRAY(in->arena, definition->steps, count);
    definition->step_count = count;
    for (size_t i = 0; i < count; i++) {
        struct step *step = &definition->steps[i];
        step->next = step->on_failure = step->on_true = step->on_false = STEP_NONE;
        definition_read_key(in, i, json_array_get(steps, i));
    }
    for (size_t i = 0; i < count; i++)
        read_step(in, i, json_array_get(steps, i));
}

/* --- the document --- */

static void definition_read_name(const struct check *in, const json_t *doc)
{
    static const struct text_rule rule = {.max = NAME_MAX_CHARS};
    struct json_path at = {.name = STR("name")};
    const json_t *value = check_member(doc, "name");

    if (value == NULL)
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
    else
        (void)check_text(in, &at, value, &rule, &in->definition->name);
}

/* Distinguishes members that the service sets itself from unknown members. */
static void check_doc_members(const struct check *in, const json_t *doc)
{
    static const char *const known[] = {"name", "enabled", "trigger", "start_step", "steps", NULL};
    static const char *const own[] = {"id", "version", "created_at", "updated_at", NULL};
    const char *name;
    size_t len;
    json_t *ignored;

    json_object_keylen_foreach((json_t *)doc, name, len, ignored)
    {
        struct json_path at = {.name = {name, len}};
        if (definition_is_listed(at.name, own))
            check_fail(in, &at, PROBLEM_READ_ONLY, "is set by the service");
        else if (!definition_is_listed(at.name, known))
            check_fail(in, &at, PROBLEM_UNKNOWN_FIELD, "is not a known field");
    }
}

bool definition_parse(struct arena *arena,
                      const json_t *doc,
                      struct definition *ret_definition,
                      struct schema_errors *errors)
{
    struct check in = {.arena = arena, .errors = errors, .definition = ret_definition};
    size_t before = errors->count;

    *ret_definition = (struct definition){.start = 0};
    if (!check_object(&in, NULL, doc))
        return false;
    check_doc_members(&in, doc);
    definition_read_name(&in, doc);
    read_flag(&in, NULL, doc, &ret_definition->enabled);
    check_trigger(&in, check_member(doc, "trigger"));
    read_steps(&in, check_member(doc, "steps"));
    int start = read_link(&in, NULL, doc, "start_step");
    ret_definition->start = start != STEP_NONE ? start : 0;
    if (!in.has_invalid_links)
        check_graph(&in);
    return errors->count == before;
}
