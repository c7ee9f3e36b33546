/*
 * GET /permissions/explain: the checks that decide about a request, in the order in which they are
 * made, by the same functions (stages/checks.h, the row rule, the field rule, the route's guard or
 * handler). A caller who is no administrator learns no more than the request itself would reveal:
 * nothing after the first failed check.
 */
#include <string.h>

#include "app.h"
#include "base/num.h"
#include "base/panic.h"
#include "catalog/problem.h"
#include "explain_sql.h"
#include "http/router.h"
#include "items/items.h"
#include "stages/checks.h"
#include "stages/inner.h"
#include "stages/stages.h"

#define ANSWER_BYTES 16384 /* of a refusal; of any other answer only the status is used */

/* --- the question --- */

struct question {
    enum http_method method;
    struct str path;       /* as in the query */
    struct str whole_path; /* with "/org/{project_id}" before it */
    struct route_match match;
    const struct entity *entity; /* of the path; NULL: none, or unknown */
    struct caller caller;        /* the caller to explain */
    struct records_ctx *ctx;     /* records context of that caller */
    bool key_expired;
    struct str status;    /* of the account */
    struct rows roles;    /* SQL_EXPLAIN_ROLES */
    bool shows_all;       /* the asking caller is an administrator and may learn everything */
    enum problem problem; /* of the first failed check; PROBLEM_NONE: none failed */
    struct str reason;
};

static const struct {
    const char *name;
    enum http_method method;
} methods[] = {
    {"GET", HTTP_GET_M},
    {"HEAD", HTTP_HEAD_M},
    {"POST", HTTP_POST_M},
    {"PUT", HTTP_PUT_M},
    {"PATCH", HTTP_PATCH_M},
    {"DELETE", HTTP_DELETE_M},
};
static const char *const method_names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", NULL};

static int question_fail(struct req *r, const char *parameter, const char *what)
{
    return fail(r, PROBLEM_INVALID_QUERY, "Query parameter '%s' %s", parameter, what);
}

/* Accepts paths below {base_url}, and paths with "/org/{project_id}" as copied from a browser. */
static int find_route(struct req *r, struct question *question)
{
    struct str slug = req_param(r, "project_id");
    struct str prefix = arena_printf(r->task.arena, "/org/%.*s", STR_ARG(slug));
    struct str path = question->path;
    struct str allow = STR_NONE;

    if (!str_starts(path, STR("/")))
        return question_fail(r, "path", "must begin with '/'.");
    if (memchr(path.ptr, '?', path.len))
        return question_fail(r, "path", "must be a path without '?' and query.");
    if (!str_starts(path, arena_printf(r->task.arena, "%.*s/", STR_ARG(prefix))))
        path = arena_printf(r->task.arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(path));
    int rc = router_find(
        gateway_router, r->task.arena, question->method, path, &question->match, &allow);
    if (rc == ROUTER_METHOD)
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'method': this path answers %.*s.",
                    STR_ARG(allow));
    if (rc != 0 || question->match.route->auth == AUTH_OPERATOR)
        return question_fail(r, "path", "is not an endpoint of a project.");
    question->whole_path = path;
    return 0;
}

static int
read_id_parameter(struct req *r, const struct query *query, const char *name, int64_t *ret_id)
{
    struct str text = query_get(query, name);

    *ret_id = 0;
    if (text.ptr && (!num_parse_i64(text, ret_id) || *ret_id < 1))
        return question_fail(r, name, "must be an id.");
    return 0;
}

/* Administrators may ask about all callers, users about themselves and their keys, a key about
 * itself. */
static int check_asker(struct req *r, int64_t user_id, int64_t key_id)
{
    const struct caller *asker = r->scope->caller;

    if (caller_is_admin(asker))
        return 0;
    if (user_id == asker->user_id && (asker->kind == CALLER_USER || key_id == asker->key_id))
        return 0;
    return fail(r,
                PROBLEM_ADMIN_REQUIRED,
                "Only an administrator may ask about other callers; leave out user_id and key_id.");
}

