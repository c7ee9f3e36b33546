/* The stages of a request: id, route, project, CORS, credentials, rights, limits, handler. */
#include "stages/refusals.h"
#include "stages/stages.h"

#include "app/admission.h"
#include "app/reply.h"
#include "crypto/ct.h"
#include "db/answer.h"
#include "http/req_unpack.h"
#include "http/router.h"
#include "stages/conditional.h"

/* Finds the project. Bounds the look-ups of projects that do not exist: a few at a time, and
 * MISSES_MAX per address and minute (rate_limit.c). */
AWAITS static int pipeline_look_up(struct req *r, struct str slug)
{
    bool known = project_is_known(gateway_directory(), slug);

    if (!known)
        TRY(rate_limit_check_lookup(r));
    int rc = admission_find_project(r, gateway_directory(), slug, &r->scope->project);
    if (!known && rc == PROJECT_NOT_FOUND)
        rate_limit_count_miss(r);
    return rc;
}

/* An unknown or deleted project is 404 before any other check. */
AWAITS static int pipeline_find_project(struct req *r, struct str slug)
{
    TRY(admission_set_project(r, pipeline_look_up(r, slug)));
    gateway_hold_model(r);
    return 0;
}

/* Returns the project segment of "/org/{project_id}/...", before any route has matched. */
static struct str path_project(struct req *r)
{
    struct str rest = r->path;

    if (!str_starts(rest, STR("/org/")))
        return STR_NONE;
    rest = (struct str){rest.ptr + 5, rest.len - 5};
    return str_split(&rest, '/');
}

/* CORS headers are added here as well, so that pages of other origins can read these answers. */
AWAITS static int pipeline_answer_unmatched(struct req *r, int rc, struct str allow)
{
    struct str slug = path_project(r);

    if (rc == ROUTER_METHOD && r->method == HTTP_OPTIONS_M)
        return cors_run(r, slug, allow);
    if (slug.len && req_header(r, "origin").len)
        TRY(cors_run(r, slug, STR_NONE));
    switch (rc) {
    case ROUTER_METHOD:
        resp_header(r, "Allow", allow);
        return refusal(r, REFUSE_METHOD, "This path answers %.*s.", STR_ARG(allow));
    case ROUTER_BAD_PATH:
        return refusal(r, REFUSE_BAD_PATH, "The path is not valid.");
    default:
        return refusal(r, REFUSE_NO_ROUTE, "No endpoint has this path.");
    }
}

/* A request without credentials counts against the share of anonymous requests only. */
static enum admission admission_of(const struct req *r)
{
    bool anonymous = r->route->auth == AUTH_PUBLIC ||
                     (!req_header(r, "authorization").len && !req_header(r, "x-api-key").len);

    return anonymous ? ADMIT_PUBLIC : ADMIT_AUTHENTICATED;
}

AWAITS static int check_caller(struct req *r)
{
    TRY(authenticate_run(r));
    return authorize_run(r);
}

/* Repeats the checks if another process has changed the project: it may just have granted the
 * permission or created the entity, and an old cache must not refuse a request. */
AWAITS static int recheck_caller(struct req *r, int refusal)
{
    if (!gateway_refresh_project(r))
        return refusal;
    handler_discard_answer(r, r->extra_headers.len);
    return check_caller(r);
}

/* Returns the most bytes of an answer. */
static size_t answer_max(const struct req *r)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;
    size_t most = (size_t)conf->common.answer_bytes;

    return most > r->body.max || r->route->own_answer_limit ? r->body.max : most;
}

/* While a request waits for its body it gives up its permit and counts against its client address
 * only. The handler refuses a body of another type without reading it. */
AWAITS static int pipeline_wait_for_body(struct req *r, struct permit **permit)
{
    struct str body = STR_NONE;
    bool gzip = false;

    if (r->has_body)
        TRY(req_encoding(r, &gzip));
    if (r->route->body_type) {
        if (gzip)
            req_unpack_stream(r);
        admission_release(*permit);
        TRY(admission_upload(r, permit));
        return check_caller(r); /* the wait may have been long */
    }
    if (!r->route->body || !r->has_body || !req_body_has_type(r))
        return 0;
    bool awaited = req_body_is_awaited(r);
    if (awaited)
        admission_release(*permit);
    TRY(req_body_text(r, &body));
    if (awaited) {
        TRY(admission_enter(r, admission_of(r), permit));
        TRY(check_caller(r)); /* rights may have changed during the wait */
    }
    if (gzip)
        TRY(req_body_unpack(r, *permit, &body));
    return admission_body(r, *permit, body);
}

