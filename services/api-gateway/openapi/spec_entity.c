/* Fields of entities as OpenAPI schemas, and which fields a caller may see. */
#include "openapi/spec_entity.h"

#include "base/map.h"
#include "openapi/parts.h"

/* --- names --- */

/* Returns the name without underscores. Generators write order_item and orderitem as the same
 * class, or as classes whose files differ only in case, which some file systems ignore. */
static struct str name_fold(struct arena *arena, struct str name)
{
    char *text = arena_alloc(arena, name.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '_')
            text[len++] = name.ptr[i];
    }
    return (struct str){text, len};
}

/* Whether generators rename the name, or the name is a type of a language that they write. */
static bool name_is_reserved(struct str name)
{
    static const char *const taken[] = {"any",     "array",  "boolean",  "date",    "enum",
                                        "error",   "file",   "function", "integer", "list",
                                        "map",     "model",  "null",     "number",  "object",
                                        "problem", "record", "set",      "string",  "type",
                                        "void",    "symbol", "double",   "request", "response"};

    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (str_is(name, taken[i]))
            return true;
    }
    return false;
}

static void spec_entity_free_map(void *map)
{
    map_free(map);
}

/* Maps each folded name to the oldest entity that has it. The oldest entity keeps its plain name,
 * so that a new entity renames no other. */
static struct map *oldest_entities(const struct openapi_request *about)
{
    struct map *oldest = map_new();

    arena_defer(about->arena, spec_entity_free_map, oldest);
    for (size_t i = 0; i < about->model->entity_count; i++) {
        const struct entity *entity = &about->model->entities[i];
        struct str name = name_fold(about->arena, entity->name);
        const struct entity *other = map_get(oldest, name);
        if (other == NULL || entity->id < other->id)
            (void)map_put(oldest, name, (void *)entity);
    }
    return oldest;
}

/* No entity's name contains '-', so a component with an appended id is unique. */
struct entity_doc *entity_docs(const struct openapi_request *about)
{
    const struct model *model = about->model;
    struct entity_doc *docs = ARENA_ARRAY(about->arena, docs, model->entity_count);
    struct map *plain = oldest_entities(about);

    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        struct str name = name_fold(about->arena, entity->name);
        bool keeps = map_get(plain, name) == entity && !name_is_reserved(name);
        docs[i] = (struct entity_doc){
            .entity = entity,
            .inputs = about,
            .component =
                keeps
                    ? entity->name
                    : arena_printf(
                          about->arena, "%.*s-%lld", STR_ARG(entity->name), (long long)entity->id),
            .can_read = caller_can_entity(about->caller, entity->id, ACT_READ),
            .can_create = caller_can_entity(about->caller, entity->id, ACT_CREATE),
            .can_update = caller_can_entity(about->caller, entity->id, ACT_UPDATE),
        };
    }
    return docs;
}

/* --- access --- */

struct field_rights entity_field_rights(const struct entity_doc *doc,
                                        const struct model_field *field)
{
    struct field_rights access = {true, true, true};

    if (!doc->inputs->readable_only && !doc->can_read && !doc->can_create && !doc->can_update)
        return access;
    access.can_read = doc->can_read && caller_can_field(doc->inputs->caller, field, ACT_READ);
    if (doc->inputs->readable_only && !access.can_read)
        return (struct field_rights){0};
    access.can_create = doc->can_create ? caller_can_field(doc->inputs->caller, field, ACT_CREATE)
                                        : access.can_read;
    access.can_update = doc->can_update ? caller_can_field(doc->inputs->caller, field, ACT_UPDATE)
                                        : access.can_read;
    return access;
}

bool field_is_shown(struct field_rights access)
{
    return access.can_read || access.can_create || access.can_update;
}

/* --- one field --- */

/* Writes all digits of a bound: a decimal may have more digits than a double. */
static void
spec_entity_put_bound(struct jw *w, const char *key, const struct model_field *field, bool most)
{
    struct str text = most ? field->max_text : field->min_text;

    if (field->type != TYPE_DECIMAL || text.len == 0) {
        openapi_number(w, key, most ? field->max : field->min);
        return;
    }
    jw_lit(w, key);
    jw_raw(w, text);
}

/* A nullable enum must list null (OpenAPI 3.0.3, proposal "clarify nullable"). */
static void put_enum_values(struct jw *w, const struct model_field *field, bool nullable)
{
    if (field->values == NULL || field->values->count == 0)
        return;
    jw_lit(w, "enum");
    jw_arr(w);
    for (size_t i = 0; i < field->values->count; i++)
        jw_str(w, field->values->values[i]);
    if (nullable)
        jw_null(w);
    jw_arr_end(w);
}