AWAITS static int find_subject(struct req *r, const struct query *query, struct question *question)
{
    const struct caller *asker = r->scope->caller;
    struct rows rows;
    int64_t user_id;
    int64_t key_id;

    TRY(read_id_parameter(r, query, "user_id", &user_id));
    TRY(read_id_parameter(r, query, "key_id", &key_id));
    if (user_id && key_id)
        return question_fail(r, "key_id", "already names a user; leave out user_id.");
    if (!user_id && !key_id) {
        user_id = asker->user_id;
        key_id = asker->key_id;
    }
    if (key_id) {
        TRY(sql_all(r, &rows, SQL_EXPLAIN_KEY(.id = key_id)));
        user_id = rows.count ? sql_explain_key_row(&rows, 0).user_id : 0;
        question->key_expired = rows.count && !sql_explain_key_row(&rows, 0).live;
    }
    TRY(check_asker(r, user_id, key_id));
    TRY(sql_one(r, &rows, SQL_EXPLAIN_USER(.id = user_id)));
    question->status = sql_explain_user_row(&rows, 0).status;
    question->caller = (struct caller){
        .kind = key_id ? CALLER_KEY : CALLER_USER, .user_id = user_id, .key_id = key_id};
    return 0;
}

/* Loads the rights to explain. An inactive account and an expired key have no rights. */
AWAITS static int load_subject(struct req *r, struct question *question)
{
    struct caller *caller = &question->caller;
    int rc =
        question->key_expired
            ? RIGHTS_NOT_FOUND
            : project_rights(
                  &r->task, r->scope->project, caller->user_id, caller->key_id, &caller->rights);

    TRY(gateway_rights_check(r, rc));
    question->ctx = items_ctx(r);
    question->ctx->caller = caller;
    question->shows_all = caller_is_admin(r->scope->caller);
    struct str entity = route_match_param(&question->match, "entity");
    question->entity = model_entity(r->scope->model, entity);
    if (!question->entity && check_applies(CHECK_ENTITY_PERMISSION, question->match.route))
        question->entity = check_placeholder_entity(r->task.arena, caller, entity);
    return sql_all(r,
                   &question->roles,
                   SQL_EXPLAIN_ROLES(.user_id = caller->user_id,
                                     .entity_id = question->entity ? question->entity->id : 0));
}

AWAITS static int read_question(struct req *r, struct question *question)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str method = query_get(query, "method");
    question->method = HTTP_GET_M;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(method, methods[i].name))
            question->method = methods[i].method;
    question->path = query_get(query, "path");
    if (!question->path.ptr)
        return question_fail(r, "path", "is required.");
    TRY(find_route(r, question));
    TRY(find_subject(r, query, question));
    return load_subject(r, question);
}

/* --- the answer --- */

struct explain_check {
    const char *name;
    enum problem problem; /* PROBLEM_NONE: passed */
    struct str needs;
    struct str reason;
};

/* Begins a check's object. The calling function adds "given_by" and "fields" and ends the
 * object. */
static void begin_check(struct question *question, struct jw *w, const struct explain_check *check)
{
    if (check->problem && !question->problem) {
        question->problem = check->problem;
        question->reason = check->reason;
    }
    jw_obj(w);
    JW_CSTR(w, "check", check->name);
    JW_BOOL(w, "passed", !check->problem);
    JW_STR_OR_NULL(w, "needs", check->needs);
    JW_STR_OR_NULL(w, "reason", check->reason);
}

static void put_id(struct jw *w, const char *name, int64_t id)
{
    jw_lit(w, name);
    if (id)
        jw_i64(w, id);
    else
        jw_null(w);
}

static void put_giver(struct jw *w, const char *kind, int64_t id, struct str name)
{
    jw_obj(w);
    JW_CSTR(w, "kind", kind);
    put_id(w, "id", id);
    JW_STR_OR_NULL(w, "name", name);
    jw_obj_end(w);
}

static void put_no_giver(struct jw *w)
{
    jw_lit(w, "given_by");
    jw_arr(w);
    jw_arr_end(w);
}

static void put_no_fields(struct jw *w)
{
    jw_lit(w, "fields");
    jw_null(w);
    jw_obj_end(w);
}

static bool is_listed(struct sql_strs names, struct str name)
{
    for (size_t i = 0; i < names.count; i++)
        if (str_eq(names.items[i], name))
            return true;
    return false;
}

