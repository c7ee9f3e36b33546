/* Entities: each has a table of its own, which is created, changed and dropped while the project is
 * in use. */
#include "areas/model/visible_fields.h"
#include "base/map.h"
#include "ddl/ddl.h"
#include "ddl/ddl_preview.h"
#include "ddl/field_spec.h"
#include "ddl/model_change.h"
#include "ddl/model_preview.h"
#include "entities_sql.h"
#include "stages/refusals.h"

#define ENTITIES_MAX     1000
#define HISTORY_DAYS     365
#define HISTORY_DAYS_MAX 3650

struct entity_in {
    struct in_str name, label;
    struct in_bool row_level_security, public_read, searchable, history;
    struct in_i64 history_days;
    struct in_list fields; /* struct field_in */
};

#define ENTITY_MEMBERS(must)                                                                       \
    {.name = "name",                                                                               \
     FIELD_AT(struct entity_in, name),                                                             \
     .type = FIELD_STR,                                                                            \
     .required = (must),                                                                           \
     .max = 200,                                                                                   \
     .doc = "Lower case letters, digits and '_', at most 48; the entity's permissions begin with " \
            "this name",                                                                           \
     .example = "\"products\""},                                                                   \
        {.name = "label",                                                                          \
         FIELD_AT(struct entity_in, label),                                                        \
         .type = FIELD_STR,                                                                        \
         .nullable = true,                                                                         \
         .max = 200},                                                                              \
        {.name = "row_level_security",                                                             \
         FIELD_AT(struct entity_in, row_level_security),                                           \
         .type = FIELD_BOOL,                                                                       \
         .doc =                                                                                    \
             "Callers see only records that they created or that were granted to them; when left " \
             "out, the project's default"},                                                        \
        {.name = "public_read",                                                                    \
         FIELD_AT(struct entity_in, public_read),                                                  \
         .type = FIELD_BOOL,                                                                       \
         .doc = "Whether public fields of records can be read without credentials"},               \
        {.name = "history",                                                                        \
         FIELD_AT(struct entity_in, history),                                                      \
         .type = FIELD_BOOL,                                                                       \
         .doc = "Whether earlier versions of records, and who made them, are kept; false deletes " \
                "the kept versions"},                                                              \
        {.name = "history_days",                                                                   \
         FIELD_AT(struct entity_in, history_days),                                                 \
         .type = FIELD_I64,                                                                        \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = HISTORY_DAYS_MAX,                                                                  \
         .doc = "For how many days history is kept, 365 when left out"},                           \
    {                                                                                              \
        .name = "searchable", FIELD_AT(struct entity_in, searchable), .type = FIELD_BOOL           \
    }

static const struct field create_fields[] = {
    ENTITY_MEMBERS(true),
    {.name = "fields",
     FIELD_AT(struct entity_in, fields),
     .type = FIELD_LIST,
     .sub = &field_create_schema,
     .max = ENTITY_FIELDS_MAX},
};
static const struct field update_fields[] = {ENTITY_MEMBERS(false)};
static const struct schema create_schema = SCHEMA("EntityCreate", struct entity_in, create_fields);
static const struct schema update_schema = SCHEMA("EntityUpdate", struct entity_in, update_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .example = "3"},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"products\""},
    {.name = "label", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "row_level_security", .type = FIELD_BOOL, .required = true},
    {.name = "public_read", .type = FIELD_BOOL, .required = true},
    {.name = "searchable", .type = FIELD_BOOL, .required = true},
    {.name = "history", .type = FIELD_BOOL, .required = true},
    {.name = "history_days", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "fields", .type = FIELD_LIST, .required = true, .sub = &field_out_schema},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("Entity", out_fields);

/* --- helpers --- */

AWAITS static int read_visible_entity(struct req *r, struct str name, struct rows *ret_entity)
{
    struct visible_fields shown = visible_fields_read(r);

    return sql_one(
        r,
        ret_entity,
        SQL_ENTITY_GET(.entities = shown.entities, .fields = shown.fields, .name = name));
}

