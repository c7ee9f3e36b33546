/* /dashboards: dashboards, the roles that they are shared with, and home dashboards. */
#include "areas/dashboards/dashboards.h"
#include "base/num.h"
#include "dashboards_sql.h"
#include "limit.h"
#include "stages/refusals.h"

#define ROLES_MAX 100

struct dashboard_in {
    struct in_str name, description;
    struct in_ids role_ids;
};

/* clang-format off */
#define DASHBOARD_MEMBERS(new)                                                                     \
    NAMED_MEMBERS(struct dashboard_in, new, "\"Sales\""),                                          \
    {.name = "role_ids", FIELD_AT(struct dashboard_in, role_ids), .type = FIELD_IDS,               \
     .max = ROLES_MAX, .doc = "Roles whose holders also see the dashboard; []: only its owner "    \
     "and administrators see it",                                                                  \
     .example = "[2]"}
/* clang-format on */

static const struct field dashboard_create_fields[] = {DASHBOARD_MEMBERS(true)};
static const struct field dashboard_update_fields[] = {DASHBOARD_MEMBERS(false)};
static const struct schema dashboard_create_schema =
    SCHEMA("DashboardCreate", struct dashboard_in, dashboard_create_fields);
static const struct schema dashboard_update_schema =
    SCHEMA("DashboardUpdate", struct dashboard_in, dashboard_update_fields);

/* clang-format off */
#define DASHBOARD_SHOWN(...)                                                                       \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
    {.name = "name", .type = FIELD_STR, .required = true},                                         \
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},                \
    {.name = "owner_id", .type = FIELD_I64, .required = true, .nullable = true},                   \
    {.name = "role_ids", .type = FIELD_IDS, .required = true},                                     \
    {.name = "can_edit", .type = FIELD_BOOL, .required = true,                                     \
     .doc = "Whether the caller may change the dashboard: its owner or an administrator"},         \
    __VA_ARGS__,                                                                                   \
    {.name = "version", .type = FIELD_I64, .required = true,                                       \
     .doc = "Raised by every change of the dashboard or its widgets"},                             \
    {.name = "created_at", .type = FIELD_TIME, .required = true},                                  \
    {.name = "updated_at", .type = FIELD_TIME, .required = true}
/* clang-format on */

static const struct field dashboard_row_fields[] = {
    DASHBOARD_SHOWN({.name = "widget_count", .type = FIELD_I64, .required = true}),
};
static const struct schema dashboard_row_schema = SCHEMA_OUT("DashboardRow", dashboard_row_fields);

static const struct field dashboard_out_fields[] = {
    DASHBOARD_SHOWN(
        {.name = "widgets", .type = FIELD_LIST, .required = true, .sub = &widget_out_schema}),
};
const struct schema dashboard_out_schema = SCHEMA_OUT("Dashboard", dashboard_out_fields);

static const char *const home_scopes[] = {"user", "role", "project", NULL};

struct home_in {
    struct in_str scope;
    struct in_i64 role_id, dashboard_id;
};
static const struct field home_fields[] = {
    {.name = "scope",
     FIELD_AT(struct home_in, scope),
     .type = FIELD_STR,
     .required = true,
     .values = home_scopes,
     .doc = "user: the caller alone; role: holders of a role; project: everyone. Only "
            "administrators may set role and project",
     .example = "\"user\""},
    {.name = "role_id",
     FIELD_AT(struct home_in, role_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "Required with scope role"},
    {.name = "dashboard_id",
     FIELD_AT(struct home_in, dashboard_id),
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "null removes the home dashboard"},
};
static const struct schema home_schema = SCHEMA("DashboardHomeUpdate", struct home_in, home_fields);

static const struct field home_out_fields[] = {
    {.name = "scope",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .values = home_scopes,
     .doc = "Whose home dashboard the caller gets; null when the caller sees no home dashboard"},
    {.name = "role_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "dashboard",
     .type = FIELD_OBJ,
     .required = true,
     .nullable = true,
     .sub = &dashboard_out_schema},
};
static const struct schema home_out_schema = SCHEMA_OUT("DashboardHome", home_out_fields);

/* --- rights --- */

struct sql_i64s caller_roles(const struct caller *caller)
{
    return caller->rights ? sql_i64s(caller->rights->role_ids, caller->rights->role_count)
                          : sql_i64s(NULL, 0);
}

/* co: Sets *ret_seen to whether the dashboard exists and the caller sees it. */
AWAITS static int dashboard_is_visible(struct req *r, int64_t id, bool *ret_seen)
{
    const struct caller *caller = r->scope->caller;
    struct rows rows;

    TRY(sql_all(r,
                &rows,
                SQL_DASHBOARD_VISIBLE(.id = id,
                                      .everything = caller_is_admin(caller),
                                      .user_id = caller->user_id,
                                      .role_ids = caller_roles(caller))));
    *ret_seen = rows.count > 0;
    return 0;
}

static int dashboard_may_change(struct req *r, struct opt_i64 owner_id)
{
    const struct caller *caller = r->scope->caller;

    if (caller_is_admin(caller) || (owner_id.set && owner_id.value == caller->user_id))
        return 0;
    return fail(
        r,
        PROBLEM_FORBIDDEN,
        "Only the owner of a dashboard and an administrator, signed in as a user, may change it.");
}

int dashboard_guard(struct req *r)
{
    const struct caller *caller = r->scope->caller;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r,
                &rows,
                SQL_DASHBOARD_VISIBLE(.id = id,
                                      .everything = caller_is_admin(caller),
                                      .user_id = caller->user_id,
                                      .role_ids = caller_roles(caller))));
    return dashboard_may_change(r, sql_dashboard_visible_row(&rows, 0).owner_id);
}

