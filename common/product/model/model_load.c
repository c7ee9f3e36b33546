/*
 * Reads a model. One statement returns JSON arrays, which are parsed into the model's own arena, so
 * that names borrow from the parsed tree as long as the model lives. Fields are returned as one
 * line each.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/panic.h"
#include "json/jr.h"
#include "log/log.h"
#include "model/model.h"
#include "model_sql.h"

/* System columns have negative ids, which no stored field has. */
struct system_field {
    int64_t id;
    const char *name;
    enum model_type type;
    const char *example;
};
static const struct system_field system_first = {-1, "id", TYPE_INTEGER, "1"};
static const struct system_field system_last[] = {
    {-2, "created_at", TYPE_DATETIME, "\"2026-01-31T12:00:00.000Z\""},
    {-3, "updated_at", TYPE_DATETIME, "\"2026-01-31T12:00:00.000Z\""},
    {-4, "created_by", TYPE_INTEGER, "1"},
};
#define SYSTEM_FIELDS (1 + ARRAY_LEN(system_last))

static void model_free_map(void *map)
{
    map_free(map);
}

static struct map *new_map(struct arena *arena)
{
    struct map *map = map_new();

    arena_defer(arena, model_free_map, map);
    return map;
}

/* Parses an array that PostgreSQL printed. Anything else is a defect of ours. */
static const json_t *parse_array(struct arena *arena, struct str text, const char *column)
{
    struct jr_error error;
    json_t *root;

    int rc = jr_parse(arena, text, &root, &error);
    if (rc != 0 || !json_is_array(root))
        PANIC("model: column %s is not a JSON array: %s", column, rc != 0 ? error.text : "");
    return root;
}

static size_t count_lines(struct str text)
{
    size_t count = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '\n';
    return count;
}

/* Parses a jsonb value that was nested as text, so that its depth is limited on its own. */
static const json_t *parse_nested(struct arena *arena, struct str text)
{
    struct jr_error error;
    json_t *root;

    if (text.ptr == NULL)
        return NULL;
    if (jr_parse_stored(arena, text, &root, &error) != 0) {
        log_debug("model.bad_json", L_CSTR("reason", error.text));
        return NULL;
    }
    return root;
}

static int order_enums(const void *left, const void *right)
{
    return str_cmp(((const struct model_enum *)left)->name,
                   ((const struct model_enum *)right)->name);
}

static void load_enums(struct model *model, const json_t *items)
{
    model->enum_count = json_array_size(items);
    model->enums = ARENA_ARRAY(model->arena, model->enums, model->enum_count);
    for (size_t i = 0; i < model->enum_count; i++) {
        const json_t *item = json_array_get(items, i);
        const json_t *values = json_object_get(item, "values");
        size_t count = json_array_size(values);
        struct str *texts = ARENA_ARRAY(model->arena, texts, count);

        for (size_t k = 0; k < count; k++) {
            const json_t *value = json_array_get(values, k);
            texts[k] = (struct str){json_string_value(value), json_string_length(value)};
        }
        model->enums[i] = (struct model_enum){
            .name = jr_str(item, "name"),
            .values = texts,
            .count = count,
        };
    }
    if (model->enum_count > 1)
        qsort(model->enums, model->enum_count, sizeof(*model->enums), order_enums);
}

static int order_entities(const void *left, const void *right)
{
    return str_cmp(((const struct entity *)left)->name, ((const struct entity *)right)->name);
}

static int order_by_id(const void *left, const void *right)
{
    int64_t a = ((const struct model_index *)left)->id;
    int64_t b = ((const struct model_index *)right)->id;

    return (a > b) - (a < b);
}