AWAITS static int reply_entity(struct req *r, int status, struct str name)
{
    struct rows entity;

    TRY(read_visible_entity(r, name, &entity));
    if (status == 201)
        resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(name));
    return reply_row(r, status, &entity);
}

static int entities_check_name(struct req *r, struct str name, int64_t own_id)
{
    const struct entity *taken = model_entity(r->scope->model, name);

    if (!entity_name_ok(name))
        return fail_field(r, "name", PROBLEM_PATTERN, NAME_WORDS);
    if (!taken || taken->id == own_id)
        return 0;
    return fail_unique_violation(
        r, "name", "another entity has this name", "There is an entity with this name.");
}

static bool bool_or_default(const struct in_bool *in, bool otherwise)
{
    return in->set ? in->value : otherwise;
}

/* Reads for how many days the entity is to keep history. `days` is the current number; 0 = no
 * history. */
static int
read_history_option(struct req *r, const struct entity_in *in, int64_t days, int64_t *ret_days)
{
    bool history = bool_or_default(&in->history, days > 0);

    if (in->history_days.set && !history)
        return fail_field(r, "history_days", PROBLEM_VALIDATION_FAILED, "needs \"history\": true");
    if (days == 0)
        days = HISTORY_DAYS;
    if (in->history_days.set)
        days = in->history_days.value;
    *ret_days = history ? days : 0;
    return 0;
}

/* --- create --- */

/* Reads the fields of a new entity into entity->fields. */
static int read_fields(struct req *r, const struct entity_in *in, struct entity *entity)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    const struct field_in *items = in->fields.items;
    struct map *names = map_new();
    static char seen;

    entity->field_count = in->fields.count;
    entity->fields = ARENA_ARRAY(arena, entity->fields, entity->field_count);
    for (size_t i = 0; i < entity->field_count; i++) {
        struct field_spec spec = {
            .arena = arena,
            .project = r->scope->project,
            .model = r->scope->model,
            .entity = entity,
            .prefix = arena_printf(arena, "fields[%zu].", i).ptr,
            .errors = errors,
        };
        field_spec_create(&spec, &items[i], &entity->fields[i]);
        if (map_put(names, items[i].name.value, &seen))
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "fields[%zu].name", i),
                             PROBLEM_UNIQUE_VIOLATION,
                             "another field has this name");
    }
    map_free(names);
    return errors->count ? fail_fields(r, errors) : 0;
}

/* Reads the entity that is to be created, without ids. */
static int read_entity(struct req *r, const struct entity_in *in, struct entity *entity)
{
    entity->name = in->name.value;
    TRY(entities_check_name(r, entity->name, 0));
    TRY(read_history_option(r, in, 0, &entity->history_days));
    if (r->scope->model->entity_count >= ENTITIES_MAX)
        return fail(r, PROBLEM_CONFLICT, "A project has at most %d entities.", ENTITIES_MAX);
    return read_fields(r, in, entity);
}

static int preview_new_entity(struct req *r, void *arg, struct model_subject *subject UNUSED)
{
    struct entity *entity = ARENA_NEW(r->task.arena, entity);

    TRY(read_entity(r, arg, entity));
    for (size_t i = 0; i < entity->field_count; i++)
        ddl_preview_add_indexes(r->scope->preview, NULL, &entity->fields[i]);
    return 0;
}

