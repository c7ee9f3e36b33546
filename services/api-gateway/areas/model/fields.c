/* Fields of an entity: columns that are added, changed and dropped while the project is in use. */
#include "areas/model/visible_fields.h"
#include "ddl/ddl.h"
#include "ddl/ddl_preview.h"
#include "ddl/field_spec.h"
#include "ddl/model_change.h"
#include "ddl/model_preview.h"
#include "fields_sql.h"
#include "stages/refusals.h"

/* --- helpers --- */

/* co: Reads a field by name. With an empty `shown` no field rule applies: a caller who creates or
 * changes a field sees it even when a rule hides it. */
AWAITS static int read_field(struct req *r,
                             const struct visible_fields *shown,
                             struct str name,
                             struct rows *ret_field)
{
    return sql_one(r,
                   ret_field,
                   SQL_FIELD_GET(.entities = shown->entities,
                                 .fields = shown->fields,
                                 .entity = req_param(r, "entity"),
                                 .name = name));
}

AWAITS static int reply_field(struct req *r, int status, struct str name)
{
    struct visible_fields shown = {0};
    struct rows field;

    if (status == 200)
        shown = visible_fields_read(r);
    TRY(read_field(r, &shown, name, &field));
    if (status == 201)
        resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(name));
    return reply_row(r, status, &field);
}

/* Returns the field of the path, or NULL. System columns, and fields that the caller may not see,
 * do not count. */
static const struct model_field *find_field(const struct req *r, const struct entity *entity)
{
    const struct model_field *field = entity_field(entity, req_param(r, "field"));

    return field && !field->system && field_is_visible(r, field) ? field : NULL;
}

static int no_such_field(struct req *r)
{
    return fail(r, PROBLEM_NOT_FOUND, "There is no such field.");
}

static int
check_name_free(struct req *r, const struct entity *entity, const struct model_field *field)
{
    const struct model_field *taken = entity_field(entity, field->name);

    if (!taken || taken->id == field->id)
        return 0;
    return fail_unique_violation(
        r, "name", "another field has this name", "The entity has a field with this name.");
}

static size_t own_field_count(const struct entity *entity)
{
    size_t count = 0;

    for (size_t i = 0; i < entity->field_count; i++)
        count += !entity->fields[i].system;
    return count;
}

static struct field_spec field_spec_new(struct req *r, const struct entity *entity)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    return (struct field_spec){
        .arena = r->task.arena,
        .project = r->scope->project,
        .model = r->scope->model,
        .entity = entity,
        .prefix = "",
        .errors = errors,
    };
}

/* --- read --- */

AWAITS static int fields_list(struct req *r)
{
    struct visible_fields shown = visible_fields_read(r);
    struct rows entity;

    TRY(sql_one(r, &entity, SQL_FIELDS_ENTITY(.name = req_param(r, "entity"))));
    return reply_page(r,
                      "id",
                      SQL_FIELDS_LIST(.entities = shown.entities,
                                      .fields = shown.fields,
                                      .entity_id = sql_fields_entity_row(&entity, 0).id));
}

AWAITS static int fields_get(struct req *r)
{
    return reply_field(r, 200, req_param(r, "field"));
}

/* --- add --- */

/* co: Refuses a required field without a default when the entity has records: each record would
 * lack a value. */
AWAITS static int check_fillable(struct req *r, const struct model_field *field)
{
    struct ddl_check check = {
        .field = field,
        .condition = "true",
        .code = PROBLEM_REQUIRED,
        .reason = "no value in",
    };

    return field->required && !field->default_value ? ddl_check_rows(r, &check) : 0;
}

/* co: Reads the field that is to be added and checks that it may be added. Locks the table. */
AWAITS static int check_addition(struct req *r,
                                 const struct field_in *in,
                                 const struct entity *entity,
                                 struct model_field *ret_field)
{
    struct field_spec spec = field_spec_new(r, entity);
    struct ddl lock;

    field_spec_create(&spec, in, ret_field);
    if (spec.errors->count)
        return fail_fields(r, spec.errors);
    TRY(check_name_free(r, entity, ret_field));
    if (ret_field->type == TYPE_RELATION && ret_field->on_delete == ON_DELETE_CASCADE)
        TRY(ddl_may_drop(r, entity, "on_delete \"cascade\""));
    if (own_field_count(entity) >= ENTITY_FIELDS_MAX)
        return fail(r, PROBLEM_CONFLICT, "An entity has at most %d fields.", ENTITY_FIELDS_MAX);
    ddl_init(&lock, r->task.arena);
    ddl_table_lock(&lock, ret_field);
    TRY(ddl_run(r, &lock));
    return check_fillable(r, ret_field);
}

