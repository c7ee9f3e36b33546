/* /roles: what the holders of a role may do, down to fields. */
#include "areas/access/access.h"
#include "project/events.h"
#include "roles_sql.h"

struct field_access_in {
    struct in_str entity;
    struct in_str action;
    struct in_strs fields;
};

static const char *const field_actions[] = {"read", "create", "update", NULL};

static const struct field field_access_fields[] = {
    {.name = "entity",
     FIELD_AT(struct field_access_in, entity),
     .type = FIELD_STR,
     .required = true,
     .max = 48,
     .example = "\"orders\""},
    {.name = "action",
     FIELD_AT(struct field_access_in, action),
     .type = FIELD_STR,
     .required = true,
     .values = field_actions},
    {.name = "fields",
     FIELD_AT(struct field_access_in, fields),
     .type = FIELD_STRS,
     .required = true,
     .max = 200,
     .doc = "The only fields that the role may access by this action. Fields that the service "
            "sets, such as id, can always be read",
     .example = "[\"status\"]"},
};
static const struct schema field_access_schema =
    SCHEMA("FieldAccess", struct field_access_in, field_access_fields);

struct role_in {
    struct in_str name;
    struct in_str description;
    struct in_bool is_admin;
    struct in_bool api_access;
    struct in_strs permissions;
    struct in_list field_access;
};

#define ROLE_MEMBERS(name_required)                                                                \
    NAMED_MEMBERS(struct role_in, name_required, "\"Editor\""),                                    \
        {.name = "is_admin",                                                                       \
         FIELD_AT(struct role_in, is_admin),                                                       \
         .type = FIELD_BOOL,                                                                       \
         .doc = "Holders pass every permission check, so the role must have no permissions and "   \
                "no field_access. Only administrators may set is_admin"},                          \
        {.name = "api_access",                                                                     \
         FIELD_AT(struct role_in, api_access),                                                     \
         .type = FIELD_BOOL,                                                                       \
         .doc = "Holders may read and write entity records over the API"},                         \
        {.name = "permissions",                                                                    \
         FIELD_AT(struct role_in, permissions),                                                    \
         .type = FIELD_STRS,                                                                       \
         .max = 5000,                                                                              \
         .example = "[\"orders:read\"]"},                                                          \
    {                                                                                              \
        .name = "field_access", FIELD_AT(struct role_in, field_access), .type = FIELD_LIST,        \
        .sub = &field_access_schema, .max = 1000                                                   \
    }

static const struct field role_create_fields[] = {ROLE_MEMBERS(true)};
static const struct field role_update_fields[] = {ROLE_MEMBERS(false)};
static const struct schema role_create_schema =
    SCHEMA("RoleCreate", struct role_in, role_create_fields);
static const struct schema role_update_schema =
    SCHEMA("RoleUpdate", struct role_in, role_update_fields);

static const struct field role_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "is_admin", .type = FIELD_BOOL, .required = true},
    {.name = "is_default",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Given to users that are created without role_ids"},
    {.name = "api_access", .type = FIELD_BOOL, .required = true},
    {.name = "permissions", .type = FIELD_STRS, .required = true},
    {.name = "field_access", .type = FIELD_LIST, .required = true, .sub = &field_access_schema},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema role_out_schema = SCHEMA_OUT("Role", role_out_fields);

AWAITS static int roles_list(struct req *r)
{
    return reply_page(r, "id", SQL_ROLES_LIST());
}

AWAITS static int roles_get(struct req *r)
{
    struct rows role;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &role, SQL_ROLE_GET(.id = id)));
    return reply_row(r, 200, &role);
}

/* --- field rules --- */

/* Builds the statement that stores one field rule. A caller cannot open fields that are closed to
 * the caller. */
static int field_rule_call(struct req *r,
                           const struct field_access_in *rule,
                           int64_t role_id,
                           struct db_call *ret_call)
{
    const struct entity *entity = model_entity(r->scope->model, rule->entity.value);
    int64_t *ids = ARENA_ARRAY(r->task.arena, ids, rule->fields.count + 1);
    enum perm_action action = (enum perm_action)perm_action_find(rule->action.value);