static bool role_gives(const struct sql_explain_roles_row *role,
                       enum access_check check,
                       const struct route *route)
{
    switch (check) {
    case CHECK_ADMINISTRATOR:
        return role->is_admin;
    case CHECK_PERMISSION_TOO:
        return role->is_admin ||
               is_listed(role->permissions, str_from(perm_info(route->perm_and)->name));
    case CHECK_PERMISSION:
        return role->is_admin ||
               is_listed(role->permissions, str_from(perm_info(route->perm)->name)) ||
               (route->perm_or != PERM_NONE &&
                is_listed(role->permissions, str_from(perm_info(route->perm_or)->name)));
    case CHECK_ENTITY_PERMISSION:
        return role->is_admin ||
               is_listed(
                   role->actions,
                   str_from(perm_action_name((enum perm_action)(route->perm - PERM_ENTITY_READ))));
    case CHECK_API_ACCESS:
        return role->is_admin || role->api_access;
    case CHECK_USER:
    case CHECK_COUNT:
        break;
    }
    return false;
}

static bool some_role_gives(struct req *r, const struct question *question, enum access_check check)
{
    for (size_t i = 0; i < question->roles.count; i++) {
        const struct sql_explain_roles_row role =
            sql_explain_roles_row(r->task.arena, &question->roles, i);
        if (role_gives(&role, check, question->match.route))
            return true;
    }
    return false;
}

static void
put_roles(struct req *r, const struct question *question, struct jw *w, enum access_check check)
{
    jw_lit(w, "given_by");
    jw_arr(w);
    for (size_t i = 0; i < question->roles.count; i++) {
        const struct sql_explain_roles_row role =
            sql_explain_roles_row(r->task.arena, &question->roles, i);
        if (role_gives(&role, check, question->match.route))
            put_giver(w, "role", role.id, role.name);
    }
    jw_arr_end(w);
}

static void put_account(struct question *question, struct jw *w)
{
    const struct rights *rights = question->caller.rights;
    struct explain_check check = {.name = "account"};

    if (question->key_expired)
        check.reason = STR("The key has expired.");
    else if (!rights || !rights->active)
        check.reason = str_is(question->status, "active")
                           ? STR("The account's address is not confirmed.")
                           : STR("The account may not sign in: it is not active.");
    check.problem = check.reason.ptr ? refusal_problem(REFUSE_TOKEN) : PROBLEM_NONE;
    begin_check(question, w, &check);
    put_no_giver(w);
    put_no_fields(w);
}

static void put_missing_entity(struct question *question, struct jw *w)
{
    begin_check(question,
                w,
                &(struct explain_check){.name = "entity",
                                        .problem = PROBLEM_NOT_FOUND,
                                        .reason = STR("There is no such entity.")});
    put_no_giver(w);
    put_no_fields(w);
}

static void
put_route_check(struct req *r, struct question *question, struct jw *w, enum access_check check)
{
    const struct route *route = question->match.route;
    struct arena *arena = r->task.arena;
    struct explain_check out = {
        .name = check_answer_name(check),
        .needs = check_permission(arena, check, route, question->entity),
    };

    struct str own =
        route->own_param ? route_match_param(&question->match, route->own_param) : STR_NONE;
    bool waived = check_is_waived(check, route, &question->caller, own);
    if (!waived && !check_passes(check, route, &question->caller, question->entity)) {
        out.problem = refusal_problem(check_refusal(check));
        out.reason = check_message(arena, check, route, question->entity);
    }
    if (out.problem && out.needs.ptr && question->caller.key_id &&
        some_role_gives(r, question, check))
        out.reason = arena_printf(
            arena, "The key's own list lacks the permission %.*s.", STR_ARG(out.needs));
    begin_check(question, w, &out);
    put_roles(r, question, w, check);
    put_no_fields(w);
}

/* --- the record --- */

static bool is_ruled(const struct question *question)
{
    return question->entity->row_level_security && !caller_has_all_rows(&question->caller);
}

/* Fills in the check of a record that the row rule closes. Callers who are no administrators must
 * not learn whether an unreadable record exists. */
