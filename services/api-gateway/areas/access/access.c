/* No caller grants rights that it does not hold, and the last administrator stays. See access.h. */
#include "areas/access/access.h"

#include "access_sql.h"
#include "base/num.h"
#include "json/jr.h"

#define MAP_BYTES 16384

/* --- permission names --- */

static bool resolve_entity_permission(struct req *r,
                                      struct str name,
                                      int64_t *ret_entity_id,
                                      struct str *ret_action)
{
    const struct entity *entity = model_entity(r->scope->model, str_split(&name, ':'));
    int action = name.ptr ? perm_action_find(name) : -1;

    if (!entity || action < 0 || action > ACT_DELETE)
        return false;
    *ret_entity_id = entity->id;
    *ret_action = name;
    return true;
}

static bool caller_holds(const struct caller *caller, int64_t entity_id, struct str permission)
{
    if (!entity_id)
        return caller_can(caller, perm_find(permission));
    return caller_can_entity(caller, entity_id, (enum perm_action)perm_action_find(permission));
}

static bool
is_permission_listed(const struct access_list *list, int64_t entity_id, struct str permission)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entity_ids[i] == entity_id && str_eq(list->permissions[i], permission))
            return true;
    }
    return false;
}

static void add_name(struct req *r, struct access_list *list, struct str name)
{
    struct str permission = name;
    int64_t entity_id = 0;
    bool known =
        perm_find(name) != PERM_NONE || resolve_entity_permission(r, name, &entity_id, &permission);

    if (!known || !caller_holds(r->scope->caller, entity_id, permission)) {
        list->refused[list->refused_count++] = name;
    } else if (!is_permission_listed(list, entity_id, permission)) {
        list->entity_ids[list->count] = entity_id;
        list->permissions[list->count] = permission;
        list->names[list->count++] = name;
    }
}

int access_resolve(struct req *r, const struct in_strs *names, struct access_list *ret)
{
    size_t capacity = names->count + 1;

    *ret = (struct access_list){
        .entity_ids = ARENA_ARRAY(r->task.arena, ret->entity_ids, capacity),
        .permissions = ARENA_ARRAY(r->task.arena, ret->permissions, capacity),
        .names = ARENA_ARRAY(r->task.arena, ret->names, capacity),
        .refused = ARENA_ARRAY(r->task.arena, ret->refused, capacity),
    };
    for (size_t i = 0; i < names->count; i++)
        add_name(r, ret, names->items[i]);
    /* A new key lacks a refused permission for good, so the refusal must not rest on an old
     * cache. */
    r->scope->may_be_stale = ret->refused_count && !r->scope->is_rechecked;
    return r->scope->may_be_stale ? fail(r, PROBLEM_FORBIDDEN, NULL) : 0;
}

static bool permission_exists(struct req *r, struct str name)
{
    struct str action;
    int64_t entity_id;

    return perm_find(name) != PERM_NONE || resolve_entity_permission(r, name, &entity_id, &action);
}

int access_need_all(struct req *r, const struct access_list *list)
{
    if (!list->refused_count)
        return 0;
    for (size_t i = 0; i < list->refused_count; i++) {
        if (!permission_exists(r, list->refused[i]))
            return fail_field(r,
                              "permissions",
                              PROBLEM_VALIDATION_FAILED,
                              "there is no permission %.*s",
                              STR_ARG(list->refused[i]));
    }
    return fail(r,
                PROBLEM_FORBIDDEN,
                "The caller does not hold %.*s and so cannot give it.",
                STR_ARG(list->refused[0]));
}

/* --- roles --- */

static bool has_field(struct str fields, int64_t field_id)
{
    int64_t id;

    if (str_is(fields, "*"))
        return true;
    while (fields.ptr) {
        if (num_parse_i64(str_split(&fields, ' '), &id) && id == field_id)
            return true;
    }
    return false;
}

/* Returns whether the caller may access all fields ("*" or ids) that a role opens for one
 * action. */
