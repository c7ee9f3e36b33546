/* The part of the model that field rules let the caller see. */
#include "areas/model/visible_fields.h"

bool field_is_visible(const struct req *r, const struct model_field *field)
{
    return caller_has_all_rows(r->scope->caller) ||
           !caller_can_entity(r->scope->caller, field->entity->id, ACT_READ) ||
           caller_can_field(r->scope->caller, field, ACT_READ);
}

static bool is_limited(const struct entity_right *right)
{
    return (right->actions & (1U << ACT_READ)) != 0 && !right->fields[ACT_READ].all;
}

struct visible_fields visible_fields_read(struct req *r)
{
    const struct rights *rights =
        caller_has_all_rows(r->scope->caller) ? NULL : r->scope->caller->rights;
    size_t entity_count = rights ? rights->entity_count : 0;
    size_t capacity = 0;
    size_t limited = 0;
    size_t shown = 0;

    for (size_t i = 0; i < entity_count; i++)
        capacity += rights->entities[i].fields[ACT_READ].count;
    int64_t *entities = ARENA_ARRAY(r->task.arena, entities, entity_count + 1);
    int64_t *fields = ARENA_ARRAY(r->task.arena, fields, capacity + 1);
    for (size_t i = 0; i < entity_count; i++) {
        const struct entity_right *right = &rights->entities[i];
        if (!is_limited(right))
            continue;
        entities[limited++] = right->entity_id;
        for (size_t k = 0; k < right->fields[ACT_READ].count; k++)
            fields[shown++] = right->fields[ACT_READ].ids[k];
    }
    return (struct visible_fields){sql_i64s(entities, limited), sql_i64s(fields, shown)};
}
