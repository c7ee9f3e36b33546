/* Enums: named lists of values that enum fields take. Part of the model. */
#include "areas/model/visible_fields.h"
#include "base/map.h"
#include "base/utf8.h"
#include "ddl/ddl.h"
#include "ddl/ddl_preview.h"
#include "ddl/field_spec.h"
#include "ddl/model_change.h"
#include "ddl/model_preview.h"
#include "enums_sql.h"

#define ENUMS_MAX  1000
#define VALUES_MAX 1000
#define VALUE_MAX  255 /* characters */

struct enum_in {
    struct in_str name;
    struct in_strs values;
};

#define ENUM_MEMBERS(must)                                                                         \
    {.name = "name",                                                                               \
     FIELD_AT(struct enum_in, name),                                                               \
     .type = FIELD_STR,                                                                            \
     .required = (must),                                                                           \
     .max = 200,                                                                                   \
     .example = "\"order_status\""},                                                               \
    {                                                                                              \
        .name = "values", FIELD_AT(struct enum_in, values), .type = FIELD_STRS,                    \
        .required = (must), .min = 1, .max = VALUES_MAX,                                           \
        .doc = "Distinct texts of 1 to 255 characters", .example = "[\"open\",\"paid\"]"           \
    }

static const struct field create_fields[] = {ENUM_MEMBERS(true)};
static const struct field update_fields[] = {ENUM_MEMBERS(false)};
static const struct schema create_schema = SCHEMA("EnumCreate", struct enum_in, create_fields);
static const struct schema update_schema = SCHEMA("EnumUpdate", struct enum_in, update_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"order_status\""},
    {.name = "values", .type = FIELD_STRS, .required = true, .example = "[\"open\",\"paid\"]"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("Enum", out_fields);

/* --- helpers --- */

AWAITS static int reply_enum(struct req *r, int status, struct str name)
{
    struct rows found;

    TRY(sql_one(r, &found, SQL_ENUM_GET(.name = name)));
    if (status == 201)
        resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(name));
    return reply_row(r, status, &found);
}

static int enums_check_values(struct req *r, const struct in_strs *values)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    struct map *seen = map_new();

    for (size_t i = 0; i < values->count; i++) {
        struct str path = arena_printf(arena, "values[%zu]", i);
        size_t length = utf8_length(values->items[i]);
        if (length < 1)
            schema_error_add(arena, errors, path, PROBLEM_OUT_OF_RANGE, "must not be empty");
        else if (length > VALUE_MAX)
            schema_error_add(
                arena, errors, path, PROBLEM_TOO_LONG, "must be at most %d characters", VALUE_MAX);
        else if (map_put(seen, values->items[i], (void *)errors))
            schema_error_add(arena, errors, path, PROBLEM_UNIQUE_VIOLATION, "is given twice");
    }
    map_free(seen);
    return errors->count ? fail_fields(r, errors) : 0;
}

static int enums_check_name(struct req *r, struct str name, struct str own_name)
{
    if (!entity_name_ok(name))
        return fail_field(r, "name", PROBLEM_PATTERN, NAME_WORDS);
    if (str_eq(name, own_name) || !model_enum_find(r->scope->model, name))
        return 0;
    return fail_unique_violation(
        r, "name", "another enum has this name", "There is an enum with this name.");
}

static const struct model_enum *find_enum(const struct req *r)
{
    return model_enum_find(r->scope->model, req_param(r, "name"));
}

static int no_such_enum(struct req *r)
{
    return fail(r, PROBLEM_NOT_FOUND, "There is no such enum.");
}

/* A position among the fields of all entities. The first position is {0, 0}. */
struct enum_cursor {
    size_t entity, field;
};
/* Returns the next field after *cursor that takes its values from the enum, or NULL, and advances
 * *cursor. */
static const struct model_field *next_field_of_enum(const struct model *model,
                                                    const struct model_enum *values,
                                                    struct enum_cursor *cursor)
{
    for (; cursor->entity < model->entity_count; cursor->entity++, cursor->field = 0) {
        const struct entity *entity = &model->entities[cursor->entity];
        while (cursor->field < entity->field_count) {
            const struct model_field *field = &entity->fields[cursor->field++];
            if (field->values == values)
                return field;
        }
    }
    return NULL;
}

/* Adds the fields that take their values from the enum, and that the caller may see, to the
 * preview. */
static void add_fields_of_enum(struct req *r, const struct model_enum *values)
{
    const struct model_field *field;
    struct enum_cursor cursor = {0};

    while ((field = next_field_of_enum(r->scope->model, values, &cursor))) {
        if (field_is_visible(r, field))
            ddl_preview_add_field(r->scope->preview, field);
    }
}