static bool
caller_holds_fields(struct req *r, int64_t entity_id, struct str permission, struct str fields)
{
    const struct entity *entity = model_entity_by_id(r->scope->model, entity_id);
    int action = perm_action_find(permission);

    if (!entity || action < ACT_READ || action > ACT_UPDATE)
        return true;
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!field->system && has_field(fields, field->id) &&
            !caller_can_field(r->scope->caller, field, (enum perm_action)action))
            return false;
    }
    return true;
}

static bool has_role_itself(const struct caller *caller, int64_t role_id)
{
    for (size_t i = 0; i < caller->rights->role_count; i++) {
        if (caller->rights->role_ids[i] == role_id)
            return true;
    }
    return false;
}

/* Returns whether the role opens records to its holders, by grants or as a role of groups, and the
 * caller is no holder: only holders may give these records. For callers who are no
 * administrators. */
static bool opens_unseen_rows(const struct caller *caller, const struct sql_permission_row *row)
{
    return row->opens_rows && !has_role_itself(caller, row->id);
}

static int access_check_rows(struct req *r, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_permission_row row = sql_permission_row(rows, i);
        bool above = row.is_admin || (row.api_access && !caller_has_api_access(r->scope->caller)) ||
                     opens_unseen_rows(r->scope->caller, &row);
        if (!above && !row.permission.ptr)
            continue;
        if (above || !caller_holds(r->scope->caller, row.entity_id.value, row.permission) ||
            !caller_holds_fields(r, row.entity_id.value, row.permission, row.fields))
            return fail(
                r, PROBLEM_FORBIDDEN, "These roles give rights that the caller does not hold.");
    }
    return 0;
}

static bool has_role(const struct rows *rows, int64_t role_id)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (sql_permission_row(rows, i).id == role_id)
            return true;
    }
    return false;
}

int access_need_roles(struct req *r, const char *member, const int64_t *role_ids, size_t count)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_ROLES_PERMISSIONS(.ids = sql_i64s(role_ids, count))));
    for (size_t i = 0; i < count; i++) {
        if (!has_role(&rows, role_ids[i]))
            return fail_field(r,
                              member,
                              PROBLEM_FOREIGN_KEY_VIOLATION,
                              "there is no role %lld",
                              (long long)role_ids[i]);
    }
    return caller_is_admin(r->scope->caller) ? 0 : access_check_rows(r, &rows);
}

int access_default_roles(struct req *r, struct in_ids *ret_roles)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_ROLES_DEFAULT()));
    *ret_roles = (struct in_ids){.set = true, .count = rows.count};
    ret_roles->items = ARENA_ARRAY(r->task.arena, ret_roles->items, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        ret_roles->items[i] = sql_roles_default_row(&rows, i).id;
    return 0;
}

int access_need_user(struct req *r, int64_t user_id)
{
    struct rows rows;

    if (caller_is_admin(r->scope->caller))
        return 0;
    TRY(sql_all(r, &rows, SQL_USER_PERMISSIONS(.user_id = user_id)));
    return access_check_rows(r, &rows);
}

int access_lock_admins(struct req *r)
{
    return sql_exec(r, NULL, SQL_ADMIN_ROLES_LOCK());
}

int access_check_admins(struct req *r)
{
    const struct project_settings *settings = &r->scope->project->settings;

    return access_check_admins_if(r, settings->require_confirmed_email, settings->oidc_issuer);
}

int access_check_admins_if(struct req *r, bool confirmed, struct str issuer)
{
    struct rows left;

    issuer = arena_dup(r->task.arena, issuer); /* a change of the settings replaces their texts */
    TRY(sql_one(r, &left, SQL_ADMINS_LEFT(.confirmed = confirmed, .issuer = issuer)));
    if (sql_admins_left_row(&left, 0).found)
        return 0;
    return fail(r,
                PROBLEM_LAST_ADMINISTRATOR,
                "The project needs at least one administrator who can sign in.");
}

/* --- objects that are stored with a user --- */

int access_check_map_size(struct req *r, const char *member, const struct in_json *in)
{
    if (!in->set || in->null || jr_print(r->task.arena, in->value).len <= MAP_BYTES)
        return 0;
    return fail_field(r, member, PROBLEM_TOO_LONG, "must have at most %d bytes as JSON", MAP_BYTES);
}