static void fill_closed_row(struct req *r,
                            const struct question *question,
                            const struct records_row_right *right,
                            struct explain_check *check)
{
    check->problem = right->readable ? PROBLEM_FORBIDDEN : PROBLEM_NOT_FOUND;
    if (right->readable)
        check->reason = STR("The record may be read but not changed.");
    else if (!question->shows_all)
        check->reason = STR("The record does not exist, or no row rule gives access to it.");
    else if (!right->exists)
        check->reason = STR("The record does not exist.");
    else
        check->reason = arena_printf(r->task.arena,
                                     "The record belongs to user %lld and is granted neither to "
                                     "this user nor to its groups and roles.",
                                     (long long)right->created_by);
}

AWAITS static int put_grants(struct req *r,
                             const struct question *question,
                             struct jw *w,
                             int64_t id,
                             enum perm_action action)
{
    static const char *const kinds[] = {"", "user", "group", "role"};
    const struct rights *rights = question->caller.rights;
    struct rows grants;

    if (!rights)
        return 0;
    TRY(sql_all(r,
                &grants,
                SQL_EXPLAIN_GRANTS(.entity_id = question->entity->id,
                                   .record_id = id,
                                   .updates = action == ACT_UPDATE,
                                   .deletes = action == ACT_DELETE,
                                   .user_id = question->caller.user_id,
                                   .group_ids = sql_i64s(rights->group_ids, rights->group_count),
                                   .role_ids = sql_i64s(rights->role_ids, rights->role_count))));
    for (size_t i = 0; i < grants.count; i++) {
        const struct sql_explain_grants_row grant = sql_explain_grants_row(&grants, i);
        put_giver(w, kinds[grant.kind], grant.grantee_id, grant.name);
    }
    return 0;
}

AWAITS static int put_row_check(struct req *r, struct question *question, struct jw *w)
{
    enum perm_action action = (enum perm_action)(question->match.route->perm - PERM_ENTITY_READ);
    struct explain_check check = {.name = "record"};
    struct records_row_right right = {0};
    int64_t id = 0;

    if (num_parse_i64(route_match_param(&question->match, "id"), &id) && id > 0)
        TRY(items_reply_error(
            r,
            question->ctx,
            records_row_right(question->ctx, question->entity, action, id, &right)));
    if (!right.allowed)
        fill_closed_row(r, question, &right, &check);
    begin_check(question, w, &check);
    jw_lit(w, "given_by");
    jw_arr(w);
    if (right.allowed && !is_ruled(question))
        put_giver(
            w, caller_has_all_rows(&question->caller) ? "administrator" : "everybody", 0, STR_NONE);
    else if (right.allowed && right.created_by == question->caller.user_id)
        put_giver(w, "owner", right.created_by, STR_NONE);
    if (right.allowed && is_ruled(question))
        TRY(put_grants(r, question, w, id, action));
    jw_arr_end(w);
    put_no_fields(w);
    return 0;
}

/* --- fields --- */

static void put_fields(struct req *r, struct question *question, struct jw *w)
{
    enum perm_action action = (enum perm_action)(question->match.route->perm - PERM_ENTITY_READ);
    const struct entity *entity = question->entity;
    struct explain_check check = {.name = "fields"};
    struct strbuf closed;

    strbuf_init(&closed, r->task.arena, (size_t)1 << 16);
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!field->system && !caller_can_field(&question->caller, field, action))
            strbuf_printf(&closed, "%s%.*s", closed.len ? ", " : "", STR_ARG(field->name));
    }
    if (closed.len)
        check.reason =
            question->shows_all
                ? arena_printf(r->task.arena, "Fields without access: %.*s.", STR_ARG(closed))
                : STR("Other fields are not accessible.");
    begin_check(question, w, &check);
    put_no_giver(w);
    jw_lit(w, "fields");
    jw_arr(w);
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (caller_can_field(&question->caller, field, action))
            jw_str(w, field->name);
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

/* --- the object --- */

static bool has_parameter(const struct route *route)
{
    return strchr(route->path, '{') != NULL;
}

/* Returns whether the route's guard or handler decides about an object, in addition to the row
 * rule. */
static bool has_object_check(const struct route *route)
{
    bool reads = route->method == HTTP_GET_M;

    return route->guard ||
           (reads && has_parameter(route) && !check_applies(CHECK_ENTITY_PERMISSION, route));
}

/* Runs the route's guard in place of its handler; without a guard, the handler. handler_run() runs
 * it again for the same reasons as any handler. */
