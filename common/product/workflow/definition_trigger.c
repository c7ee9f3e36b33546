/* Checks triggers, and names their kinds. */
#include "base/ascii.h"
#include "base/timezone.h"
#include "workflow/definition_private.h"

/* --- members --- */

static bool trigger_read_text(const struct check *in,
                              const struct json_path *trigger,
                              const json_t *object,
                              const char *name,
                              struct str *ret_text)
{
    static const struct text_rule rule = {.max = 200};
    struct json_path at = {.parent = trigger, .name = str_from(name)};
    const json_t *value = check_member(object, name);

    if (value == NULL) {
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
        return false;
    }
    return check_text(in, &at, value, &rule, ret_text);
}

static void
trigger_read_late(const struct check *in, const struct json_path *trigger, const json_t *object)
{
    struct json_path at = {.parent = trigger, .name = STR("run_late")};
    struct str late = STR("once");

    if (check_member(object, "run_late") == NULL ||
        !trigger_read_text(in, trigger, object, "run_late", &late))
        return;
    in->definition->skips_late_ticks = str_is(late, "skip");
    if (!str_is(late, "skip") && !str_is(late, "once"))
        check_fail(in, &at, PROBLEM_OUT_OF_RANGE, "must be one of: once, skip");
}

static void
read_timed(const struct check *in, const struct json_path *trigger, const json_t *object)
{
    struct definition *definition = in->definition;
    struct json_path cron = {.parent = trigger, .name = STR("cron")};
    struct json_path zone = {.parent = trigger, .name = STR("timezone")};
    struct str error;

    trigger_read_late(in, trigger, object);
    if (trigger_read_text(in, trigger, object, "cron", &definition->cron_text) &&
        cron_parse(in->arena, definition->cron_text, &definition->cron, &error) != 0)
        check_fail(in, &cron, PROBLEM_PATTERN, "%.*s", STR_ARG(error));
    definition->timezone = STR("UTC");
    if (check_member(object, "timezone") == NULL)
        return;
    if (trigger_read_text(in, trigger, object, "timezone", &definition->timezone) &&
        timezone_find(definition->timezone) == NULL)
        check_fail(in, &zone, PROBLEM_NOT_FOUND, "is not a known time zone");
}

static void
trigger_read_filter(const struct check *in, const struct json_path *trigger, const json_t *value)
{
    struct json_path at = {.parent = trigger, .name = STR("filter")};
    struct str path;
    struct str error;

    in->definition->filter = value;
    if (condition_parse(in->arena, value, true, &in->definition->filter_condition, &path, &error) ==
        0)
        return;
    struct json_path inner = {.parent = &at, .name = path};
    check_fail(in, path.len > 0 ? &inner : &at, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(error));
}

static void
trigger_read_event(const struct check *in, const struct json_path *trigger, const json_t *object)
{
    struct definition *definition = in->definition;
    struct json_path at = {.parent = trigger, .name = STR("event")};
    struct json_path entity_at = {.parent = trigger, .name = STR("entity")};
    const json_t *entity = check_member(object, "entity");
    bool given = entity != NULL && !(json_is_string(entity) && json_string_length(entity) == 0);
    struct str name;

    if (check_member(object, "filter") != NULL)
        trigger_read_filter(in, trigger, check_member(object, "filter"));
    if (!trigger_read_text(in, trigger, object, "event", &name))
        return;
    enum event_kind event = event_find(name);
    if (event == EVENT_KINDS) {
        check_fail(in, &at, PROBLEM_OUT_OF_RANGE, "is not a known event");
        return;
    }
    definition->event = event;
    enum event_subject subject = event_info(event)->subject;
    if (subject == SUBJECT_RECORDS || (given && subject == SUBJECT_TAPS))
        (void)trigger_read_text(in, trigger, object, "entity", &definition->entity);
    else if (given)
        check_fail(in,
                   &entity_at,
                   PROBLEM_VALIDATION_FAILED,
                   "must be left out: %s has no entity",
                   event_name(event));
}

static bool route_ok(struct str route)
{
    return route.len >= 1 && route.len <= 64 && route.ptr[0] != '_' && route.ptr[0] != '-' &&
           ascii_has_only(route, ASCII_LOWER | ASCII_DIGIT, "_-");
}

static void
read_route(const struct check *in, const struct json_path *trigger, const json_t *object)
{
    struct json_path at = {.parent = trigger, .name = STR("route")};
    struct str given;

    if (!trigger_read_text(in, trigger, object, "route", &given))
        return;
    in->definition->route = arena_lower(in->arena, given);
    if (!route_ok(in->definition->route))
        check_fail(
            in,
            &at,
            PROBLEM_PATTERN,
            "must be one path segment of 1 to 64 letters, digits, \"_\" and \"-\", beginning "
            "with a letter or a digit");
}

/* --- kinds --- */

#define MEMBERS_MAX 5

static const struct {
    const char *name;
    const char *members[MEMBERS_MAX]; /* the last is NULL */
    void (*read)(const struct check *in, const struct json_path *trigger, const json_t *object);
} trigger_kinds[] = {
#define TRIGGER(constant, name, read, ...) [constant] = {name, {"kind", __VA_ARGS__}, read},
#include "catalog/trigger.def"
};

static const char kind_error[] = "must be one of: "
#define FIRST_TRIGGER(constant, name, read, ...) name
#define TRIGGER(constant, name, read, ...)       ", " name
#include "catalog/trigger.def"
    ;

const char *trigger_kind_name(enum trigger_kind kind)
{
    return trigger_kinds[kind].name;
}

static int find_kind(const json_t *value)
{
    for (size_t i = 0; json_is_string(value) && i < ARRAY_LEN(trigger_kinds); i++)
        if (str_is(json_text(value), trigger_kinds[i].name))
            return (int)i;
    return -1;
}

void check_trigger(struct check *in, const json_t *trigger)
{
    struct json_path at = {.name = STR("trigger")};
    struct json_path kind_at = {.parent = &at, .name = STR("kind")};

    if (trigger == NULL) {
        check_fail(in, &at, PROBLEM_REQUIRED, "is required");
        return;
    }
    if (!check_object(in, &at, trigger))
        return;
    const json_t *value = check_member(trigger, "kind");
    int kind = find_kind(value);
    if (kind < 0) {
        check_fail(in,
                   &kind_at,
                   value == NULL ? PROBLEM_REQUIRED : PROBLEM_OUT_OF_RANGE,
                   "%s",
                   kind_error);
        return;
    }
    in->definition->kind = (enum trigger_kind)kind;
    check_known(in, &at, trigger, trigger_kinds[kind].members);
    if (trigger_kinds[kind].read != NULL)
        trigger_kinds[kind].read(in, &at, trigger);
}
