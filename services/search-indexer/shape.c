/* Shapes, made from the model or from the field ids of a generation. */
#include "shape.h"

#include "base/strbuf.h"
#include "search/tokens.h"

#define TEXT_MAX 65536

static void shape_add(struct index_shape *fields, int64_t id, const struct model_field *field)
{
    struct shape_field *at = &fields->fields[fields->count++];

    *at = (struct shape_field){.id = id};
    if (field == NULL || !field_is_searched(field))
        return;
    at->field = field;
    if (field->type == TYPE_RELATION)
        at->display = entity_display(field->target);
}

bool shape_wanted(struct arena *arena, const struct entity *entity, struct index_shape *ret_shape)
{
    struct strbuf text;

    if (!entity->has_index)
        return false;
    *ret_shape = (struct index_shape){.entity = entity};
    ret_shape->fields = ARENA_ARRAY(arena, ret_shape->fields, entity->field_count);
    strbuf_init(&text, arena, TEXT_MAX);
    strbuf_printf(&text, "%d", TOKENS_VERSION);
    for (size_t i = 0; i < entity->field_count && ret_shape->count < SHAPE_FIELDS; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!field_is_searched(field))
            continue;
        shape_add(ret_shape, field->id, field);
        strbuf_printf(&text, " %lld%s", (long long)field->id, model_type_info(field->type)->name);
        if (field->type == TYPE_RELATION)
            strbuf_printf(&text, ":%lld", (long long)entity_display(field->target)->id);
    }
    ret_shape->text = strbuf_view(&text);
    return true;
}

void shape_of_fields(struct arena *arena,
                     const struct entity *entity,
                     struct sql_i64s field_ids,
                     struct index_shape *ret_shape)
{
    *ret_shape = (struct index_shape){.entity = entity};
    ret_shape->fields = ARENA_ARRAY(arena, ret_shape->fields, field_ids.count);
    for (size_t i = 0; i < field_ids.count; i++)
        shape_add(ret_shape,
                  field_ids.items[i],
                  entity->searchable ? entity_field_by_id(entity, field_ids.items[i]) : NULL);
}

struct sql_i64s shape_ids(struct arena *arena, const struct index_shape *fields)
{
    int64_t *ids = ARENA_ARRAY(arena, ids, fields->count);

    for (size_t i = 0; i < fields->count; i++)
        ids[i] = fields->fields[i].id;
    return sql_i64s(ids, fields->count);
}