AWAITS static int explain_object(struct req *r)
{
    struct route *route = ARENA_NEW(r->task.arena, route);

    if (check_applies(CHECK_ENTITY_PERMISSION, r->route))
        TRY(gateway_entity(r, &r->scope->entity));
    *route = *r->route;
    if (route->guard)
        route->run = route->guard;
    route->guard = NULL;
    route->timeout_ms = 0;
    r->route = route;
    return handler_run(r);
}

/* The detail of a problem, or its title. */
static struct str
explain_detail(struct req *r, const struct inner_answer *answer, enum problem problem)
{
    struct jr_error error;
    json_t *body = NULL;
    struct str detail = STR_NONE;

    if (jr_parse_stored(r->task.arena, answer->body, &body, &error) == 0)
        detail = jr_str(body, "detail");
    return detail.len ? detail : str_from(problem_info(problem)->title);
}

AWAITS static int put_object_check(struct req *r, struct question *question, struct jw *w)
{
    static const struct caller nobody = {0};
    const bool public = question->match.route->auth == AUTH_PUBLIC;
    const struct inner_req inner = {
        .project = r->scope->project,
        .caller = public ? &nobody : &question->caller,
        .method = question->method,
        .path = question->whole_path,
        .answer = explain_object,
    };
    struct explain_check check = {.name = "object"};
    struct inner_answer answer;

    TRY(inner_run(&r->task, &inner, ANSWER_BYTES, &answer));
    if (answer.status >= 500)
        return fail(
            r, PROBLEM_DEPENDENCY_UNAVAILABLE, "This cannot be determined right now; try again.");
    if (handler_is_refusal(answer.status)) {
        check.problem = problem_find(answer.code);
        check.reason = explain_detail(r, &answer, check.problem);
    }
    begin_check(question, w, &check);
    put_no_giver(w);
    put_no_fields(w);
    return 0;
}

/* --- all checks --- */

/* Only administrators see the checks after the first failed one. */
static bool is_finished(const struct question *question)
{
    return question->problem != PROBLEM_NONE && !question->shows_all;
}

/* Writes the route's checks of the caller. Sets *ret_whole to whether the checks of records and
 * objects follow. */
static void
put_route_checks(struct req *r, struct question *question, struct jw *w, bool *ret_whole)
{
    const struct route *route = question->match.route;

    *ret_whole = false;
    put_account(question, w);
    for (enum access_check check = 0; check < CHECK_COUNT; check++) {
        if (is_finished(question))
            return;
        if (!check_applies(check, route))
            continue;
        if (check_needs_entity(check) && !question->entity) {
            put_missing_entity(question, w);
            return;
        }
        put_route_check(r, question, w, check);
    }
    const struct rights *rights = question->caller.rights;
    bool unknown = question->entity && !question->entity->id;
    *ret_whole = !is_finished(question) && rights && rights->active && !unknown;
}

/* Returns whether put_row_check() decides about a record of the path. A route with a guard is left
 * to its guard: the guard also knows deleted records, which have a history, and the row rule does
 * not. */
static bool is_about_record(const struct question *question)
{
    const struct route *route = question->match.route;

    return route_match_param(&question->match, "id").ptr && route->perm != PERM_ENTITY_CREATE &&
           !route->guard;
}

AWAITS static int put_record_checks(struct req *r, struct question *question, struct jw *w)
{
    const struct route *route = question->match.route;

    if (is_about_record(question))
        TRY(put_row_check(r, question, w));
    if (!is_finished(question) && route->perm != PERM_ENTITY_DELETE)
        put_fields(r, question, w);
    return 0;
}

AWAITS static int put_checks(struct req *r, struct question *question, struct jw *w)
{
    const struct route *route = question->match.route;
    bool whole = true;

    if (route->auth != AUTH_PUBLIC)
        put_route_checks(r, question, w, &whole);
    if (whole && check_applies(CHECK_ENTITY_PERMISSION, route))
        TRY(put_record_checks(r, question, w));
    if (whole && !is_finished(question) && has_object_check(route))
        TRY(put_object_check(r, question, w));
    return 0;
}