AWAITS static int preview_new_field(struct req *r, void *arg, struct model_subject *subject UNUSED)
{
    const struct entity *entity;
    struct model_field field;

    TRY(gateway_entity(r, &entity));
    TRY(check_addition(r, arg, entity, &field));
    ddl_preview_add_indexes(r->scope->preview, NULL, &field);
    return 0;
}

AWAITS static int add_field(struct req *r, void *arg, struct model_audit *audit)
{
    const struct entity *entity;
    struct model_field field;
    struct ddl add;

    TRY(gateway_entity(r, &entity));
    TRY(check_addition(r, arg, entity, &field));
    TRY(model_fields_add(r, entity, &field, 1));
    ddl_init(&add, r->task.arena);
    ddl_field_add(&add, &field);
    ddl_history_update(&add, entity);
    *audit = (struct model_audit){"fields.create", "field", field.id, STR_NONE};
    return ddl_run(r, &add);
}

AWAITS static int fields_create(struct req *r)
{
    struct field_in in;
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    TRY(req_json(r, &field_create_schema, &in));
    if (dry_run)
        return model_preview(r, preview_new_field, &in);
    TRY(model_change(r, add_field, &in));
    return reply_field(r, 201, in.name.value);
}

/* --- change --- */

AWAITS static int fields_guard(struct req *r)
{
    const struct entity *entity;

    return gateway_entity(r, &entity);
}

AWAITS static int field_guard(struct req *r)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    return find_field(r, entity) ? 0 : no_such_field(r);
}

/* co: Checks a change of a field and applies it to the table. *ret_next is the field after the
 * change. */
AWAITS static int change_field(struct req *r,
                               const struct field_in *in,
                               const struct model_field *old,
                               struct model_field *ret_next)
{
    const struct entity *entity = old->entity;
    struct field_spec spec = field_spec_new(r, entity);

    field_spec_update(&spec, old, in, ret_next);
    if (spec.errors->count)
        return fail_fields(r, spec.errors);
    if (ret_next->is_public && !old->is_public && entity->public_read &&
        !caller_is_admin(r->scope->caller))
        return refusal(r,
                       REFUSE_ADMIN,
                       "Only an administrator who is signed in as a user may make a field of a "
                       "public entity public.");
    TRY(check_name_free(r, entity, ret_next));
    return ddl_field_change(r, old, ret_next);
}

AWAITS static int preview_field_change(struct req *r, void *arg, struct model_subject *subject)
{
    const struct entity *entity;
    const struct model_field *old;
    struct model_field next;

    TRY(gateway_entity(r, &entity));
    old = find_field(r, entity);
    if (!old)
        return no_such_field(r);
    TRY(change_field(r, arg, old, &next));
    ddl_preview_add_indexes(r->scope->preview, old, &next);
    *subject = (struct model_subject){old->entity, old};
    return ddl_preview_count_rewrites(r, old, &next);
}

AWAITS static int update_field(struct req *r, void *arg, struct model_audit *audit)
{
    const struct entity *entity;
    const struct model_field *old;
    const struct visible_fields all = {0};
    struct model_field next;
    struct rows before;
    struct rows after;
    struct ddl follow;

    TRY(gateway_entity(r, &entity));
    old = find_field(r, entity);
    if (!old)
        return no_such_field(r);
    TRY(change_field(r, arg, old, &next));
    TRY(read_field(r, &all, old->name, &before));
    TRY(model_field_store(r, &next));
    TRY(read_field(r, &all, next.name, &after));
    const struct audit_change change = {.before = &before, .after = &after};
    *audit =
        (struct model_audit){"fields.update", "field", old->id, gateway_change_detail(r, &change)};
    ddl_init(&follow, r->task.arena);
    if (next.on_delete != old->on_delete)
        ddl_history_update(&follow, old->entity);
    return ddl_run(r, &follow);
}

AWAITS static int fields_update(struct req *r)
{
    struct field_in in;
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    TRY(req_json(r, &field_update_schema, &in));
    if (dry_run)
        return model_preview(r, preview_field_change, &in);
    TRY(model_change(r, update_field, &in));
    return reply_field(r, 200, in.name.set ? in.name.value : req_param(r, "field"));
}