AWAITS static int add_entity(struct req *r, void *arg, struct model_audit *audit)
{
    const struct entity_in *in = arg;
    struct entity *entity = ARENA_NEW(r->task.arena, entity);
    struct rows added;
    struct ddl ddl;

    TRY(read_entity(r, in, entity));
    TRY(sql_one(
        r,
        &added,
        SQL_ENTITY_ADD(.name = entity->name,
                       .label = in->label.set && !in->label.null ? in->label.value : STR_NONE,
                       .row_level_security =
                           bool_or_default(&in->row_level_security,
                                           r->scope->project->settings.default_row_level_security),
                       .public_read = bool_or_default(&in->public_read, false),
                       .searchable = bool_or_default(&in->searchable, true),
                       .history_days = some_id(entity->history_days))));
    entity->id = sql_entity_add_row(&added, 0).id;
    TRY(model_fields_add(r, entity, entity->fields, entity->field_count));
    ddl_init(&ddl, r->task.arena);
    ddl_table_create(&ddl, entity);
    if (entity->history_days > 0)
        ddl_history_start(&ddl, entity);
    *audit = (struct model_audit){"entities.create", "entity", entity->id, STR_NONE};
    return ddl_run(r, &ddl);
}

AWAITS static int entities_create(struct req *r)
{
    struct entity_in in;
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    TRY(req_json(r, &create_schema, &in));
    if (dry_run)
        return model_preview(r, preview_new_entity, &in);
    TRY(model_change(r, add_entity, &in));
    return reply_entity(r, 201, in.name.value);
}

/* --- read --- */

AWAITS static int entities_list(struct req *r)
{
    struct visible_fields shown = visible_fields_read(r);

    return reply_page(
        r, "id", SQL_ENTITIES_LIST(.entities = shown.entities, .fields = shown.fields));
}

AWAITS static int entities_get(struct req *r)
{
    return reply_entity(r, 200, req_param(r, "entity"));
}

/* --- change --- */

/* Only an administrator who signed in may open records that a row rule hides: an API key has only
 * its own permissions. */
static int check_opening(struct req *r, const struct entity_in *in, const struct entity *entity)
{
    bool rule_ends = entity->row_level_security && !bool_or_default(&in->row_level_security, true);
    bool published = !entity->public_read && bool_or_default(&in->public_read, false);

    if (caller_is_admin(r->scope->caller) || !(rule_ends || published))
        return 0;
    return refusal(
        r,
        REFUSE_ADMIN,
        rule_ends ? "Only an administrator who is signed in as a user may turn off the entity's "
                    "row-level security."
                  : "Only an administrator who is signed in as a user may make the entity public.");
}

static int check_entity(struct req *r,
                        const struct entity_in *in,
                        const struct entity **ret_entity,
                        int64_t *ret_history_days)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    TRY(check_opening(r, in, entity));
    if (in->name.set)
        TRY(entities_check_name(r, in->name.value, entity->id));
    TRY(read_history_option(r, in, entity->history_days, ret_history_days));
    *ret_entity = entity;
    return entity->history_days > 0 && *ret_history_days == 0
               ? ddl_may_drop(r, entity, "Deleting the history of records")
               : 0;
}

AWAITS static int preview_entity_change(struct req *r, void *arg, struct model_subject *subject)
{
    int64_t days = 0;

    TRY(check_entity(r, arg, &subject->entity, &days));
    return subject->entity->history_days > 0 && days == 0
               ? ddl_preview_history_loss(r, subject->entity)
               : 0;
}

/* co: Turns the history of records on or off, or changes for how long it is kept. */
AWAITS static int change_history(struct req *r, const struct entity *entity, int64_t days)
{
    struct ddl ddl;

    ddl_init(&ddl, r->task.arena);
    if (days > 0 && entity->history_days == 0)
        ddl_history_start(&ddl, entity);
    else if (days == 0 && entity->history_days > 0)
        ddl_history_end(&ddl, entity);
    else if (days != entity->history_days)
        ddl_history_update(&ddl, entity);
    return ddl_run(r, &ddl);
}

/* co: A new name changes rows only: the table's name and the permissions depend on the entity's
 * id. */