static void load_entities(struct model *model, const json_t *items)
{
    model->entity_count = json_array_size(items);
    model->entities = ARENA_ARRAY(model->arena, model->entities, model->entity_count);
    model->by_id = ARENA_ARRAY(model->arena, model->by_id, model->entity_count);
    for (size_t i = 0; i < model->entity_count; i++) {
        const json_t *item = json_array_get(items, i);
        int64_t id = jr_i64(item, "id", 0);

        model->entities[i] = (struct entity){
            .id = id,
            .name = jr_str(item, "name"),
            .label = jr_str(item, "label"),
            .row_level_security = jr_bool(item, "row_level_security", true),
            .public_read = jr_bool(item, "public_read", false),
            .searchable = jr_bool(item, "searchable", true),
            .has_grants = jr_bool(item, "granted", true),
            .history_days = jr_i64(item, "history", 0),
            .by_name = new_map(model->arena),
            .table = arena_printf(model->arena, "e_%lld", (long long)id),
            .created_ms = jr_i64(item, "created", 0),
            .updated_ms = jr_i64(item, "updated", 0),
        };
        model->has_history = model->has_history || model->entities[i].history_days > 0;
    }
    if (model->entity_count > 1)
        qsort(model->entities, model->entity_count, sizeof(*model->entities), order_entities);
    for (size_t i = 0; i < model->entity_count; i++) {
        struct entity *entity = &model->entities[i];
        model->by_id[i] = (struct model_index){.id = entity->id, .entity = entity};
        (void)map_put(model->by_name, entity->name, entity);
    }
    if (model->entity_count > 1)
        qsort(model->by_id, model->entity_count, sizeof(*model->by_id), order_by_id);
}

/* Returns an entity of the model for writing, while the model is built. */
static struct entity *entity_mutable(const struct model *model, int64_t id)
{
    const struct entity *found = model_entity_by_id(model, id);

    return found != NULL ? &model->entities[found - model->entities] : NULL;
}

static void load_listeners(struct model *model, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        struct entity *entity = entity_mutable(model, jr_i64(item, "entity", 0));
        enum event_consumer consumer =
            str_is(jr_str(item, "source"), "search") ? CONSUMER_SEARCH : CONSUMER_WORKFLOWS;
        enum event_kind event = event_find(jr_str(item, "event"));

        if (entity == NULL || event >= ENTITY_EVENTS)
            continue;
        entity->events |= event_info(event)->bit;
        entity->payload_events |= event_info(event)->bit;
        model->payload_events = true;
        entity->consumers[event] |= (uint8_t)consumer;
    }
}

/* --- fields --- */

/* Returns the number nearest to `wanted` within the bounds of the field. */
static struct str
example_number(struct arena *arena, const struct model_field *field, double wanted)
{
    if (field->has_min && wanted < field->min)
        wanted = field->min;
    if (field->has_max && wanted > field->max)
        wanted = field->max;
    if (field->type == TYPE_INTEGER)
        return arena_printf(arena, "%.0f", wanted);
    return arena_printf(arena, "%.10g", wanted);
}

static struct str example_text(struct arena *arena, const struct model_field *field)
{
    struct str text = arena_printf(arena, "Sample %.*s", STR_ARG(field->name));

    if (field->max_length > 0 && text.len > (size_t)field->max_length)
        text.len = (size_t)field->max_length;
    return arena_printf(arena, "\"%.*s\"", STR_ARG(text));
}

static struct str example_enum(struct arena *arena, const struct model_field *field)
{
    if (field->values == NULL || field->values->count == 0)
        return STR("null");
    json_t *text = json_stringn(field->values->values[0].ptr, field->values->values[0].len);
    struct str printed = text != NULL ? jr_print(arena, text) : STR("null");
    json_decref(text);
    return printed;
}

/* Example values for documents, fixed by type: a document changes only with the model. */
static struct str field_example(struct arena *arena, const struct model_field *field)
{
    const struct model_type_info *type = model_type_info(field->type);

    if (type->traits & TRAIT_TEXT)
        return example_text(arena, field);
    if (type->traits & TRAIT_NUMBER)
        return example_number(arena, field, strtod(type->example, NULL));
    if (field->type == TYPE_ENUM)
        return example_enum(arena, field);
    return field->is_many ? STR("[1,2]") : str_from(type->example);
}

static struct str model_bound_text(struct arena *arena, const json_t *bound)
{
    return jr_number(bound, arena_alloc(arena, 32));
}