AWAITS static int permissions_explain(struct req *r)
{
    struct question question = {0};
    struct jw w;

    (void)gateway_refresh_project(r); /* explain the current state, not this process's cache */
    TRY(read_question(r, &question));
    const struct route *route = question.match.route;
    w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "method", http_method_name(question.method));
    JW_STR(&w, "path", question.path);
    JW_CSTR(&w, "route", route->id);
    JW_CSTR(&w, "summary", route->summary);
    JW_I64(&w, "user_id", question.caller.user_id);
    put_id(&w, "key_id", question.caller.key_id);
    jw_lit(&w, "checks");
    jw_arr(&w);
    TRY(put_checks(r, &question, &w));
    jw_arr_end(&w);
    JW_BOOL(&w, "allowed", !question.problem);
    JW_I64(&w,
           "status",
           question.problem ? problem_info(question.problem)->status : route->success.status);
    JW_STR_OR_NULL(
        &w, "code", question.problem ? str_from(problem_code(question.problem)) : STR_NONE);
    JW_STR_OR_NULL(&w, "reason", question.reason);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const char *const giver_kinds[] = {
    "role", "owner", "user", "group", "everybody", "administrator", NULL};
static const struct field giver_fields[] = {
    {.name = "kind", .type = FIELD_STR, .required = true, .values = giver_kinds},
    {.name = "id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "name", .type = FIELD_STR, .required = true, .nullable = true},
};
static const struct schema giver_schema = SCHEMA_OUT("PermissionGiver", giver_fields);

static const char *const check_kinds[] = {"account",
                                          "administrator",
                                          "user",
                                          "permission",
                                          "entity",
                                          "api_access",
                                          "record",
                                          "fields",
                                          "object",
                                          NULL};
static const struct field check_fields[] = {
    {.name = "check", .type = FIELD_STR, .required = true, .values = check_kinds},
    {.name = "passed", .type = FIELD_BOOL, .required = true},
    {.name = "needs",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The permission that the check requires",
     .example = "\"orders:read\""},
    {.name = "reason", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "given_by",
     .type = FIELD_LIST,
     .required = true,
     .sub = &giver_schema,
     .doc =
         "Roles that give the permission. For the check \"record\": the owner and the grants that "
         "give access, or everybody or administrator when no row rule applies"},
    {.name = "fields",
     .type = FIELD_STRS,
     .required = true,
     .nullable = true,
     .doc = "For the check \"fields\": the fields that the request may read or write"},
};
static const struct schema check_schema = SCHEMA_OUT("PermissionCheck", check_fields);

static const struct field explained_fields[] = {
    {.name = "method", .type = FIELD_STR, .required = true},
    {.name = "path", .type = FIELD_STR, .required = true},
    {.name = "route", .type = FIELD_STR, .required = true, .example = "\"items_get\""},
    {.name = "summary", .type = FIELD_STR, .required = true},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "key_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "allowed", .type = FIELD_BOOL, .required = true},
    {.name = "status",
     .type = FIELD_I64,
     .required = true,
     .doc = "The status that the request would get, apart from errors of its body"},
    {.name = "code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Problem code of the first check that fails"},
    {.name = "reason", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "checks", .type = FIELD_LIST, .required = true, .sub = &check_schema},
};
static const struct schema explained_schema = SCHEMA_OUT("PermissionExplanation", explained_fields);

static const struct query_param explain_query[] = {
    {.name = "user_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "The user of the request; the caller when left out. Only administrators may name other "
            "users"},
    {.name = "key_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "The API key of the request, in place of user_id"},
    {.name = "method", .type = FIELD_STR, .values = method_names, .fallback = "GET"},
    {.name = "path",
     .type = FIELD_STR,
     .doc = "Path below the project's address, as in /entities/orders/items/5; required"},
    {0},
};

static const struct route explain_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/permissions/explain",
        .id = "permissions_explain",
        .auth = AUTH_USER_OR_KEY,
        .query = explain_query,
        .success = {200, &explained_schema},
        .extra_statuses = {403, 404},
        .run = permissions_explain,
        .summary = "Explain what decides about a request: every check, in order",
        .doc = "The answer comes from the code that decides about requests. The check \"object\" "
               "is the route's own: whether the object in the path exists for the caller, and "
               "whether the caller may do this with it. Administrators see all checks. Other "
               "callers see the checks up to the first that fails, and nothing about records and "
               "fields that they may not see.",
    },
};
ROUTES(explain, "Roles and permissions");
