/* The model snapshot: names, look-ups, references. See model_load.c for reading it. */
#include "model/model.h"

#include "base/arena.h"
#include "base/panic.h"
#include "json/schema.h"
#include "loop/work.h"

#define FREE_INLINE_BYTES ((size_t)128 * 1024) /* larger models are freed on a thread */

static const char *const on_delete_names[] = {
    [ON_DELETE_RESTRICT] = "restrict",
    [ON_DELETE_SET_NULL] = "set_null",
    [ON_DELETE_CASCADE] = "cascade",
};

static int name_index(const char *const *names, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, names[i]))
            return (int)i;
    return -1;
}

const char *model_on_delete_name(enum model_on_delete on_delete)
{
    MUST(on_delete < ARRAY_LEN(on_delete_names));
    return on_delete_names[on_delete];
}

int model_on_delete_find(struct str name)
{
    return name_index(on_delete_names, ARRAY_LEN(on_delete_names), name);
}

bool model_name_ok(struct str name)
{
    static const char *const taken[] = {"id", "created_at", "updated_at", "created_by"};

    return schema_format_ok("name", name) && !str_starts(name, STR("svc_")) &&
           name_index(taken, ARRAY_LEN(taken), name) < 0;
}

struct model *model_ref(struct model *model)
{
    MUST(model->refs > 0);
    model->refs++;
    return model;
}

static void free_arena(void *arena)
{
    arena_free(arena);
}

void model_unref(struct model *model)
{
    if (model == NULL)
        return;
    MUST(model->refs > 0);
    if (--model->refs > 0)
        return;
    /* The arena contains the model itself. */
    if (arena_held_bytes(model->arena) <= FREE_INLINE_BYTES)
        arena_free(model->arena);
    else
        work_post(free_arena, model->arena);
}

static void model_unref_deferred(void *model)
{
    model_unref(model);
}

void model_attach(struct arena *arena, struct model *model)
{
    arena_defer(arena, model_unref_deferred, model);
}

const struct entity *model_entity(const struct model *model, struct str name)
{
    return map_get(model->by_name, name);
}

const struct entity *model_entity_by_id(const struct model *model, int64_t id)
{
    size_t low = 0;
    size_t high = model->entity_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->by_id[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->entity_count && model->by_id[low].id == id ? model->by_id[low].entity
                                                                   : NULL;
}

const struct model_field *entity_field(const struct entity *entity, struct str name)
{
    return map_get(entity->by_name, name);
}

const struct model_field *entity_field_by_id(const struct entity *entity, int64_t id)
{
    for (size_t i = 0; i < entity->field_count; i++)
        if (entity->fields[i].id == id)
            return &entity->fields[i];
    return NULL;
}

const struct model_enum *model_enum_find(const struct model *model, struct str name)
{
    size_t low = 0;
    size_t high = model->enum_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(model->enums[middle].name, name);
        if (order == 0)
            return &model->enums[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

unsigned entity_consumers(const struct entity *entity, enum event_kind event)
{
    MUST(event < ENTITY_EVENTS);
    return entity->consumers[event];
}

bool entity_has_only_search(const struct entity *entity, enum event_kind event)
{
    return entity_consumers(entity, event) == CONSUMER_SEARCH &&
           (entity->payload_events & event_info(event)->bit) == 0;
}

static bool is_text(const struct model_field *field)
{
    return !field->system && (model_type_info(field->type)->traits & TRAIT_TEXT) != 0;
}

const struct model_field *entity_display(const struct entity *entity)
{
    const struct model_field *first = NULL;

    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!is_text(field))
            continue;
        if (field->searchable)
            return field;
        if (first == NULL)
            first = field;
    }
    return first;
}

bool field_is_searched(const struct model_field *field)
{
    if (!field->searchable || field->system)
        return false;
    if (field->type == TYPE_RELATION)
        return !field->is_many && field->target != NULL && entity_display(field->target) != NULL;
    return (model_type_info(field->type)->traits & TRAIT_SEARCH) != 0;
}
