/* Builds every answer and problem that a handler sends. */
#include "app/reply.h"

#include <stdarg.h>
#include <string.h>

#include "catalog/problem.h"
#include "db/problem.h"
#include "http/resp.h"
#include "http/server.h"

#define PROBLEM_TYPE STR("application/problem+json")
#define JSON_TYPE    STR("application/json")

static void put_errors(struct jw *w, const struct schema_errors *errors)
{
    size_t shown =
        errors->count < ARRAY_LEN(errors->items) ? errors->count : ARRAY_LEN(errors->items);

    jw_lit(w, "errors");
    jw_arr(w);
    for (size_t i = 0; i < shown; i++) {
        jw_obj(w);
        JW_STR(w, "field", errors->items[i].field);
        JW_CSTR(w, "code", errors->items[i].code);
        JW_STR(w, "message", errors->items[i].message);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* Clients of GoTrue and OAuth below {base_url}/auth/v1, and clients of OpenAI below
 * {base_url}/ai/v1, expect problem members of their own. */
static bool is_path_below(const struct req *r, struct str prefix)
{
    struct str rest = r->path;

    if (!str_starts(rest, STR("/org/")))
        return false;
    rest = (struct str){rest.ptr + 5, rest.len - 5};
    (void)str_split(&rest, '/');
    return rest.ptr && str_starts(rest, prefix);
}

static void put_sign_in(struct jw *w, enum problem problem, struct str detail)
{
    JW_CSTR(w, "error_code", problem_sign_in_code(problem));
    JW_STR(w, "msg", detail);
    JW_CSTR(w, "error", problem_oauth_code(problem));
    JW_STR(w, "error_description", detail);
}

static const char *openai_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

/* The message contains the name of the invalid field: these clients show only the message. */
static void put_openai(struct jw *w,
                       int status,
                       const char *code,
                       struct str detail,
                       const struct schema_errors *errors)
{
    struct str field = STR_NONE;

    if (errors != NULL && errors->count > 0) {
        field = errors->items[0].field;
        detail = arena_printf(
            w->out->arena, "%.*s %.*s", STR_ARG(field), STR_ARG(errors->items[0].message));
    }
    jw_lit(w, "error");
    jw_obj(w);
    JW_STR(w, "message", detail);
    JW_CSTR(w, "type", openai_type(status));
    JW_STR_OR_NULL(w, "param", field);
    JW_CSTR(w, "code", code);
    jw_obj_end(w);
}

/* Writes an RFC 9457 problem, in the same form for all services and statuses. */
static int put_problem(struct req *r,
                       int status,
                       enum problem problem,
                       struct str detail,
                       const struct schema_errors *errors)
{
    const struct problem_info *info = problem_info(problem);
    struct jw w;

    r->body.len = 0;
    r->body.overflow = false;
    jw_init(&w, &r->body);
    jw_obj(&w);
    JW_CSTR(&w, "type", "about:blank");
    JW_CSTR(&w, "title", info->title);
    JW_I64(&w, "status", status);
    JW_CSTR(&w, "code", info->code);
    if (!detail.len)
        detail = str_from(info->title);
    JW_STR(&w, "detail", detail);
    if (is_path_below(r, STR("auth/v1/")))
        put_sign_in(&w, problem, detail);
    else if (is_path_below(r, STR("ai/v1/")))
        put_openai(&w, status, info->code, detail, errors);
    if (r->request_id.len)
        JW_STR(&w, "request_id", r->request_id);
    if (errors && errors->count)
        put_errors(&w, errors);
    jw_obj_end(&w);
    r->content_type = PROBLEM_TYPE;
    r->error_code = info->code;
    r->no_store = true;
    r->status = status;
    return status;
}

/* Sets the headers that a status requires: RFC 6750 section 3, RFC 9110 section 10.2.3. */
static void put_status_headers(struct req *r, int status, enum problem problem)
{
    if (status == 401) {
        bool token = problem == PROBLEM_TOKEN_EXPIRED || problem == PROBLEM_TOKEN_INVALID;
        resp_header(
            r, "WWW-Authenticate", token ? STR("Bearer error=\"invalid_token\"") : STR("Bearer"));
    }
    if (status == 503 && !resp_has_header(r, STR("Retry-After")))
        resp_header(r, "Retry-After", STR("1"));
}

/* "user" for "/users/{id}": the segment before the last parameter, in the singular. */
static struct str missing_resource_name(struct req *r)
{
    static const struct {
        const char *segment, *thing;
    } others[] = {{"items", "record"}, {"api-keys", "API key"}};
    struct str rest = str_from(r->route ? r->route->path : "");
    struct str last = STR_NONE;
    struct str thing = STR_NONE;

    while (rest.ptr) {
        struct str segment = str_split(&rest, '/');
        if (str_starts(segment, STR("{")) && last.len)
            thing = last;
        last = str_starts(segment, STR("{")) ? STR_NONE : segment;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (str_is(thing, others[i].segment))
            return str_from(others[i].thing);
    }
    if (str_ends(thing, STR("s")))
        thing.len--;
    char *words = arena_cstr(r->task.arena, thing);
    for (size_t i = 0; i < thing.len; i++)
        words[i] = words[i] == '-' ? ' ' : words[i];
    return (struct str){words, thing.len};
}

int fail(struct req *r, enum problem problem, const char *detail, ...)
{
    struct str text = STR_NONE;
    va_list args;

    if (detail) {
        va_start(args, detail);
        text = arena_vprintf(r->task.arena, detail, args);
        va_end(args);
    } else if (problem == PROBLEM_NOT_FOUND) {
        struct str thing = missing_resource_name(r);
        if (thing.len)
            text = arena_printf(r->task.arena, "There is no such %.*s.", STR_ARG(thing));
    }
    return fail_with(r, problem, text, NULL);
}

static bool route_has_param(const struct route *route, const char *name)
{
    for (const struct query_param *param = route->query; param && param->name; param++)
        if (str_is(str_from(param->name), name))
            return true;
    return false;
}

/* Says how an answer of this route can be made smaller, by parameters that the route takes. */
static struct str too_large_text(struct req *r)
{
    static const struct {
        const char *param, *way;
    } ways[] = {
        {"limit", "fewer records (limit)"},
        {"pageSize", "fewer results (pageSize)"},
        {"fields", "fewer fields (fields)"},
        {"expand", "fewer relations (expand)"},
        {"facets", "counts of fewer fields (facets)"},
    };
    struct str text = STR_NONE;

    for (size_t i = 0; r->route && i < ARRAY_LEN(ways); i++)
        if (route_has_param(r->route, ways[i].param))
            text = arena_printf(
                r->task.arena, "%.*s%s%s", STR_ARG(text), text.len ? ", " : "", ways[i].way);
    bool exports = r->route && str_ends(str_from(r->route->path), STR("/items"));
    if (text.len == 0)
        return str_from(db_problem(DB_TOO_LARGE)->detail);
    return arena_printf(r->task.arena,
                        "The answer would be too large: request %.*s%s.",
                        STR_ARG(text),
                        exports ? ", or use the export" : "");
}

int fail_with(struct req *r,
              enum problem problem,
              struct str detail,
              const struct schema_errors *errors)
{
    int status = problem_info(problem)->status;

    if (str_is(detail, db_problem(DB_TOO_LARGE)->detail))
        detail = too_large_text(r);
    put_status_headers(r, status, problem);
    return put_problem(r, status, problem, detail, errors);
}

int fail_fields(struct req *r, const struct schema_errors *errors)
{
    struct str detail = errors->count == 1
                            ? STR("1 field is invalid")
                            : arena_printf(r->task.arena, "%zu fields are invalid", errors->count);

    return fail_with(r, PROBLEM_VALIDATION_FAILED, detail, errors);
}

int fail_field(struct req *r, const char *field, enum problem code, const char *message, ...)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    va_list args;

    va_start(args, message);
    errors->items[0].field = arena_dup(r->task.arena, str_from(field));
    errors->items[0].code = problem_code(code);
    errors->items[0].message = arena_vprintf(r->task.arena, message, args);
    errors->count = 1;
    va_end(args);
    return fail_fields(r, errors);
}

int fail_unique_violation(struct req *r, const char *field, const char *why, const char *detail)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);

    schema_error_add(arena, errors, str_from(field), PROBLEM_UNIQUE_VIOLATION, "%s", why);
    return fail_with(r, PROBLEM_UNIQUE_VIOLATION, str_from(detail), errors);
}