static void put_reference_type(struct jw *w)
{
    JW_CSTR(w, "type", "integer");
    JW_CSTR(w, "format", "int64");
}

static void put_references_type(struct jw *w)
{
    JW_CSTR(w, "type", "array");
    JW_BOOL(w, "uniqueItems", true);
    jw_lit(w, "items");
    jw_obj(w);
    put_reference_type(w);
    jw_obj_end(w);
}

/* Writes the schema of an id or, with expand=, of the record with the members that the caller may
 * read. */
static void put_expandable(struct jw *w, bool nullable)
{
    jw_lit(w, "oneOf");
    jw_arr(w);
    jw_obj(w);
    put_reference_type(w);
    if (nullable)
        JW_BOOL(w, "nullable", true);
    jw_obj_end(w);
    jw_raw(w,
           STR("{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":{"
               "\"type\":\"integer\",\"format\":\"int64\"}},\"additionalProperties\":true}"));
    jw_arr_end(w);
}

static void put_relation_read(struct jw *w, const struct model_field *field)
{
    if (!field->is_many) {
        put_expandable(w, !field->required);
        return;
    }
    JW_CSTR(w, "type", "array");
    jw_lit(w, "items");
    jw_obj(w);
    put_expandable(w, false);
    jw_obj_end(w);
}

static void put_type(struct jw *w, const struct model_field *field, bool nullable)
{
    const struct model_type_info *type = model_type_info(field->type);

    if (field->is_many) {
        put_references_type(w);
        return;
    }
    if (type->json_type != NULL)
        JW_CSTR(w, "type", type->json_type);
    if (type->json_format != NULL)
        JW_CSTR(w, "format", type->json_format);
    if (field->max_length > 0)
        JW_I64(w, "maxLength", field->max_length);
    if (field->has_min)
        spec_entity_put_bound(w, "minimum", field, false);
    if (field->has_max)
        spec_entity_put_bound(w, "maximum", field, true);
    if (field->type == TYPE_ENUM)
        put_enum_values(w, field, nullable);
}

static bool can_name_target(const struct openapi_request *about, const struct model_field *field)
{
    return field->target != NULL &&
           (!about->readable_only || caller_can_entity(about->caller, field->target->id, ACT_READ));
}

static void
put_description(struct jw *w, const struct openapi_request *about, const struct model_field *field)
{
    struct arena *arena = w->out->arena;
    const char *of_type = model_type_info(field->type)->doc;
    struct str text = of_type != NULL ? str_from(of_type) : STR_NONE;

    if (field->type == TYPE_RELATION && can_name_target(about, field))
        text = arena_printf(arena,
                            field->is_many ? "Ids of records of %.*s; with expand= the records"
                                           : "Id of a record of %.*s; with expand= the record",
                            STR_ARG(field->target->name));
    if (field->unique)
        text = text.len ? arena_printf(arena, "%.*s; unique", STR_ARG(text)) : STR("Unique");
    if (text.len)
        JW_STR(w, "description", text);
}

static void spec_entity_put_field(struct jw *w,
                                  const struct openapi_request *about,
                                  const struct model_field *field,
                                  struct field_rights access)
{
    bool nullable = !field->required && !field->is_many;

    jw_obj(w);
    put_type(w, field, nullable);
    if (nullable && field->type != TYPE_JSON)
        JW_BOOL(w, "nullable", true);
    if (!access.can_create && !access.can_update)
        JW_BOOL(w, "readOnly", true);
    else if (!access.can_read)
        JW_BOOL(w, "writeOnly", true);
    put_description(w, about, field);
    if (field->default_value != NULL) {
        jw_lit(w, "default");
        jw_json(w, field->default_value);
    }
    if (field->example.len) {
        jw_lit(w, "example");
        jw_raw(w, field->example);
    }
    jw_obj_end(w);
}

/* Writes a field as it is read: expand= may replace the ids of relations and files. */
static void
put_field_read(struct jw *w, const struct openapi_request *about, const struct model_field *field)
{
    bool nullable = !field->required && !field->is_many;

    jw_obj(w);
    bool expandable = field->type == TYPE_RELATION || field->type == TYPE_FILE;
    if (expandable)
        put_relation_read(w, field);
    else
        put_type(w, field, nullable);
    if (nullable && field->type != TYPE_JSON && !expandable)
        JW_BOOL(w, "nullable", true);
    put_description(w, about, field);
    jw_obj_end(w);
}

/* --- whole entities --- */

AWAITS static int put_properties(struct jw *w, const struct entity_doc *doc)
{
    jw_lit(w, "properties");
    jw_obj(w);
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        struct field_rights access = entity_field_rights(doc, field);
        if (field->system || !field_is_shown(access))
            continue;
        jw_key(w, field->name);
        spec_entity_put_field(w, doc->inputs, field, access);
        TRY(openapi_chunk_done(doc->inputs));
    }
    jw_obj_end(w);
    return 0;
}