AWAITS static int update_entity(struct req *r, void *arg, struct model_audit *audit)
{
    const struct entity_in *in = arg;
    const struct entity *entity;
    int64_t history_days = 0;
    struct rows before;
    struct rows after;
    struct str label;

    TRY(check_entity(r, in, &entity, &history_days));
    label = in->label.set ? in->label.value : entity->label;
    TRY(read_visible_entity(r, entity->name, &before));
    TRY(sql_exec(
        r,
        NULL,
        SQL_ENTITY_UPDATE(.id = entity->id,
                          .name = in->name.set ? in->name.value : entity->name,
                          .label = in->label.null ? STR_NONE : label,
                          .row_level_security =
                              bool_or_default(&in->row_level_security, entity->row_level_security),
                          .public_read = bool_or_default(&in->public_read, entity->public_read),
                          .searchable = bool_or_default(&in->searchable, entity->searchable),
                          .history_days = some_id(history_days))));
    TRY(read_visible_entity(r, in->name.set ? in->name.value : entity->name, &after));
    const struct audit_change change = {.before = &before, .after = &after};
    *audit = (struct model_audit){
        "entities.update", "entity", entity->id, gateway_change_detail(r, &change)};
    return change_history(r, entity, history_days);
}

AWAITS static int entities_update(struct req *r)
{
    struct entity_in in;
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    TRY(req_json(r, &update_schema, &in));
    if (dry_run)
        return model_preview(r, preview_entity_change, &in);
    TRY(model_change(r, update_entity, &in));
    return reply_entity(r, 200, in.name.set ? in.name.value : req_param(r, "entity"));
}

/* --- delete --- */

/* Refuses to delete an entity that relations of other entities refer to: dropping their data is not
 * what the request asked for. */
static int check_no_referrers(struct req *r, const struct entity *entity)
{
    struct strbuf names;
    bool hidden = false;

    strbuf_init(&names, r->task.arena, 4096);
    for (const struct model_field *it = entity->referrers; it; it = it->next_referrer) {
        if (it->entity != entity && !field_is_visible(r, it))
            hidden = true;
        else if (it->entity != entity)
            strbuf_printf(&names,
                          "%s%.*s.%.*s",
                          names.len ? ", " : "",
                          STR_ARG(it->entity->name),
                          STR_ARG(it->name));
    }
    if (!names.len && hidden)
        return fail(r, PROBLEM_IN_USE, "Other entities refer to this entity.");
    if (!names.len)
        return 0;
    return fail(r,
                PROBLEM_IN_USE,
                "Other entities refer to this entity: %.*s.",
                STR_ARG(strbuf_view(&names)));
}

/* co: Refuses to delete an entity that materialised views are made of. A user who knows the readers
 * of a view must first delete the view, or make it of another entity. Only a caller who may list
 * views sees their names. */
AWAITS static int check_no_views(struct req *r, const struct entity *entity)
{
    struct strbuf names;
    struct rows views;

    TRY(sql_all(r, &views, SQL_ENTITY_VIEWS(.entity_id = entity->id)));
    if (!views.count)
        return 0;
    if (!caller_can(r->scope->caller, PERM_SVC_ENTITIES_READ))
        return fail(r, PROBLEM_IN_USE, "Materialised views use the records of this entity.");
    strbuf_init(&names, r->task.arena, 4096);
    for (size_t i = 0; i < views.count; i++)
        strbuf_printf(
            &names, "%s%.*s", i ? ", " : "", STR_ARG(sql_entity_views_row(&views, i).name));
    return fail(r,
                PROBLEM_IN_USE,
                "Materialised views use the records of this entity: %.*s. Delete the views first.",
                STR_ARG(strbuf_view(&names)));
}

AWAITS static int remove_rows(struct req *r, int64_t id)
{
    struct db_call calls[] = {
        db_call(SQL_ENTITY_DROP_ROLE_PERMISSIONS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_KEY_PERMISSIONS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_FIELD_ACCESS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_GRANTS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_DEVICES(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_LOCKS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_LISTENERS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP_WORKFLOWS(.entity_id = id)),
        db_call(SQL_ENTITY_DROP(.id = id)),
    };

    return sql_batch(r, calls, ARRAY_LEN(calls));
}

#define REMOVAL "Deleting an entity that has records"

AWAITS static int removal_guard(struct req *r)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    return ddl_may_lose_records(r, entity, REMOVAL);
}