AWAITS static int run_project_route(struct req *r)
{
    struct permit *permit;
    int rc;

    TRY(pipeline_find_project(r, r->params[0]));
    if (req_header(r, "origin").len)
        TRY(cors_run(r, r->params[0], STR_NONE));
    TRY(admission_enter(r, admission_of(r), &permit));
    rc = check_caller(r);
    if (rc == 403 || r->scope->may_be_stale)
        rc = recheck_caller(r, rc);
    TRY(rc);
    TRY(rate_limit_run(r));
    r->body.max = answer_max(r);
    TRY(pipeline_wait_for_body(r, &permit));
    return conditional_run(r);
}

/* The operator API exists only when its token is configured. */
static int check_operator(struct req *r)
{
    struct str expected = gateway_operator_token();
    struct str given = req_header(r, "authorization");
    struct caller *caller = ARENA_NEW(r->task.arena, caller);

    if (!expected.len)
        return refusal(r, REFUSE_OPERATOR_ROUTE, "No endpoint has this path.");
    if (!authorization_bearer(given, &given))
        return refusal(
            r, REFUSE_OPERATOR_TOKEN, "Send the operator token as Authorization: Bearer.");
    if (!ct_eq(given, expected))
        return refusal(r, REFUSE_OPERATOR_TOKEN, "The operator token is wrong.");
    caller->kind = CALLER_OPERATOR;
    r->scope->caller = caller;
    return 0;
}

/* Frees the rows of the answer and counts its text until a slow client has read all of it. Only
 * reads are refused for the size of their answer: a write cannot be undone for that. */
static int settle_answer(struct req *r, int rc)
{
    bool reads = r->method == HTTP_GET_M || r->method == HTTP_HEAD_M;

    if (rc < 0 || r->streaming)
        return rc;
    if (r->body.overflow && reads)
        rc = fail_too_large(r);
    r->body_counted = db_answer_settle(&r->task, r->body.len) == 0;
    if (!r->body_counted && reads)
        return fail_db(r, DB_BUSY);
    return rc;
}

/* In the route table {base_url} without its final slash belongs to the operator API. A request
 * without the operator's token means the project instead. `refusal` stays the answer when there is
 * no such project, or no such route of a project. */
AWAITS static int run_base_url(struct req *r, int refusal)
{
    const struct route *route = r->route;
    struct str allow = STR_NONE;
    struct str path = r->path;

    r->path = arena_printf(r->task.arena, "%.*s/", STR_ARG(path));
    int rc = router_match(gateway_router, r, &allow);
    if (rc == 0 && r->route->auth != AUTH_OPERATOR)
        rc = pipeline_look_up(r, r->params[0]);
    else
        rc = PROJECT_NOT_FOUND;
    if (rc < 0)
        return rc;
    if (rc == PROJECT_NOT_FOUND) {
        r->route = route;
        r->path = path;
        return refusal;
    }
    handler_discard_answer(r, 0);
    r->task.log.route = r->route->id;
    return run_project_route(r);
}

/* Finds the route of the request. In networks that let only GET and POST pass,
 * X-HTTP-Method-Override names the method that a POST means (tus 1.0, core protocol). Only routes
 * with method_override accept it. */
static int match_route(struct req *r, struct str *ret_allow)
{
    enum http_method wanted = http_method_find(req_header(r, "x-http-method-override"));
    int rc = router_match(gateway_router, r, ret_allow);

    if (rc != ROUTER_METHOD || r->method != HTTP_POST_M || wanted == HTTP_OTHER_M)
        return rc;
    r->method = wanted;
    if (router_match(gateway_router, r, ret_allow) == 0 && r->route->method_override)
        return 0;
    r->method = HTTP_POST_M;
    r->route = NULL;
    r->param_count = 0;
    return rc;
}

AWAITS static int run_stages(struct req *r)
{
    struct str allow = STR_NONE;
    int rc;

    request_id_set(r);
    peer_set(r);
    rc = match_route(r, &allow);
    if (rc)
        return pipeline_answer_unmatched(r, rc, allow);
    r->task.log.route = r->route->id;
    if (r->route->auth == AUTH_OPERATOR) {
        rc = check_operator(r);
        if (rc && req_param(r, "project_id").ptr)
            return run_base_url(r, rc);
        TRY(rc);
    } else if (req_param(r, "project_id").ptr) {
        return run_project_route(r);
    }
    if (r->has_body)
        TRY(req_encoding(r, NULL));
    r->scope->db = directory_control(gateway_directory());
    return handler_run_once(r);
}

AWAITS int pipeline_run(struct req *r)
{
    return settle_answer(r, run_stages(r));
}