/* --- create and read --- */

AWAITS static int add_enum(struct req *r, void *arg, struct model_audit *audit)
{
    const struct enum_in *in = arg;
    struct rows added;

    TRY(enums_check_name(r, in->name.value, STR_NONE));
    if (r->scope->model->enum_count >= ENUMS_MAX)
        return fail(r, PROBLEM_CONFLICT, "A project has at most %d enums.", ENUMS_MAX);
    TRY(sql_one(r,
                &added,
                SQL_ENUM_ADD(.name = in->name.value,
                             .values = sql_strs(in->values.items, in->values.count))));
    *audit = (struct model_audit){"enums.create", "enum", sql_enum_id_row(&added, 0).id, STR_NONE};
    return 0;
}

AWAITS static int enums_create(struct req *r)
{
    struct enum_in in;

    TRY(req_json(r, &create_schema, &in));
    TRY(enums_check_values(r, &in.values));
    TRY(model_change(r, add_enum, &in));
    return reply_enum(r, 201, in.name.value);
}

AWAITS static int enums_list(struct req *r)
{
    return reply_page(r, "name", SQL_ENUMS_LIST());
}

AWAITS static int enums_get(struct req *r)
{
    return reply_enum(r, 200, req_param(r, "name"));
}

/* --- change --- */

static bool has_value(const struct in_strs *values, struct str text)
{
    for (size_t i = 0; i < values->count; i++) {
        if (str_eq(values->items[i], text))
            return true;
    }
    return false;
}

/* Refuses a change that conflicts with the field's definition. During a preview the conflict is
 * added, and the result is 0. */
static int refuse_in_use(struct req *r, const struct model_field *field, struct str message)
{
    const struct ddl_violation violation = {
        .entity = field->entity->name,
        .field = field->name,
        .code = PROBLEM_IN_USE,
        .message = message,
        .rows = some_i64(0),
    };

    if (!r->scope->preview)
        return fail(r, PROBLEM_IN_USE, "%.*s", STR_ARG(message));
    ddl_preview_add_violation(r->scope->preview, &violation);
    return 0;
}

/* co: Refuses the change when a record or the default of the field holds a value that is to be
 * removed. */
AWAITS static int
check_field(struct req *r, const struct model_field *field, const struct in_strs *values)
{
    struct str fallback = {json_string_value(field->default_value),
                           json_string_length(field->default_value)};
    struct db_param left = P_STRS(values->items, values->count);
    struct ddl_check check = {
        .field = field,
        .condition =
            arena_printf(r->task.arena, "not (t.f_%lld = any($1::text[]))", (long long)field->id)
                .ptr,
        .params = &left,
        .param_count = 1,
        .code = PROBLEM_IN_USE,
        .reason = "a value to be removed in",
    };

    TRY(ddl_may_read_values(r, field));
    if (fallback.ptr && !has_value(values, fallback))
        TRY(refuse_in_use(r,
                          field,
                          arena_printf(r->task.arena,
                                       "'%.*s' is the default of the field '%.*s' of '%.*s'.",
                                       STR_ARG(fallback),
                                       STR_ARG(field->name),
                                       STR_ARG(field->entity->name))));
    return ddl_check_rows(r, &check);
}

/* Whether the change removes values. Only then can stored records contradict the change. */
static bool has_removed_values(const struct model_enum *old, const struct in_strs *values)
{
    for (size_t i = 0; i < old->count; i++) {
        if (!has_value(values, old->values[i]))
            return true;
    }
    return false;
}

AWAITS static int
check_fields_of_enum(struct req *r, const struct model_enum *old, const struct in_strs *values)
{
    struct enum_cursor cursor = {0};
    const struct model_field *field;

    while (has_removed_values(old, values) &&
           (field = next_field_of_enum(r->scope->model, old, &cursor)))
        TRY(check_field(r, field, values));
    return 0;
}

/* co: Checks a change of an enum against the model and the records. Sets *ret_old to the enum. */
AWAITS static int
check_change(struct req *r, const struct enum_in *in, const struct model_enum **ret_old)
{
    const struct model_enum *old = find_enum(r);

    if (!old)
        return no_such_enum(r);
    TRY(enums_check_name(r, in->name.set ? in->name.value : old->name, old->name));
    if (in->values.set)
        TRY(check_fields_of_enum(r, old, &in->values));
    *ret_old = old;
    return 0;
}

AWAITS static int
preview_enum_change(struct req *r, void *arg, struct model_subject *subject UNUSED)
{
    const struct model_enum *old;

    TRY(check_change(r, arg, &old));
    add_fields_of_enum(r, old);
    return 0;
}

