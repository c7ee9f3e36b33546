/* The way of a request: id, route, CORS, project, credentials, rights, limits, handler. */
#include "stages/refusals.h"
#include "stages/stages.h"

#include "app/admission.h"
#include "app/reply.h"
#include "crypto/ct.h"
#include "db/answer.h"
#include "http/req_unpack.h"
#include "http/router.h"
#include "stages/conditional.h"

/* Names of nothing are looked up few at a time, and not for ever. */
AWAITS static int pipeline_look_up(struct req *r, struct str slug)
{
    bool known = project_known(gateway_directory(), slug);

    if (!known)
        TRY(rate_limit_lookup(r));
    int rc = admission_find_project(r, gateway_directory(), slug, &r->scope->project);
    if (!known && rc == PROJECT_NOT_FOUND)
        rate_limit_missed(r);
    return rc;
}

/* A wrong or deleted project is 404 before anything else is looked at. */
AWAITS static int pipeline_find_project(struct req *r, struct str slug)
{
    TRY(admission_take_project(r, pipeline_look_up(r, slug)));
    gateway_hold_model(r);
    return 0;
}

/* The project segment of "/org/{project_id}/...", for answers given before a route matched. */
static struct str path_project(struct req *r)
{
    struct str rest = r->path;

    if (!str_starts(rest, STR("/org/")))
        return STR_NONE;
    rest = (struct str){rest.ptr + 5, rest.len - 5};
    return str_split(&rest, '/');
}

/* Pages of other origins must be able to read these answers, too. */
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

/* Who says nothing of himself takes from the public share alone. */
static enum admission admission_of(const struct req *r)
{
    bool anonymous = r->route->auth == AUTH_PUBLIC ||
                     (!req_header(r, "authorization").len && !req_header(r, "x-api-key").len);

    return anonymous ? ADMIT_PUBLIC : ADMIT_CALLER;
}

AWAITS static int check_caller(struct req *r)
{
    TRY(authenticate_run(r));
    return authorize_run(r);
}

/* A permission that was given, or an entity that was made, in another process a moment ago is here
 * at once: nothing is refused on the strength of a cache that may be behind. */
AWAITS static int check_caller_again(struct req *r, int refusal)
{
    if (!gateway_recheck(r))
        return refusal;
    handler_forget(r, r->extra_headers.len);
    return check_caller(r);
}

/* Documents are as large as the model, and kept by themselves. */
static size_t answer_max(const struct req *r)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;
    size_t most = (size_t)conf->common.answer_bytes;

    return most > r->body.max || str_is(str_from(r->route->id), "docs_get") ? r->body.max : most;
}

/* While its body is on the way, a request is nobody's but its address's: the seat is given up. A
 * body of another type is refused by the handler, unread. */
AWAITS static int pipeline_wait_for_body(struct req *r, struct seat **seat)
{
    struct str body = STR_NONE;
    bool gzip = false;

    if (r->has_body)
        TRY(req_encoding(r, &gzip));
    if (r->route->body_type) {
        if (gzip)
            req_unpack_stream(r);
        admission_leave(*seat);
        TRY(admission_upload(r, seat));
        return check_caller(r); /* its turn may have come late */
    }
    if (!r->route->body || !r->has_body || !req_body_has_type(r))
        return 0;
    bool awaited = req_body_is_awaited(r);
    if (awaited)
        admission_leave(*seat);
    TRY(req_body_text(r, &body));
    if (awaited) {
        TRY(admission_enter(r, admission_of(r), seat));
        TRY(check_caller(r)); /* rights may have gone meanwhile */
    }
    if (gzip)
        TRY(req_body_unpack(r, *seat, &body));
    return admission_body(r, *seat, body);
}

AWAITS static int run_project_route(struct req *r)
{
    struct seat *seat;
    int rc;

    TRY(pipeline_find_project(r, r->params[0]));
    if (req_header(r, "origin").len)
        TRY(cors_run(r, r->params[0], STR_NONE));
    TRY(admission_enter(r, admission_of(r), &seat));
    rc = check_caller(r);
    if (rc == 403 || r->scope->behind)
        rc = check_caller_again(r, rc);
    TRY(rc);
    TRY(rate_limit_run(r));
    r->body.max = answer_max(r);
    TRY(pipeline_wait_for_body(r, &seat));
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

/* What an answer was made of is let go, and its text counted until a slow reader has all of it.
 * What was written is not taken back for the size of its answer. */
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

/* {base_url} without its final slash is the operator's by the table; whoever is not the operator
 * means the project. `refusal` stands where there is none, or nothing of it to ask for this way. */
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
    handler_forget(r, 0);
    r->task.log.route = r->route->id;
    return run_project_route(r);
}

/* The route of the request. Where a network lets GET and POST alone pass, the header says which
 * method a POST stands for (tus 1.0, core protocol); some routes take that. */
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