    if (!entity)
        return fail_field(r,
                          "field_access",
                          PROBLEM_VALIDATION_FAILED,
                          "there is no entity %.*s",
                          STR_ARG(rule->entity.value));
    for (size_t i = 0; i < rule->fields.count; i++) {
        const struct model_field *field = entity_field(entity, rule->fields.items[i]);
        if (!field || field->system || !caller_can_field(r->scope->caller, field, ACT_READ))
            return fail_field(r,
                              "field_access",
                              PROBLEM_VALIDATION_FAILED,
                              "%.*s has no field %.*s",
                              STR_ARG(entity->name),
                              STR_ARG(rule->fields.items[i]));
        if (!caller_can_field(r->scope->caller, field, action))
            return fail(
                r, PROBLEM_FORBIDDEN, "The caller cannot open a field that is closed to it.");
        ids[i] = field->id;
    }
    *ret_call = db_call_new(r->task.arena,
                            SQL_ROLE_FIELDS_ADD(.role_id = role_id,
                                                .entity_id = entity->id,
                                                .action = rule->action.value,
                                                .field_ids = sql_i64s(ids, rule->fields.count)));
    return 0;
}

/* --- changes --- */

static int roles_fail_save(struct req *r, int rc)
{
    if (rc != DB_UNIQUE)
        return sql_check(r, rc);
    return fail_unique_violation(r, "name", "is taken", "A role of this name exists.");
}

/* Runs after the rules are stored: an administrator role must have no permissions or field
 * rules. */
AWAITS static int check_excess(struct req *r, int64_t id, const struct role_in *in)
{
    struct rows rows;

    if (!in->permissions.set && !in->field_access.set && !in->is_admin.set)
        return 0;
    TRY(sql_one(r, &rows, SQL_ROLE_EXCESS(.id = id)));
    const struct sql_role_excess_row excess = sql_role_excess_row(&rows, 0);
    if (!excess.permissions && !excess.field_access)
        return 0;
    return fail_field(r,
                      excess.permissions ? "permissions" : "field_access",
                      PROBLEM_VALIDATION_FAILED,
                      "must be [] for an administrator role, which passes every check");
}

/* Writes permissions, field rules and audit row of the role in the open transaction, and reads the
 * role into ret_role. A role without a field rule reads and writes all fields, so the rights that
 * the role gives are known only after its rules are stored. These rights must not exceed the
 * caller's. */
AWAITS static int save_rules(struct req *r,
                             int64_t id,
                             const struct role_in *in,
                             const struct access_list *permissions,
                             const char *audit,
                             const struct rows *before,
                             struct rows *ret_role)
{
    const struct field_access_in *rules = in->field_access.items;
    struct db_call *calls = ARENA_ARRAY(r->task.arena, calls, in->field_access.count + 5);
    struct arena *arena = r->task.arena;
    size_t count = 0;

    if (in->permissions.set) {
        calls[count++] = db_call_new(arena, SQL_ROLE_PERMISSIONS_CLEAR(.role_id = id));
        calls[count++] = db_call_new(
            arena,
            SQL_ROLE_PERMISSIONS_ADD(.role_id = id,
                                     .entity_ids =
                                         sql_i64s(permissions->entity_ids, permissions->count),
                                     .permissions =
                                         sql_strs(permissions->permissions, permissions->count)));
    }
    if (in->field_access.set)
        calls[count++] = db_call_new(arena, SQL_ROLE_FIELDS_CLEAR(.role_id = id));
    for (size_t i = 0; i < in->field_access.count; i++)
        TRY(field_rule_call(r, &rules[i], id, &calls[count++]));
    calls[count++] = db_call_new(arena, SQL_ROLE_GET(.id = id));
    TRY(sql_batch(r, calls, count));
    TRY(check_excess(r, id, in));
    *ret_role = calls[count - 1].rows;
    const struct audit_change change = {.before = before, .after = ret_role};
    struct db_call entry = gateway_audit_change(r, audit, "role", id, &change);
    TRY(sql_batch(r, &entry, 1));
    return access_need_roles(r, "id", &id, 1);
}

/* Refuses rights that the caller cannot give through a role. */
AWAITS static int
check_grantable(struct req *r, const struct role_in *in, struct access_list *ret_permissions)
{
    TRY(access_resolve(r, &in->permissions, ret_permissions));
    TRY(access_need_all(r, ret_permissions));
    if (in->is_admin.set && in->is_admin.value && !caller_is_admin(r->scope->caller))
        return fail(r, PROBLEM_FORBIDDEN, "Only an administrator may give administrator rights.");
    if (in->api_access.set && in->api_access.value && !caller_has_api_access(r->scope->caller))
        return fail(r, PROBLEM_FORBIDDEN, "The caller has no API access and so cannot give it.");
    return 0;
}