/* --- remove --- */

#define REMOVAL "Removing a field of an entity that has records"

AWAITS static int check_field_removal(struct req *r, const struct entity *entity)
{
    return ddl_may_drop_records(r, entity, REMOVAL);
}

AWAITS static int field_removal_guard(struct req *r)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    return find_field(r, entity) ? ddl_may_lose_records(r, entity, REMOVAL) : no_such_field(r);
}

AWAITS static int
preview_field_removal(struct req *r, void *arg UNUSED, struct model_subject *subject)
{
    const struct entity *entity;
    const struct model_field *field;

    TRY(gateway_entity(r, &entity));
    field = find_field(r, entity);
    if (!field)
        return no_such_field(r);
    TRY(check_field_removal(r, entity));
    ddl_preview_add_indexes(r->scope->preview, field, NULL);
    *subject = (struct model_subject){field->entity, field};
    return ddl_preview_count_losses(r, field->entity, field);
}

AWAITS static int remove_field(struct req *r, void *arg UNUSED, struct model_audit *audit)
{
    const struct entity *entity;
    const struct model_field *field;
    struct ddl follow;
    struct ddl ddl;

    TRY(gateway_entity(r, &entity));
    field = find_field(r, entity);
    if (!field)
        return no_such_field(r);
    TRY(check_field_removal(r, entity));
    ddl_init(&ddl, r->task.arena);
    ddl_field_drop(&ddl, field);
    TRY(ddl_run(r, &ddl));
    TRY(sql_exec(
        r, NULL, SQL_FIELD_DROP_ACCESS(.entity_id = field->entity->id, .field_id = field->id)));
    *audit = (struct model_audit){"fields.delete", "field", field->id, STR_NONE};
    TRY(sql_exec(r, NULL, SQL_FIELD_DROP(.id = field->id)));
    ddl_init(&follow, r->task.arena);
    ddl_history_update(&follow, field->entity);
    return ddl_run(r, &follow);
}

AWAITS static int fields_delete(struct req *r)
{
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    if (dry_run)
        return model_preview(r, preview_field_removal, NULL);
    TRY(model_change(r, remove_field, NULL));
    return reply_empty(r, 204);
}

static const struct route fields_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/fields",
        .id = "fields_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FIELDS_READ,
        .query = page_query,
        .success = {.status = 200, .schema = &field_out_schema, .list = true},
        .extra_statuses = {404},
        .run = fields_list,
        .summary = "List the fields of an entity",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/fields",
        .id = "fields_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FIELDS_CREATE,
        .query = model_dry_run_query,
        .body = &field_create_schema,
        .exact_numbers = true,
        .success = {.status = 201, .schema = &field_out_schema},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = fields_create,
        .guard = fields_guard,
        .summary = "Add a field to an entity",
        .doc =
            "Existing records get the default. 409 schema_conflict for a required field without a "
            "default when the entity has records.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/fields/{field}",
        .id = "fields_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FIELDS_READ,
        .success = {.status = 200, .schema = &field_out_schema},
        .extra_statuses = {404},
        .run = fields_get,
        .summary = "Read a field",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/entities/{entity}/fields/{field}",
        .id = "fields_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FIELDS_UPDATE,
        .query = model_dry_run_query,
        .body = &field_update_schema,
        .exact_numbers = true,
        .success = {.status = 200, .schema = &field_out_schema},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = fields_update,
        .guard = field_guard,
        .summary = "Change a field",
        .doc = "409 schema_conflict when stored records contradict the change: the answer has the "
               "number of these records and the first ten ids. For a change that depends on stored "
               "values (type, required, unique, a shorter list of values, narrower bounds) the "
               "caller must be able to read all records and the field. For on_delete cascade the "
               "caller must be able to delete records. Otherwise the answer is 403, before any "
               "record is checked. Only an administrator who is signed in as a "
               "user may make a field of a public entity public: otherwise 403 admin_required.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/fields/{field}",
        .id = "fields_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FIELDS_DELETE,
        .query = model_dry_run_query,
        .success = {.status = 204},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = fields_delete,
        .guard = field_removal_guard,
        .summary = "Remove a field with its data",
        .doc =
            "When the entity has records, the caller also needs the permission to delete records.",
    },
};
ROUTES(fields, "Fields");