static void field_options(const struct model *model, struct model_field *field, const json_t *item)
{
    const json_t *options = parse_nested(model->arena, jr_str(item, "options"));
    const json_t *min = json_object_get(options, "min");
    const json_t *max = json_object_get(options, "max");
    int on_delete = model_on_delete_find(jr_str(options, "on_delete"));

    field->options = options;
    field->default_value = parse_nested(model->arena, jr_str(item, "default"));
    if (json_is_null(field->default_value))
        field->default_value = NULL;
    field->is_many = field->type == TYPE_RELATION && jr_bool(options, "many", false);
    field->max_length = jr_i64(options, "max_length", 0);
    field->has_min = json_is_number(min);
    field->min = json_number_value(min);
    field->min_text = model_bound_text(model->arena, min);
    field->has_max = json_is_number(max);
    field->max = json_number_value(max);
    field->max_text = model_bound_text(model->arena, max);
#define SEARCH_OPTION(member, ...) field->member = jr_i64(options, #member, 0);
#include "model/search_option.def"
    field->on_delete = on_delete < 0 ? ON_DELETE_RESTRICT : (enum model_on_delete)on_delete;
    if (field->type == TYPE_ENUM)
        field->values = model_enum_find(model, jr_str(options, "enum"));
    if (field->type == TYPE_RELATION)
        field->target = model_entity_by_id(model, jr_i64(item, "target", 0));
}

static bool load_field(const struct model *model, const json_t *item, struct model_field *field)
{
    enum model_type type = model_type_find(jr_str(item, "type"));

    if (type == TYPE_COUNT) {
        log_debug("model.unknown_type", L_I64("field", jr_i64(item, "id", 0)));
        return false;
    }
    *field = (struct model_field){
        .id = jr_i64(item, "id", 0),
        .name = arena_dup(model->arena, jr_str(item, "name")),
        .type = type,
        .required = jr_bool(item, "required", false),
        .unique = jr_bool(item, "unique", false),
        .indexed = jr_bool(item, "indexed", false),
        .searchable = jr_bool(item, "searchable", false),
        .is_public = jr_bool(item, "public", false),
        .entity = model_entity_by_id(model, jr_i64(item, "entity", 0)),
        .created_ms = jr_i64(item, "created", 0),
        .updated_ms = jr_i64(item, "updated", 0),
    };
    field->column = arena_printf(model->arena, "f_%lld", (long long)field->id);
    field_options(model, field, item);
    field->example = field_example(model->arena, field);
    return field->entity != NULL;
}

static void system_field_add(struct entity *entity, const struct system_field *info)
{
    struct str name = str_from(info->name);

    entity->fields[entity->field_count++] = (struct model_field){
        .id = info->id,
        .name = name,
        .type = info->type,
        .system = true,
        .is_public = info->id != system_last[2].id, /* created_by is not public */
        .unique = info->id == system_first.id,
        .indexed = info->id == system_first.id,
        .column = name,
        .example = str_from(info->example),
        .entity = entity,
        .created_ms = entity->created_ms,
        .updated_ms = entity->created_ms,
    };
}

/* co: Parses the fields line by line, because a large model has thousands. Frees the tree of each
 * line at once: kept with the model, the trees would be most of its memory and of the time to free
 * it. */
AWAITS static int model_read_fields(struct task *task,
                                    const struct model *model,
                                    struct str text,
                                    struct model_field *fields,
                                    size_t *ret_count)
{
    struct jr_error error;
    size_t count = 0;
    int rc = 0;

    while (rc == 0 && text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        struct str line = {text.ptr, end != NULL ? (size_t)(end - text.ptr) : text.len};
        size_t taken = line.len + (end != NULL);
        struct arena *scratch = arena_new(0);
        json_t *item;

        if (jr_parse(scratch, line, &item, &error) != 0)
            PANIC("model: a line is not valid JSON: %s", error.text);
        count += load_field(model, item, &fields[count]);
        arena_free(scratch);
        text = (struct str){text.ptr + taken, text.len - taken};
        rc = task_yield_if_due(task);
    }
    *ret_count = count;
    return rc;
}

