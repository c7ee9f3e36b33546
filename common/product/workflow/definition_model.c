/* Checks definitions against the data model: entities and fields that are named literally. */
#include "workflow/definition_private.h"

#define PATH_STEPS 4 /* relations that a filter or sort may pass through */

struct model_check {
    struct check check;
    const struct model *model;
};

/* Returns the entity, or NULL after adding a finding. */
static const struct entity *
definition_find_entity(const struct model_check *in, const struct json_path *at, struct str name)
{
    const struct entity *entity = model_entity(in->model, name);

    if (entity == NULL)
        check_fail(&in->check,
                   at,
                   PROBLEM_NOT_FOUND,
                   "there is no entity \"%.*s\"",
                   STR_ARG(text_shorten(in->check.arena, name)));
    return entity;
}

static void no_field(const struct model_check *in,
                     const struct json_path *at,
                     const struct entity *entity,
                     struct str name)
{
    check_fail(&in->check,
               at,
               PROBLEM_UNKNOWN_FIELD,
               "\"%.*s\" has no field \"%.*s\"",
               STR_ARG(entity->name),
               STR_ARG(text_shorten(in->check.arena, name)));
}

/* Checks that the members of `values` are fields that may be written. */
static void check_written(const struct model_check *in,
                          const struct json_path *at,
                          const struct entity *entity,
                          const json_t *values)
{
    const char *name;
    size_t len;
    json_t *ignored;

    json_object_keylen_foreach((json_t *)values, name, len, ignored)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        const struct model_field *field = entity_field(entity, member.name);
        if (field == NULL)
            no_field(in, &member, entity, member.name);
        else if (field->system)
            check_fail(&in->check, &member, PROBLEM_READ_ONLY, "is set by the service");
    }
}

/* Checks that a path like "author.country" leads through relations to a field that can be
 * compared. */
static void check_compared(const struct model_check *in,
                           const struct json_path *at,
                           const struct entity *entity,
                           struct str path)
{
    struct str rest = path;

    for (int steps = 0;; steps++) {
        const struct model_field *field = entity_field(entity, str_split(&rest, '.'));
        if (field == NULL || (rest.ptr != NULL && field->target == NULL)) {
            no_field(in, at, entity, path);
            return;
        }
        if (rest.ptr == NULL) {
            if (field->type == TYPE_SECRET)
                check_fail(&in->check,
                           at,
                           PROBLEM_VALIDATION_FAILED,
                           "is a secret field and cannot be compared");
            return;
        }
        if (steps == PATH_STEPS) {
            check_fail(&in->check, at, PROBLEM_OUT_OF_RANGE, "passes through too many relations");
            return;
        }
        entity = field->target;
    }
}

/* NOLINTBEGIN(misc-no-recursion): as deep as filters nest, which the parser has checked */
static void check_filter(const struct model_check *in,
                         const struct json_path *at,
                         const struct entity *entity,
                         const json_t *group)
{
    const char *name;
    size_t len;
    json_t *item;

    json_object_keylen_foreach((json_t *)group, name, len, item)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        if (!definition_is_group(member.name, item)) {
            check_compared(in, &member, entity, member.name);
            continue;
        }
        for (size_t i = 0; i < json_array_size(item); i++) {
            struct json_path slot = {.parent = &member, .index = i};
            check_filter(in, &slot, entity, json_array_get(item, i));
        }
    }
}
/* NOLINTEND(misc-no-recursion) */

/* Checks a list of fields, or of sort fields like "a,-b". */
static void check_list_text(const struct model_check *in,
                            const struct json_path *at,
                            const struct entity *entity,
                            struct str rest,
                            bool sort)
{
    while (rest.ptr != NULL) {
        struct str name = str_trim(str_split(&rest, ','));
        if (!sort) {
            if (entity_field(entity, name) == NULL)
                no_field(in, at, entity, name);
            continue;
        }
        if (str_starts(name, STR("-"))) {
            name.ptr++;
            name.len--;
        }
        check_compared(in, at, entity, name);
    }
}