int dashboard_lock(struct req *r, int64_t *ret_id, int64_t *ret_version, struct rows *ret_rows)
{
    const struct caller *caller = r->scope->caller;
    struct rows rows;

    TRY(req_id(r, "id", ret_id));
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_DASHBOARD_LOCK(.id = *ret_id,
                                   .everything = caller_is_admin(caller),
                                   .user_id = caller->user_id,
                                   .role_ids = caller_roles(caller))));
    const struct sql_dashboard_lock_row row = sql_dashboard_lock_row(&rows, 0);
    TRY(dashboard_may_change(r, row.owner_id));
    *ret_version = row.version;
    *ret_rows = rows;
    return 0;
}

AWAITS static int dashboard_read(struct req *r, int64_t id, struct rows *ret_rows)
{
    const struct caller *caller = r->scope->caller;

    return sql_one(r,
                   ret_rows,
                   SQL_DASHBOARD_GET(.id = id,
                                     .everything = caller_is_admin(caller),
                                     .user_id = caller->user_id,
                                     .role_ids = caller_roles(caller)));
}

int dashboard_reply(struct req *r, int status, int64_t id)
{
    struct rows rows;

    TRY(dashboard_read(r, id, &rows));
    dashboard_hide_fields(r, &rows, 0, "widgets");
    return reply_row(r, status, &rows);
}

/* --- dashboards --- */

AWAITS static int dashboards_list(struct req *r)
{
    const struct caller *caller = r->scope->caller;

    return reply_page(r,
                      "id",
                      SQL_DASHBOARDS_LIST(.everything = caller_is_admin(caller),
                                          .user_id = caller->user_id,
                                          .role_ids = caller_roles(caller)));
}

AWAITS static int dashboards_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return dashboard_reply(r, 200, id);
}

/* co: In a transaction: replaces the roles of the dashboard, if the body has role_ids. */
AWAITS static int dashboard_share(struct req *r, int64_t id, const struct in_ids *roles)
{
    struct sql_i64s ids;
    struct rows rows;

    if (!roles->set)
        return 0;
    ids = sql_i64s(roles->items, num_sort_unique(roles->items, roles->count));
    TRY(sql_one(r, &rows, SQL_ROLES_KNOWN(.ids = ids)));
    if (sql_roles_known_row(&rows, 0).known != (int64_t)ids.count)
        return fail_field(r, "role_ids", PROBLEM_FOREIGN_KEY_VIOLATION, "there is no such role");
    struct db_call calls[] = {
        db_call(SQL_DASHBOARD_ROLES_CLEAR(.dashboard_id = id)),
        db_call(SQL_DASHBOARD_ROLES_ADD(.dashboard_id = id, .role_ids = ids)),
    };
    return sql_batch(r, calls, ARRAY_LEN(calls));
}

static const struct limit dashboards_limit = {
    "dashboards", "A project", "dashboards", DASHBOARDS_MAX};