/* Writes "required", unless the list is empty, which OpenAPI does not allow. */
static void put_required(struct jw *w, const struct entity_doc *doc)
{
    bool any = false;

    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        if (field->system || !field->required || !entity_field_rights(doc, field).can_create)
            continue;
        if (!any) {
            jw_lit(w, "required");
            jw_arr(w);
        }
        any = true;
        jw_str(w, field->name);
    }
    if (any)
        jw_arr_end(w);
}

int entity_schema(struct jw *w, const struct entity_doc *doc)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    if (doc->entity->label.len)
        JW_STR(w, "description", doc->entity->label);
    put_required(w, doc);
    TRY(put_properties(w, doc));
    jw_obj_end(w);
    return 0;
}

int entity_schema_update(struct jw *w, const struct entity_doc *doc)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    JW_CSTR(w, "description", "Members that are left out keep their value; null clears a value");
    TRY(put_properties(w, doc));
    JW_BOOL(w, "additionalProperties", false);
    jw_obj_end(w);
    return 0;
}

static bool is_filtered(const struct entity_doc *doc, const struct model_field *field)
{
    return (model_type_info(field->type)->fits & FITS_SET) != 0 &&
           entity_field_rights(doc, field).can_read;
}

void entity_schema_member(struct jw *w,
                          const struct entity_doc *doc,
                          const struct model_field *field)
{
    struct field_rights access = entity_field_rights(doc, field);

    if (!field_is_shown(access))
        return;
    jw_obj(w);
    JW_STR(w, "name", field->name);
    jw_lit(w, "schema");
    spec_entity_put_field(w, doc->inputs, field, access);
    JW_BOOL(w, "required", field->required && access.can_create);
    JW_BOOL(w, "filter", is_filtered(doc, field));
    jw_obj_end(w);
}

int entity_schema_filter(struct jw *w, const struct entity_doc *doc)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    jw_lit(w, "properties");
    jw_obj(w);
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        if (!is_filtered(doc, field))
            continue;
        jw_key(w, field->name);
        jw_obj(w);
        if (field->is_many)
            put_reference_type(w);
        else
            put_type(w, field, false);
        jw_obj_end(w);
        TRY(openapi_chunk_done(doc->inputs));
    }
    jw_obj_end(w);
    JW_BOOL(w, "additionalProperties", true);
    jw_obj_end(w);
    return 0;
}

/* Writes the members that the service sets. */
static void put_set_by_service(struct jw *w)
{
    static const char *const times[] = {"created_at", "updated_at"};

    jw_lit(w, "id");
    openapi_id(w, "Set by the service");
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        jw_lit(w, times[i]);
        jw_obj(w);
        JW_CSTR(w, "type", "string");
        JW_CSTR(w, "format", "date-time");
        JW_CSTR(w, "example", "2026-01-31T12:00:00.000Z");
        jw_obj_end(w);
    }
    jw_lit(w, "created_by");
    jw_obj(w);
    put_reference_type(w);
    JW_BOOL(w, "nullable", true);
    JW_CSTR(w, "description", "Id of the user who created the record");
    JW_I64(w, "example", 1);
    jw_obj_end(w);
}

int entity_schema_read(struct jw *w, const struct entity_doc *doc)
{
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    JW_CSTR(w,
            "description",
            "fields= limits the members to those it names; expand= replaces ids with records");
    jw_lit(w, "properties");
    jw_obj(w);
    put_set_by_service(w);
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        if (field->system || !entity_field_rights(doc, field).can_read)
            continue;
        jw_key(w, field->name);
        put_field_read(w, doc->inputs, field);
        TRY(openapi_chunk_done(doc->inputs));
    }
    jw_obj_end(w);
    jw_obj_end(w);
    return 0;
}

void entity_schema_record(struct jw *w, const struct entity_doc *doc)
{
    jw_obj(w);
    jw_lit(w, "allOf");
    jw_arr(w);
    jw_obj(w);
    JW_CSTR(w, "type", "object");
    jw_lit(w, "required");
    jw_raw(w, STR("[\"id\",\"created_at\",\"updated_at\"]"));
    jw_lit(w, "properties");
    jw_obj(w);
    put_set_by_service(w);
    jw_obj_end(w);
    jw_obj_end(w);
    openapi_ref(w, "schemas", doc->component);
    jw_arr_end(w);
    jw_obj_end(w);
}
