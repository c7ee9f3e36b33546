/* /groups: users who share records, and roles whose holders may read the members' records with
 * X-Group-Id. */
#include "app.h"
#include "groups_sql.h"
#include "project/events.h"

struct group_in {
    struct in_str name;
    struct in_str description;
    struct in_ids role_ids;
};

#define GROUP_MEMBERS(name_required)                                                               \
    NAMED_MEMBERS(struct group_in, name_required, "\"Support\""),                                  \
    {                                                                                              \
        .name = "role_ids", FIELD_AT(struct group_in, role_ids), .type = FIELD_IDS, .max = 100,    \
        .doc = "Roles whose holders may read the members' records with the header X-Group-Id, if " \
               "they have svc_group_data:read"                                                     \
    }

static const struct field group_create_fields[] = {GROUP_MEMBERS(true)};
static const struct field group_update_fields[] = {GROUP_MEMBERS(false)};
static const struct schema group_create_schema =
    SCHEMA("GroupCreate", struct group_in, group_create_fields);
static const struct schema group_update_schema =
    SCHEMA("GroupUpdate", struct group_in, group_update_fields);

static const struct field group_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "role_ids", .type = FIELD_IDS, .required = true},
    {.name = "member_count", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema group_out_schema = SCHEMA_OUT("Group", group_out_fields);

AWAITS static int groups_list(struct req *r)
{
    return reply_page(r, "id", SQL_GROUPS_LIST());
}

AWAITS static int groups_my(struct req *r)
{
    return reply_page(r, "id", SQL_GROUPS_OF_USER(.user_id = r->scope->caller->user_id));
}

AWAITS static int groups_get(struct req *r)
{
    struct rows group;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &group, SQL_GROUP_GET(.id = id)));
    return reply_row(r, 200, &group);
}

/*
 * Reads what a change of a group would open to users, because no caller gives access that the
 * caller does not have. A group opens records that are granted to it to its members. It opens the
 * members' own records to those of its members and of its roles' holders who have
 * svc_group_data:read.
 */
AWAITS static int
load_group_access(struct req *r, int64_t id, const struct in_ids *user_ids, struct rows *ret_gives)
{
    const struct rights *rights = r->scope->caller->rights;

    return sql_one(r,
                   ret_gives,
                   SQL_GROUP_GIVES(.group_id = id,
                                   .user_id = r->scope->caller->user_id,
                                   .role_ids = sql_i64s(rights->role_ids, rights->role_count),
                                   .user_ids = sql_i64s(user_ids->items, user_ids->count),
                                   .asks = caller_can(r->scope->caller, PERM_SVC_GROUP_DATA_READ)));
}

static bool sees_members_records(const struct caller *caller,
                                 const struct sql_group_gives_row *gives)
{
    return gives->reached && caller_can(caller, PERM_SVC_GROUP_DATA_READ);
}

AWAITS static int check_can_add(struct req *r, int64_t id, const struct in_ids *user_ids)
{
    struct rows rows;

    if (caller_is_admin(r->scope->caller))
        return 0;
    TRY(load_group_access(r, id, user_ids, &rows));
    const struct sql_group_gives_row gives = sql_group_gives_row(&rows, 0);
    if ((gives.granted && !gives.member) ||
        (gives.asks && !sees_members_records(r->scope->caller, &gives)))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "The added users would see records that the caller does not see: records that "
                    "are granted to the group, or its members' own. A member with "
                    "svc_group_data:read, or an administrator signed in as a user, may add them.");
    if (gives.opened)
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "The group would open the added users' own records, which the caller does not "
                    "see, to other users of the group who have svc_group_data:read. An "
                    "administrator signed in as a user may add them.");
    return 0;
}

/* Refuses role_ids when the caller does not see the members' own records: holders of the roles
 * may then read these records. */
AWAITS static int check_can_open(struct req *r, int64_t id, const struct in_ids *role_ids)
{
    struct rows rows;

    if (!role_ids->count || caller_is_admin(r->scope->caller))
        return 0;
    TRY(load_group_access(r, id, &(struct in_ids){0}, &rows));
    const struct sql_group_gives_row gives = sql_group_gives_row(&rows, 0);
    if (gives.peopled && !sees_members_records(r->scope->caller, &gives))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "The group would open its members' own records, which the caller does not see, "
                    "to the holders of role_ids. An administrator signed in as a user may set "
                    "role_ids.");
    return 0;
}