AWAITS static int dashboards_create(struct req *r)
{
    struct dashboard_in in;
    struct db_call count = db_call(SQL_DASHBOARDS_COUNT());
    struct rows rows;

    TRY(req_json(r, &dashboard_create_schema, &in));
    TRY(sql_begin(r));
    TRY(limit_check(r, &dashboards_limit, 0, &count, 1));
    TRY(sql_one(r,
                &rows,
                SQL_DASHBOARD_ADD(.name = in.name.value,
                                  .description = in.description.value,
                                  .owner_id = some_id(r->scope->caller->user_id))));
    int64_t id = sql_dashboard_add_row(&rows, 0).id;
    TRY(dashboard_share(r, id, &in.role_ids));
    TRY(gateway_commit(r, gateway_audit(r, "dashboards.create", "dashboard", id, STR_NONE)));
    reply_location(r, id);
    return dashboard_reply(r, 201, id);
}

AWAITS static int dashboards_update(struct req *r)
{
    struct dashboard_in in;
    struct rows before;
    struct rows after;
    struct rows rows;
    int64_t version;
    int64_t id;

    TRY(req_json(r, &dashboard_update_schema, &in));
    TRY(dashboard_lock(r, &id, &version, &rows));
    const struct sql_dashboard_lock_row row = sql_dashboard_lock_row(&rows, 0);
    TRY(dashboard_read(r, id, &before));
    TRY(sql_exec(r,
                 NULL,
                 SQL_DASHBOARD_SAVE(.id = id,
                                    .name = in.name.set ? in.name.value : row.name,
                                    .description = in.description.set ? in.description.value
                                                                      : row.description)));
    TRY(dashboard_share(r, id, &in.role_ids));
    TRY(dashboard_read(r, id, &after));
    const struct audit_change change = {.before = &before, .after = &after};
    TRY(gateway_commit(r, gateway_audit_change(r, "dashboards.update", "dashboard", id, &change)));
    return dashboard_reply(r, 200, id);
}

AWAITS static int dashboards_delete(struct req *r)
{
    struct rows rows;
    int64_t version;
    int64_t id;

    TRY(dashboard_lock(r, &id, &version, &rows));
    TRY(sql_exec(r, NULL, SQL_DASHBOARD_REMOVE(.id = id)));
    TRY(gateway_commit(r, gateway_audit(r, "dashboards.delete", "dashboard", id, STR_NONE)));
    return reply_empty(r, 204);
}

/* --- home dashboards --- */