/* Sets the fields of an entity: the first `count` of `fields`, between the system fields. */
static void entity_set_fields(struct model *model,
                              struct entity *entity,
                              const struct model_field *fields,
                              size_t count)
{
    entity->fields = ARENA_ARRAY(model->arena, entity->fields, count + SYSTEM_FIELDS);
    system_field_add(entity, &system_first);
    if (count > 0)
        memcpy(&entity->fields[entity->field_count], fields, count * sizeof(*fields));
    entity->field_count += count;
    for (size_t k = 0; k < ARRAY_LEN(system_last); k++)
        system_field_add(entity, &system_last[k]);
    for (size_t k = 0; k < entity->field_count; k++)
        (void)map_put(entity->by_name, entity->fields[k].name, &entity->fields[k]);
}

/* co: Fields are ordered by entity id, like by_id. `scratch`: valid while the model is read. */
AWAITS static int
load_fields(struct task *task, struct arena *scratch, struct model *model, struct str lines)
{
    struct model_field *fields = ARENA_ARRAY(scratch, fields, count_lines(lines));
    size_t count;
    size_t next = 0;

    TRY(model_read_fields(task, model, lines, fields, &count));
    for (size_t i = 0; i < model->entity_count; i++) {
        struct entity *entity = entity_mutable(model, model->by_id[i].id);
        size_t end = next;

        while (end < count && fields[end].entity == entity)
            end++;
        entity_set_fields(model, entity, &fields[next], end - next);
        next = end;
        TRY(task_yield_if_due(task));
    }
    return 0;
}

/* Links the relations to each entity, which every deletion of a record needs. */
static void load_referrers(struct model *model)
{
    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        for (size_t k = 0; k < entity->field_count; k++) {
            struct model_field *field = &entity->fields[k];
            struct entity *target =
                field->target != NULL ? entity_mutable(model, field->target->id) : NULL;
            if (target == NULL)
                continue;
            field->next_referrer = target->referrers;
            target->referrers = field;
        }
    }
}

/* --- search --- */

static void search_add_listener(struct entity *entity)
{
    for (size_t event = 0; event < ENTITY_EVENTS; event++) {
        entity->events |= event_info((enum event_kind)event)->bit;
        entity->consumers[event] |= CONSUMER_SEARCH;
    }
}

/* The search index consumes events of the records that it contains, and of records whose display
 * field it contains. */
static void load_search_flags(struct model *model)
{
    for (size_t i = 0; i < model->entity_count; i++) {
        struct entity *entity = &model->entities[i];
        for (size_t k = 0; entity->searchable && k < entity->field_count; k++) {
            const struct model_field *field = &entity->fields[k];
            if (!field_is_searched(field))
                continue;
            model->has_index = entity->has_index = true;
            if (field->type == TYPE_RELATION)
                entity_mutable(model, field->target->id)->display_indexed = true;
        }
    }
    for (size_t i = 0; i < model->entity_count; i++)
        if (model->entities[i].has_index || model->entities[i].display_indexed)
            search_add_listener(&model->entities[i]);
}

int model_load(struct task *task, struct db *db, struct model **ret_model)
{
    struct rows rows;

    int rc = db_query(task, db, SQL_MODEL_LOAD(), &rows);
    if (rc != 0)
        return rc;

    const struct sql_model_load_row row = sql_model_load_row(&rows, 0);
    struct arena *arena = arena_new(0);
    struct model *model = ARENA_NEW(arena, model);
    model->arena = arena;
    model->refs = 1;
    model->by_name = new_map(arena);
    model->statements = new_map(arena);
    model->version = row.model_version;
    model->live = row.live;
    load_enums(model, parse_array(arena, row.enums, "enums"));
    load_entities(model, parse_array(arena, row.entities, "entities"));
    struct arena *scratch = arena_new(0);
    rc = load_fields(task, scratch, model, row.fields);
    arena_free(scratch);
    if (rc != 0) {
        model_unref(model);
        return rc;
    }
    load_listeners(model, parse_array(arena, row.listeners, "listeners"));
    load_referrers(model);
    load_search_flags(model);
    *ret_model = model;
    return 0;
}