/* Answers an error of the database. `refers`: the member whose ids may not exist. */
static int fail_group_change(struct req *r, int rc, const char *refers)
{
    if (rc == DB_UNIQUE)
        return fail_unique_violation(r, "name", "is taken", "A group of this name exists.");
    if (rc == DB_FOREIGN_KEY)
        return fail_field(
            r, refers, PROBLEM_FOREIGN_KEY_VIOLATION, "contains an id that does not exist");
    return sql_check(r, rc);
}

/* Writes roles and audit row in the open transaction, reads the group into ret_group and
 * commits. */
AWAITS static int finish_change(struct req *r,
                                int64_t id,
                                const struct in_ids *roles,
                                const char *action,
                                const struct rows *before,
                                struct rows *ret_group)
{
    struct db_call calls[] = {
        db_call(SQL_GROUP_ROLES_CLEAR(.group_id = id)),
        db_call(
            SQL_GROUP_ROLES_ADD(.group_id = id, .role_ids = sql_i64s(roles->items, roles->count))),
        db_call(SQL_GROUP_GET(.id = id)),
    };
    size_t first = roles->set ? 0 : 2;
    int rc = db_batch(&r->task, r->scope->db, calls + first, ARRAY_LEN(calls) - first, NULL);

    if (rc)
        return fail_group_change(r, rc, "role_ids");
    *ret_group = calls[2].rows;
    const struct audit_change change = {.before = before, .after = ret_group};
    TRY(gateway_commit(r, gateway_audit_change(r, action, "group", id, &change)));
    gateway_raise_epoch(r);
    return 0;
}

AWAITS static int groups_create(struct req *r)
{
    struct group_in in;
    struct rows group;
    int rc;

    TRY(req_json(r, &group_create_schema, &in));
    TRY(sql_begin(r));
    rc = db_query(&r->task,
                  r->scope->db,
                  SQL_GROUP_ADD(.name = in.name.value, .description = in.description.value),
                  &group);
    if (rc)
        return fail_group_change(r, rc, "role_ids");
    TRY(finish_change(
        r, sql_group_add_row(&group, 0).id, &in.role_ids, "groups.create", NULL, &group));
    return reply_created(r, &group);
}

AWAITS static int groups_update(struct req *r)
{
    struct group_in in;
    struct rows before;
    struct rows group;
    int64_t id;
    int rc;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &group_update_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r, &before, SQL_GROUP_GET(.id = id)));
    rc = db_query(&r->task,
                  r->scope->db,
                  SQL_GROUP_SAVE(.id = id,
                                 .name = in.name.value,
                                 .description_set = in.description.set,
                                 .description = in.description.value),
                  &group);
    if (rc)
        return fail_group_change(r, rc, "role_ids");
    if (!group.count)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    TRY(check_can_open(r, id, &in.role_ids));
    TRY(finish_change(r, id, &in.role_ids, "groups.update", &before, &group));
    return reply_row(r, 200, &group);
}

/* Returns the detail of an audit row: the users who join or leave. */
static struct str members_detail(struct req *r, const int64_t *user_ids, size_t count)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 64 + count * 21);
    jw_init(&w, &text);
    jw_obj(&w);
    jw_lit(&w, "user_ids");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++)
        jw_i64(&w, user_ids[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

/* Audits and commits a removal. The calling function has made sure that a row was removed. */
AWAITS static int
finish_removal(struct req *r, int64_t group_id, const char *action, struct str detail)
{
    TRY(gateway_commit(r, gateway_audit(r, action, "group", group_id, detail)));
    gateway_raise_epoch(r);
    search_notify(gateway_directory(), r->scope->project);
    return reply_empty(r, 204);
}

AWAITS static int groups_delete(struct req *r)
{
    struct rows removed;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &removed, SQL_GROUP_REMOVE(.id = id)));
    TRY(sql_exec(r, NULL, SQL_GROUP_GRANTS_REMOVE(.grantee_id = id)));
    struct db_call gone = events_principal_gone_call(r->task.arena, 'g', id);
    TRY(sql_batch(r, &gone, 1));
    return finish_removal(r, id, "groups.delete", STR_NONE);
}

struct members_in {
    struct in_ids user_ids;
};

static const struct field members_fields[] = {
    {.name = "user_ids",
     FIELD_AT(struct members_in, user_ids),
     .type = FIELD_IDS,
     .required = true,
     .min = 1,
     .max = 1000,
     .example = "[1]"},
};
static const struct schema members_schema =
    SCHEMA("GroupMembersAdd", struct members_in, members_fields);