AWAITS static int roles_create(struct req *r)
{
    struct access_list permissions;
    struct role_in in;
    struct rows role;
    int rc;

    TRY(req_json(r, &role_create_schema, &in));
    TRY(check_grantable(r, &in, &permissions));
    TRY(sql_begin(r));
    rc = db_query(&r->task,
                  r->scope->db,
                  SQL_ROLE_ADD(.name = in.name.value,
                               .description = in.description.value,
                               .is_admin = in.is_admin.value,
                               .api_access = in.api_access.value),
                  &role);
    if (rc)
        return roles_fail_save(r, rc);
    TRY(save_rules(
        r, sql_role_add_row(&role, 0).id, &in, &permissions, "roles.create", NULL, &role));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return reply_created(r, &role);
}

/* Begins a transaction and locks the role. Puts 403 when the role has rights that the caller does
 * not hold. */
AWAITS static int lock_role(struct req *r, int64_t id, struct rows *ret_role)
{
    TRY(sql_begin(r));
    TRY(access_lock_admins(r));
    TRY(sql_one(r, ret_role, SQL_ROLE_LOCK(.id = id)));
    return access_need_roles(r, "id", &id, 1);
}

AWAITS static int role_guard(struct req *r)
{
    struct rows role;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &role, SQL_ROLE_GET(.id = id)));
    return access_need_roles(r, "id", &id, 1);
}

AWAITS static int roles_update(struct req *r)
{
    struct access_list permissions;
    struct role_in in;
    struct rows before;
    struct rows role;
    int64_t id;
    int rc;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &role_update_schema, &in));
    TRY(check_grantable(r, &in, &permissions));
    TRY(lock_role(r, id, &role));
    TRY(sql_one(r, &before, SQL_ROLE_GET(.id = id)));
    rc = db_query(
        &r->task,
        r->scope->db,
        SQL_ROLE_SAVE(.id = id,
                      .name = in.name.value,
                      .description_set = in.description.set,
                      .description = in.description.value,
                      .is_admin = in.is_admin.set ? some_bool(in.is_admin.value) : NO_BOOL,
                      .api_access = in.api_access.set ? some_bool(in.api_access.value) : NO_BOOL),
        NULL);
    if (rc)
        return roles_fail_save(r, rc);
    TRY(save_rules(r, id, &in, &permissions, "roles.update", &before, &role));
    TRY(access_check_admins(r));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return reply_row(r, 200, &role);
}

AWAITS static int roles_delete(struct req *r)
{
    struct rows holders;
    struct rows role;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(lock_role(r, id, &role));
    TRY(sql_one(r, &holders, SQL_ROLE_HOLDERS(.role_id = id)));
    if (sql_role_holders_row(&holders, 0).holders)
        return fail(r,
                    PROBLEM_IN_USE,
                    "%lld users have this role; remove the role from these users first.",
                    (long long)sql_role_holders_row(&holders, 0).holders);
    struct db_call calls[] = {
        db_call(SQL_ROLE_REMOVE(.id = id)),
        db_call(SQL_ROLE_GRANTS_REMOVE(.grantee_id = id)),
        events_principal_gone_call(r->task.arena, 'r', id),
        gateway_audit(r, "roles.delete", "role", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(access_check_admins(r));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    search_notify(gateway_directory(), r->scope->project);
    return reply_empty(r, 204);
}

static const struct route roles_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/roles",
        .id = "roles_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ROLES_READ,
        .query = page_query,
        .success = {200, &role_out_schema, .list = true},
        .run = roles_list,
        .summary = "List roles",
    },
    {
        .method = HTTP_GET_M,
        .path = "/roles/{id}",
        .id = "roles_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ROLES_READ,
        .success = {200, &role_out_schema},
        .extra_statuses = {404},
        .run = roles_get,
        .summary = "Get a role",
    },
    {
        .method = HTTP_POST_M,
        .path = "/roles",
        .id = "roles_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ROLES_CREATE,
        .body = &role_create_schema,
        .success = {201, &role_out_schema},
        .extra_statuses = {409},
        .run = roles_create,
        .summary = "Create a role",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/roles/{id}",
        .id = "roles_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ROLES_UPDATE,
        .body = &role_update_schema,
        .success = {200, &role_out_schema},
        .extra_statuses = {404, 409},
        .run = roles_update,
        .guard = role_guard,
        .summary = "Change a role; permissions and field_access are replaced when sent",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/roles/{id}",
        .id = "roles_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ROLES_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = roles_delete,
        .guard = role_guard,
        .summary = "Delete a role that no user has",
    },
};
ROUTES(roles, "Roles and permissions");
