/*
 * Runs the handler of a route, and decides when to run it again. All transactions of the gateway
 * are repeated here: a handler whose transaction conflicted with another has had no effect yet,
 * so it starts again from the beginning.
 */
#include "base/clock.h"
#include "stages/stages.h"

#define RELOADS 3 /* of the model, for one request */

bool handler_is_refusal(int status)
{
    return status == 401 || status == 403 || status == 404;
}

/* Returns the guard's answer if it is a refusal or a failure (5xx), and discards any other. */
AWAITS static int handler_run_guard(struct req *r, size_t headers)
{
    int rc = r->route->guard(r);

    if (rc < 0 || rc >= 500 || handler_is_refusal(rc))
        return rc;
    handler_discard_answer(r, headers);
    return 0;
}

/* Runs the handler. Rejects query parameters of a route that has none; the handlers of other routes
 * check their own parameters. */
AWAITS static int handler_run_route(struct req *r)
{
    const struct query *none;

    if (!r->route->query && r->query.len)
        TRY(req_query(r, &none));
    if (r->route->timeout_ms)
        r->task.deadline_ms = clock_mono_ms() + r->route->timeout_ms;
    return r->route->run(r);
}

int handler_run_once(struct req *r)
{
    size_t headers = r->extra_headers.len;
    bool reads = r->method == HTTP_GET_M || r->method == HTTP_HEAD_M;

    if (!r->route->guard || reads)
        return handler_run_route(r);
    if (r->route->run_decides) {
        int rc = handler_run_route(r);
        if (rc != 400) /* the handler has already checked the object */
            return rc;
        gateway_roll_back(r);
        handler_discard_answer(r, headers);
    }
    TRY(handler_run_guard(r, headers));
    return handler_run_route(r);
}

int handler_run_get(struct req *r, const struct route *shown)
{
    const struct route *own = r->route;
    enum http_method method = r->method;
    struct str query = r->query;

    r->route = shown;
    r->method = HTTP_GET_M;
    r->query = STR_NONE;
    int rc = shown->run(r);
    r->route = own;
    r->method = method;
    r->query = query;
    return rc;
}

void handler_discard_answer(struct req *r, size_t headers)
{
    r->body.len = 0;
    r->body.overflow = false;
    r->extra_headers.len = headers;
    r->content_type = STR_NONE;
    r->status = 0;
    r->error_code = NULL;
    r->scope->db_failure = 0;
    r->scope->may_be_stale = false;
}

/* Returns whether the answer may be due to an old model: a body or query may name an entity or
 * field that another process has just added. Routes that remember their first try are exempt. */
static bool may_be_outdated(const struct req *r, int rc)
{
    const struct route *route = r->route;
    enum problem problem = problem_find(r->error_code);

    if (r->scope->may_be_stale)
        return true;
    if (rc != 400 || route->class == CLASS_AUTH || (route->headers & HEADER_IDEMPOTENCY_KEY))
        return false;
    return problem == PROBLEM_VALIDATION_FAILED || problem == PROBLEM_INVALID_QUERY;
}

/* Discards the transaction and the answer of the previous run, and takes the current model. */
AWAITS static int handler_reset(struct req *r, size_t headers)
{
    gateway_roll_back(r);
    gateway_hold_model(r);
    handler_discard_answer(r, headers);
    return r->scope->entity ? gateway_entity(r, &r->scope->entity) : 0;
}

/* Returns whether another run may give another answer: another process may have just added or
 * removed an entity, a field, an enum value or a right. A handler that set `scope->may_be_stale` is
 * run again even if nothing is newer: only the run with `scope->is_rechecked` set puts its final
 * answer. */
AWAITS static bool can_answer_differ(struct req *r)
{
    bool unsure = r->scope->may_be_stale;

    r->scope->is_rechecked = r->scope->db_failure != DB_SCHEMA;
    return gateway_refresh_project(r) || unsure;
}

int handler_run(struct req *r)
{
    struct db_retry_state tries = {0};
    size_t headers = r->extra_headers.len;
    unsigned lasting = r->task.lasting_count;
    unsigned reloads = 0;

    for (;;) {
        int rc = handler_run_once(r);
        bool new_again = !r->streaming && !r->route->body_type && r->task.lasting_count == lasting;
        if (rc < 0 || !new_again)
            return rc;
        if (may_be_outdated(r, rc) || (rc == 503 && r->scope->db_failure == DB_SCHEMA)) {
            if (reloads++ == RELOADS || !can_answer_differ(r))
                return rc;
        } else if (rc != 503 || !db_should_retry(&r->task, &tries, r->scope->db_failure)) {
            return rc;
        }
        TRY(handler_reset(r, headers));
    }
}
