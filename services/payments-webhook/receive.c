/* The steps of a request: id, route, project and handler, then its log line and metrics. */
#include "receive.h"

#include "app.h"
#include "app/admission.h"
#include "app/reply.h"
#include "app/request.h"
#include "base/clock.h"
#include "http/router.h"
#include "ingest.h"
#include "metrics/metrics.h"

#define OPTIONS_SUFFIX ", OPTIONS"

/* Health for a reverse proxy. The other endpoints of this kind are on the admin port. */
static int answer_health(struct req *r)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "status", "ok");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/healthz",
        .id = "webhooks_health",
        .auth = AUTH_PUBLIC,
        .run = answer_health,
    },
    {
        .method = HTTP_POST_M,
        .path = "/webhooks/processor/{project_id}",
        .id = "webhooks_processor",
        .auth = AUTH_PUBLIC,
        .run = ingest_processor,
    },
    {
        .method = HTTP_POST_M,
        .path = "/webhooks/iap-store/{project_id}",
        .id = "webhooks_iap_store",
        .auth = AUTH_PUBLIC,
        .run = ingest_store,
    },
};

static const double seconds_bounds[] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

static struct router *router;
static struct {
    struct metric *classes[6]; /* by status / 100 */
    struct metric *seconds;
} m;

void receive_prepare(void)
{
    static const char *const labels[6] = {[2] = "status=\"2xx\"",
                                          [3] = "status=\"3xx\"",
                                          [4] = "status=\"4xx\"",
                                          [5] = "status=\"5xx\""};

    router = router_new();
    router_add(router, "", routes, ARRAY_LEN(routes));
    for (int class = 2; class <= 5; class ++)
        m.classes[class] = metric_counter(
            "groundwork_requests_total", labels[class], "Requests answered, by status");
    m.seconds = metric_histogram("groundwork_request_seconds",
                                 "",
                                 "Time from first byte to response, seconds",
                                 seconds_bounds,
                                 ARRAY_LEN(seconds_bounds));
    ingest_prepare();
}

AWAITS static int receive_find_project(struct req *r)
{
    struct str slug = req_param(r, "project_id");

    return admission_set_project(
        r, admission_find_project(r, webhook_directory(), slug, &r->scope->project));
}

static int answer_no_route(struct req *r, int rc, struct str allow)
{
    switch (rc) {
    case ROUTER_METHOD:
        /* The router adds OPTIONS, which this daemon does not answer. */
        if (str_ends(allow, STR(OPTIONS_SUFFIX)))
            allow.len -= sizeof(OPTIONS_SUFFIX) - 1;
        resp_header(r, "Allow", allow);
        return fail(r, PROBLEM_METHOD_NOT_ALLOWED, "This path accepts only %.*s.", STR_ARG(allow));
    case ROUTER_BAD_PATH:
        return fail(r, PROBLEM_BAD_REQUEST, "The path is not valid.");
    default:
        return fail(r,
                    PROBLEM_ROUTE_NOT_FOUND,
                    "This port only receives events of the processor and the app store.");
    }
}

int receive_run(struct req *r)
{
    struct str allow = STR_NONE;

    request_id_set(r);
    peer_set(r);
    int rc = router_match(router, r, &allow);
    if (rc != 0)
        return answer_no_route(r, rc, allow);
    r->task.log.route = r->route->id;
    if (r->param_count > 0)
        TRY(receive_find_project(r));
    return r->route->run(r);
}

void receive_finished(struct req *r)
{
    int64_t spent_us = clock_mono_us() - r->started_us;
    int class = r->status / 100;

    if (class >= 2 && class <= 5)
        metric_add(m.classes[class], 1);
    metric_observe(m.seconds, (double)spent_us / 1e6);
    log_access_line(r, "none", spent_us);
}

void receive_problem(struct req *r, int status, enum problem problem, const char *detail)
{
    if (!r->request_id.len)
        request_id_set(r);
    problem_put(r, status, problem, detail);
}