static void definition_check_list(const struct model_check *in,
                                  const struct json_path *params,
                                  const struct entity *entity,
                                  const struct step *step,
                                  bool sort)
{
    const char *name = sort ? "sort" : "fields";
    const json_t *value = check_member(step->params, name);
    struct json_path at = {.parent = params, .name = str_from(name)};

    if (json_is_string(value))
        check_list_text(in, &at, entity, json_text(value), sort);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_path item = {.parent = &at, .index = i};
        check_list_text(in, &item, entity, json_text(json_array_get(value, i)), sort);
    }
}

static void check_items(const struct model_check *in,
                        const struct json_path *at,
                        const struct entity *entity,
                        const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct json_path item = {.parent = at, .index = i};
        check_written(in, &item, entity, json_array_get(items, i));
    }
}

static void check_data_step(const struct model_check *in,
                            const struct json_path *params,
                            const struct step *step)
{
    struct json_path entity_at = {.parent = params, .name = STR("entity")};
    struct json_path values_at = {.parent = params, .name = STR("values")};
    struct json_path filter_at = {.parent = params, .name = STR("filter")};
    struct json_path items_at = {.parent = params, .name = STR("items")};
    const struct entity *entity =
        definition_find_entity(in, &entity_at, json_text(json_object_get(step->params, "entity")));

    if (entity == NULL)
        return;
    check_written(in, &values_at, entity, check_member(step->params, "values"));
    check_items(in, &items_at, entity, check_member(step->params, "items"));
    check_filter(in, &filter_at, entity, check_member(step->params, "filter"));
    definition_check_list(in, params, entity, step, true);
    definition_check_list(in, params, entity, step, false);
}

static void check_push_step(const struct model_check *in,
                            const struct json_path *params,
                            const struct step *step)
{
    struct json_path audience = {.parent = params, .name = STR("audience")};
    struct json_path at = {.parent = &audience, .name = STR("owner_entity_name")};
    const json_t *name = check_member(check_member(step->params, "audience"), "owner_entity_name");

    if (name != NULL && !template_has_braces(json_text(name)))
        (void)definition_find_entity(in, &at, json_text(name));
}

struct filter_visit {
    const struct model_check *in;
    const struct entity *entity;
};

static int check_filter_name(const struct reference_view *view, void *arg)
{
    const struct filter_visit *visit = arg;
    struct json_path trigger = {.name = STR("trigger")};
    struct json_path filter = {.parent = &trigger, .name = STR("filter")};
    struct json_path at = {.parent = &filter, .name = view->path};

    if (entity_field(visit->entity, view->text) == NULL)
        no_field(visit->in, &at, visit->entity, view->text);
    return 0;
}

static void check_trigger_entity(const struct model_check *in, const struct definition *definition)
{
    struct json_path trigger = {.name = STR("trigger")};
    struct json_path at = {.parent = &trigger, .name = STR("entity")};

    if (!definition_has_record_event(definition))
        return;
    struct filter_visit visit = {in, definition_find_entity(in, &at, definition->entity)};
    if (visit.entity != NULL && definition->filter_condition != NULL)
        (void)condition_visit(definition->filter_condition, check_filter_name, &visit);
}

bool definition_check_model(struct arena *arena,
                            const struct definition *definition,
                            const struct model *model,
                            struct schema_errors *errors)
{
    struct model_check in = {.check = {.arena = arena, .errors = errors}, .model = model};
    size_t before = errors->count;

    check_trigger_entity(&in, definition);
    for (size_t i = 0; i < definition->step_count; i++) {
        const struct step *step = &definition->steps[i];
        struct step_paths paths;
        step_paths_init(&paths, definition, i);
        if (check_has_param(step_params(step->action), STR("entity")))
            check_data_step(&in, &paths.params, step);
        if (check_has_param(step_params(step->action), STR("audience")))
            check_push_step(&in, &paths.params, step);
    }
    return errors->count == before;
}