AWAITS static int home_reply(struct req *r)
{
    const struct caller *caller = r->scope->caller;
    bool everything = caller_is_admin(caller);
    struct sql_i64s roles = caller_roles(caller);
    struct rows shown = {0};
    struct rows home;
    struct jw w;

    TRY(sql_all(
        r,
        &home,
        SQL_HOME_FIND(.user_id = caller->user_id, .role_ids = roles, .everything = everything)));
    if (home.count)
        TRY(sql_all(r,
                    &shown,
                    SQL_DASHBOARD_GET(.id = sql_home_find_row(&home, 0).dashboard_id,
                                      .everything = everything,
                                      .user_id = caller->user_id,
                                      .role_ids = roles)));
    if (shown.count)
        dashboard_hide_fields(r, &shown, 0, "widgets");
    w = resp_json(r);
    jw_obj(&w);
    if (!shown.count) {
        JW_NULL(&w, "scope");
        JW_NULL(&w, "role_id");
        JW_NULL(&w, "dashboard");
        jw_obj_end(&w);
        return reply_json(r, 200);
    }
    const struct sql_home_find_row row = sql_home_find_row(&home, 0);
    JW_STR(&w, "scope", row.scope);
    jw_lit(&w, "role_id");
    if (str_is(row.scope, "role"))
        jw_i64(&w, row.subject_id);
    else
        jw_null(&w);
    jw_lit(&w, "dashboard");
    jw_obj(&w);
    rows_json_members(&w, &shown, 0);
    jw_obj_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* Finds the subject whose home the body sets: the caller's user id, a role's id, or 0 for the
 * project. Roles and the project need an administrator. */
static int home_read_subject(struct req *r, const struct home_in *in, int64_t *ret_subject)
{
    bool role = str_is(in->scope.value, "role");

    if (role != (in->role_id.value != 0))
        return fail_field(r,
                          "role_id",
                          role ? PROBLEM_REQUIRED : PROBLEM_VALIDATION_FAILED,
                          role ? "is required" : "is only allowed with scope role");
    if (str_is(in->scope.value, "user"))
        *ret_subject = r->scope->caller->user_id;
    else if (caller_is_admin(r->scope->caller))
        *ret_subject = in->role_id.value;
    else
        return refusal(r, REFUSE_ADMIN, "Only an administrator of the project may do this.");
    return 0;
}

/* co: Checks that the role exists and that the caller sees the dashboard. */
AWAITS static int home_check(struct req *r, const struct home_in *in)
{
    struct rows rows;
    bool seen = true;

    if (in->role_id.value) {
        TRY(sql_one(r, &rows, SQL_ROLES_KNOWN(.ids = sql_i64s(&in->role_id.value, 1))));
        if (!sql_roles_known_row(&rows, 0).known)
            return fail_field(r, "role_id", PROBLEM_FOREIGN_KEY_VIOLATION, "there is no such role");
    }
    if (!in->dashboard_id.null)
        TRY(dashboard_is_visible(r, in->dashboard_id.value, &seen));
    return seen ? 0
                : fail_field(r,
                             "dashboard_id",
                             PROBLEM_FOREIGN_KEY_VIOLATION,
                             "there is no such dashboard");
}

AWAITS static int dashboards_home_set(struct req *r)
{
    struct home_in in;
    int64_t subject = 0;

    TRY(req_json(r, &home_schema, &in));
    TRY(home_read_subject(r, &in, &subject));
    TRY(sql_begin(r));
    TRY(home_check(r, &in));
    if (in.dashboard_id.null)
        TRY(sql_exec(r, NULL, SQL_HOME_CLEAR(.scope = in.scope.value, .subject_id = subject)));
    else
        TRY(sql_exec(r,
                     NULL,
                     SQL_HOME_SET(.scope = in.scope.value,
                                  .subject_id = subject,
                                  .dashboard_id = in.dashboard_id.value)));
    TRY(gateway_commit(
        r, gateway_audit(r, "dashboards.home", "dashboard", in.dashboard_id.value, STR_NONE)));
    return home_reply(r);
}

static const struct route dashboards_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/dashboards",
        .id = "dashboards_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_READ,
        .query = page_query,
        .success = {200, &dashboard_row_schema, .list = true},
        .run = dashboards_list,
        .summary = "List the dashboards that the caller sees, without their widgets",
        .doc = "Lists the caller's own dashboards, and those that are shared with one of the "
               "caller's roles. An administrator, signed in as a user, sees all.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/dashboards/home",
        .id = "dashboards_home",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_READ,
        .success = {200, &home_out_schema},
        .run = home_reply,
        .summary = "Get the caller's home dashboard",
        .doc = "Of these dashboards, the first that the caller sees: the home dashboard that the "
               "user has chosen, those of the user's roles in the order of the role ids, that of "
               "the project.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/dashboards/home",
        .id = "dashboards_home_set",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .body = &home_schema,
        .success = {200, &home_out_schema},
        .run = dashboards_home_set,
        .summary = "Set the home dashboard of the caller, of a role or of the project",
        .doc = "Returns the home dashboard that the caller gets now.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/dashboards/{id}",
        .id = "dashboards_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_READ,
        .success = {200, &dashboard_out_schema},
        .extra_statuses = {404},
        .run = dashboards_get,
        .summary = "Get a dashboard with its widgets",
        .doc = "A dashboard grants no right to the data that its widgets show: charts and records "
               "are read with the caller's own rights.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/dashboards",
        .id = "dashboards_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_CREATE,
        .body = &dashboard_create_schema,
        .success = {201, &dashboard_out_schema},
        .extra_statuses = {409},
        .run = dashboards_create,
        .summary = "Create a dashboard that the caller owns",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/dashboards/{id}",
        .id = "dashboards_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .body = &dashboard_update_schema,
        .success = {200, &dashboard_out_schema},
        .extra_statuses = {404},
        .run = dashboards_update,
        .guard = dashboard_guard,
        .summary = "Change a dashboard, or share it with roles",
        .doc = "Only for the owner, and for administrators who are signed in as a user.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/dashboards/{id}",
        .id = "dashboards_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = dashboards_delete,
        .guard = dashboard_guard,
        .summary = "Delete a dashboard; its charts are kept",
        .doc = "Only for the owner, and for administrators who are signed in as a user.",
    },
};
ROUTES(dashboards, "Dashboards");