int fail_db(struct req *r, int rc)
{
    const struct db_problem *problem = db_problem(rc);

    r->scope->db_failure = rc;
    if (rc == DB_UNAVAILABLE && r->scope->db && db_server_up(r->scope->db->server))
        return fail(
            r, problem->problem, "The database has no free connection right now; try again.");
    return fail_with(r, problem->problem, str_from(problem->detail), NULL);
}

int sql_check(struct req *r, int rc)
{
    return rc > 0 ? fail_db(r, rc) : rc;
}

int fail_too_large(struct req *r)
{
    const struct db_problem *problem = db_problem(DB_TOO_LARGE);

    return fail_with(r, problem->problem, str_from(problem->detail), NULL);
}

void problem_put(struct req *r, int status, enum problem problem, const char *detail)
{
    put_status_headers(r, status, problem);
    (void)put_problem(r, status, problem, str_from(detail), NULL);
}

int reply_json(struct req *r, int status)
{
    r->content_type = JSON_TYPE;
    r->status = status;
    return status;
}

int reply_empty(struct req *r, int status)
{
    r->body.len = 0;
    r->content_type = STR_NONE;
    r->status = status;
    return status;
}

int reply_row(struct req *r, int status, const struct rows *rows)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    rows_json_members(&w, rows, 0);
    jw_obj_end(&w);
    return reply_json(r, status);
}

int reply_created(struct req *r, const struct rows *rows)
{
    reply_location(r, rows_i64(rows, 0, rows_column(rows, "id")));
    return reply_row(r, 201, rows);
}

void reply_location(struct req *r, int64_t id)
{
    resp_header_printf(r, "Location", "%.*s/%lld", STR_ARG(r->path), (long long)id);
}