/* co: Finds the entity of the path and checks that it may be deleted. */
AWAITS static int check_removal(struct req *r, const struct entity **ret_entity)
{
    TRY(gateway_entity(r, ret_entity));
    TRY(ddl_may_drop_records(r, *ret_entity, REMOVAL));
    TRY(check_no_referrers(r, *ret_entity));
    return check_no_views(r, *ret_entity);
}

AWAITS static int
preview_entity_removal(struct req *r, void *arg UNUSED, struct model_subject *subject)
{
    const struct entity *entity;

    TRY(check_removal(r, &entity));
    for (size_t i = 0; i < entity->field_count; i++)
        if (!entity->fields[i].system && field_is_visible(r, &entity->fields[i]))
            ddl_preview_add_indexes(r->scope->preview, &entity->fields[i], NULL);
    subject->entity = entity;
    return ddl_preview_count_losses(r, entity, NULL);
}

AWAITS static int remove_entity(struct req *r, void *arg UNUSED, struct model_audit *audit)
{
    const struct entity *entity;
    struct ddl ddl;

    TRY(check_removal(r, &entity));
    ddl_init(&ddl, r->task.arena);
    ddl_table_drop(&ddl, entity);
    TRY(ddl_run(r, &ddl));
    TRY(remove_rows(r, entity->id));
    *audit = (struct model_audit){"entities.delete", "entity", entity->id, STR_NONE};
    return 0;
}

AWAITS static int entities_delete(struct req *r)
{
    bool dry_run;

    TRY(model_is_dry_run(r, &dry_run));
    if (dry_run)
        return model_preview(r, preview_entity_removal, NULL);
    TRY(model_change(r, remove_entity, NULL));
    return reply_empty(r, 204);
}

static const struct route entities_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities",
        .id = "entities_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = page_query,
        .success = {.status = 200, .schema = &out_schema, .list = true},
        .run = entities_list,
        .summary = "List the entities with their fields",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities",
        .id = "entities_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_CREATE,
        .query = model_dry_run_query,
        .body = &create_schema,
        .exact_numbers = true,
        .success = {.status = 201, .schema = &out_schema},
        .dry_run = &model_preview_schema,
        .extra_statuses = {409},
        .run = entities_create,
        .summary = "Create an entity",
        .doc =
            "Creates a table with a column for each field. Only administrators have the entity's "
            "permissions ({entity}:read and so on) until the permissions are added to roles.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}",
        .id = "entities_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .success = {.status = 200, .schema = &out_schema},
        .extra_statuses = {404},
        .run = entities_get,
        .summary = "Read an entity with its fields",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/entities/{entity}",
        .id = "entities_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_UPDATE,
        .query = model_dry_run_query,
        .body = &update_schema,
        .success = {.status = 200, .schema = &out_schema},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = entities_update,
        .guard = entities_get,
        .summary = "Change an entity",
        .doc = "A new name takes effect at once in paths and permission names; no data moves. Only "
               "an administrator who is signed in as a user may turn off row-level security or "
               "make an entity public: otherwise 403 admin_required.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}",
        .id = "entities_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_DELETE,
        .query = model_dry_run_query,
        .success = {.status = 204},
        .dry_run = &model_preview_schema,
        .extra_statuses = {404, 409},
        .run = entities_delete,
        .guard = removal_guard,
        .summary = "Delete an entity with all its records",
        .doc =
            "When the entity has records, the caller also needs the permission to delete records. "
            "409 in_use while relations of other entities refer to the entity, or materialised "
            "views use it. The entity's charts, and the widgets that show the entity on "
            "dashboards, are deleted too. Menus hide their items for the entity, and workflows "
            "that events of the entity start are disabled.",
    },
};
ROUTES(entities, "Entities");