AWAITS static int update_enum(struct req *r, void *arg, struct model_audit *audit)
{
    const struct enum_in *in = arg;
    const struct model_enum *old;
    struct str name;
    struct rows changed;

    TRY(check_change(r, in, &old));
    name = in->name.set ? in->name.value : old->name;
    TRY(sql_one(r,
                &changed,
                SQL_ENUM_UPDATE(.old = old->name,
                                .name = name,
                                .values = in->values.set
                                              ? sql_strs(in->values.items, in->values.count)
                                              : sql_strs(old->values, old->count))));
    *audit =
        (struct model_audit){"enums.update", "enum", sql_enum_id_row(&changed, 0).id, STR_NONE};
    return sql_exec(r, NULL, SQL_ENUM_RENAME_FIELDS(.old = old->name, .name = name));
}

AWAITS static int enums_update(struct req *r)
{
    struct enum_in in;
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    TRY(req_json(r, &update_schema, &in));
    if (in.values.set)
        TRY(enums_check_values(r, &in.values));
    if (dry_run)
        return model_preview(r, preview_enum_change, &in);
    TRY(model_change(r, update_enum, &in));
    return reply_enum(r, 200, in.name.set ? in.name.value : req_param(r, "name"));
}

/* --- delete --- */

/* Checks the removal of an enum. Sets *ret_old to the enum. The first field that uses the enum
 * refuses the removal; a preview lists all fields. */
static int check_removal(struct req *r, const struct model_enum **ret_old)
{
    const struct model_enum *old = find_enum(r);
    const struct model_field *user;
    struct enum_cursor cursor = {0};

    if (!old)
        return no_such_enum(r);
    while ((user = next_field_of_enum(r->scope->model, old, &cursor))) {
        if (!field_is_visible(r, user))
            return fail(r, PROBLEM_IN_USE, "A field uses this enum.");
        TRY(refuse_in_use(r,
                          user,
                          arena_printf(r->task.arena,
                                       "The field '%.*s' of '%.*s' uses this enum.",
                                       STR_ARG(user->name),
                                       STR_ARG(user->entity->name))));
    }
    *ret_old = old;
    return 0;
}

AWAITS static int
preview_enum_removal(struct req *r, void *arg UNUSED, struct model_subject *subject UNUSED)
{
    const struct model_enum *old;

    TRY(check_removal(r, &old));
    add_fields_of_enum(r, old);
    return 0;
}

AWAITS static int remove_enum(struct req *r, void *arg UNUSED, struct model_audit *audit)
{
    const struct model_enum *old;
    struct rows removed;

    TRY(check_removal(r, &old));
    TRY(sql_one(r, &removed, SQL_ENUM_DROP(.name = old->name)));
    *audit =
        (struct model_audit){"enums.delete", "enum", sql_enum_id_row(&removed, 0).id, STR_NONE};
    return 0;
}

AWAITS static int enums_delete(struct req *r)
{
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    if (dry_run)
        return model_preview(r, preview_enum_removal, NULL);
    TRY(model_change(r, remove_enum, NULL));
    return reply_empty(r, 204);
}

static const struct route enums_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/enums",
        .id = "enums_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = page_query,
        .success = {.status = 200, .schema = &out_schema, .list = true},
        .run = enums_list,
        .summary = "List the enums",
    },
    {
        .method = HTTP_POST_M,
        .path = "/enums",
        .id = "enums_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_CREATE,
        .body = &create_schema,
        .success = {.status = 201, .schema = &out_schema},
        .extra_statuses = {409},
        .run = enums_create,
        .summary = "Create an enum",
    },
    {
        .method = HTTP_GET_M,
        .path = "/enums/{name}",
        .id = "enums_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .success = {.status = 200, .schema = &out_schema},
        .extra_statuses = {404},
        .run = enums_get,
        .summary = "Read an enum",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/enums/{name}",
        .id = "enums_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_UPDATE,
        .query = model_dry_run_query,
        .body = &update_schema,
        .success = {.status = 200, .schema = &out_schema},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = enums_update,
        .guard = enums_get,
        .summary = "Change an enum",
        .doc =
            "To remove a value, the caller must be able to read the fields that use the enum, and "
            "all records of their entities. 409 when records have the value: the detail has the "
            "number of these records and the first ten ids.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/enums/{name}",
        .id = "enums_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_DELETE,
        .query = model_dry_run_query,
        .success = {.status = 204},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = enums_delete,
        .guard = enums_get,
        .summary = "Delete an enum that no field uses",
    },
};
ROUTES(enums, "Enums");