static const struct field member_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .doc = "The user's id"},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "email", .type = FIELD_STR, .required = true, .format = "email"},
    {.name = "created_at", .type = FIELD_TIME, .required = true, .doc = "When the user joined"},
};
static const struct schema member_out_schema = SCHEMA_OUT("GroupMember", member_out_fields);

AWAITS static int members_list(struct req *r)
{
    struct rows group;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &group, SQL_GROUP_GET(.id = id)));
    return reply_page(r, "id", SQL_GROUP_MEMBERS(.group_id = id));
}

AWAITS static int members_add(struct req *r)
{
    struct members_in in;
    struct rows group;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &members_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r, &group, SQL_GROUP_LOCK(.id = id)));
    TRY(check_can_add(r, id, &in.user_ids));
    struct db_call calls[] = {
        db_call(SQL_GROUP_MEMBERS_ADD(.group_id = id,
                                      .user_ids = sql_i64s(in.user_ids.items, in.user_ids.count))),
        gateway_audit(r,
                      "groups.add_members",
                      "group",
                      id,
                      members_detail(r, in.user_ids.items, in.user_ids.count)),
        db_call(SQL_GROUP_GET(.id = id)),
    };
    int rc = db_batch(&r->task, r->scope->db, calls, ARRAY_LEN(calls), NULL);
    if (rc)
        return fail_group_change(r, rc, "user_ids");
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return reply_row(r, 200, &calls[2].rows);
}

AWAITS static int member_guard(struct req *r)
{
    struct rows member;
    int64_t user_id;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "user_id", &user_id));
    return sql_one(r, &member, SQL_GROUP_MEMBER(.group_id = id, .user_id = user_id));
}

AWAITS static int members_remove(struct req *r)
{
    struct rows removed;
    int64_t user_id;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "user_id", &user_id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &removed, SQL_GROUP_MEMBER_REMOVE(.group_id = id, .user_id = user_id)));
    return finish_removal(r, id, "groups.remove_member", members_detail(r, &user_id, 1));
}

static const struct route groups_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/groups",
        .id = "groups_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_READ,
        .query = page_query,
        .success = {200, &group_out_schema, .list = true},
        .run = groups_list,
        .summary = "List groups",
    },
    {
        .method = HTTP_GET_M,
        .path = "/groups/my",
        .id = "groups_my",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_READ,
        .query = page_query,
        .success = {200, &group_out_schema, .list = true},
        .run = groups_my,
        .summary = "List the caller's own groups",
    },
    {
        .method = HTTP_GET_M,
        .path = "/groups/{id}",
        .id = "groups_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_READ,
        .success = {200, &group_out_schema},
        .extra_statuses = {404},
        .run = groups_get,
        .summary = "Get a group",
    },
    {
        .method = HTTP_POST_M,
        .path = "/groups",
        .id = "groups_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_CREATE,
        .body = &group_create_schema,
        .success = {201, &group_out_schema},
        .extra_statuses = {409},
        .run = groups_create,
        .summary = "Create a group",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/groups/{id}",
        .id = "groups_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_UPDATE,
        .body = &group_update_schema,
        .success = {200, &group_out_schema},
        .extra_statuses = {404, 409},
        .run = groups_update,
        .guard = groups_get,
        .summary = "Change a group",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/groups/{id}",
        .id = "groups_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = groups_delete,
        .guard = groups_get,
        .summary = "Delete a group; its members stay users",
    },
    {
        .method = HTTP_GET_M,
        .path = "/groups/{id}/members",
        .id = "group_members_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_READ,
        .query = page_query,
        .success = {200, &member_out_schema, .list = true},
        .extra_statuses = {404},
        .run = members_list,
        .summary = "List a group's members",
    },
    {
        .method = HTTP_POST_M,
        .path = "/groups/{id}/members",
        .id = "group_members_add",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_UPDATE,
        .body = &members_schema,
        .success = {200, &group_out_schema},
        .extra_statuses = {404},
        .run = members_add,
        .guard = groups_get,
        .summary = "Add users to a group; existing members stay",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/groups/{id}/members/{user_id}",
        .id = "group_members_remove",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_GROUPS_UPDATE,
        .success = {204},
        .extra_statuses = {404},
        .run = members_remove,
        .guard = member_guard,
        .summary = "Remove a user from a group",
    },
};
ROUTES(groups, "Groups");
