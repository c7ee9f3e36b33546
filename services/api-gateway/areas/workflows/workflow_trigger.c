/* Starting workflows by hand and by their routes. One statement queues the job. */
#include "areas/workflows/workflows.h"
#include "base/num.h"
#include "http/query.h"
#include "job_start_sql.h"
#include "workflow/jobs.h"
#include "workflows_sql.h"

#define ENTITY_NAME_BYTES 200

static const struct schema data_schema = {
    .name = "TriggerData",
    .value = &(const struct field){.type = FIELD_JSON,
                                   .doc = "Any JSON value: $svc.trigger.data",
                                   .example = "{\"name\":\"Ada\"}"},
};

static const struct field started_fields[] = {
    {.name = "job_id", .type = FIELD_I64, .required = true, .example = "90"},
};
static const struct schema started_schema = SCHEMA_OUT("JobStarted", started_fields);

int fail_queue_full(struct req *r, int64_t most)
{
    resp_header(r, "Retry-After", STR("10"));
    return fail(r,
                PROBLEM_RATE_LIMITED,
                "The project has %lld queued jobs, which is the limit; try again later.",
                (long long)most);
}

/* co: Queues the job and then notifies the runners. *ret_job is 0 when there is no such enabled
 * workflow. */
AWAITS static int queue_job(struct req *r, struct job_start *start, int64_t *ret_job)
{
    struct db_call call;
    struct rows started;

    TRY(req_json_text(r, &start->data));
    start->actor_id = r->scope->caller->user_id;
    start->actor_key_id = r->scope->caller->key_id;
    start->traceparent = gateway_traceparent(r);
    start->queued_max = daemon_app()->conf->queued_jobs;
    call = job_start_call(r->task.arena, start);
    TRY(sql_check(
        r, db_query(&r->task, r->scope->db, call.sql, call.params, call.param_count, &started)));
    if (started.count && !sql_job_start_row(&started, 0).job_id.set)
        return fail_queue_full(r, start->queued_max);
    *ret_job = started.count ? sql_job_start_row(&started, 0).job_id.value : 0;
    if (*ret_job)
        jobs_notify_queued(gateway_directory(), r->scope->project, *ret_job);
    return 0;
}

AWAITS static int find_workflow(struct req *r, int64_t id)
{
    struct rows workflow;

    return sql_one(r, &workflow, SQL_WORKFLOW_EXISTS(.id = id));
}

AWAITS static int workflow_guard(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return find_workflow(r, id);
}

AWAITS static int workflows_trigger(struct req *r)
{
    struct job_start start = {0};
    int64_t job_id = 0;
    struct jw w;

    TRY(req_id(r, "id", &start.workflow_id));
    TRY(queue_job(r, &start, &job_id));
    if (!job_id) {
        TRY(find_workflow(r, start.workflow_id));
        return fail(r, PROBLEM_WORKFLOW_DISABLED, "Enable the workflow before starting it.");
    }
    resp_header_printf(r,
                       "Location",
                       "/org/%.*s/workflows/jobs/%lld",
                       STR_ARG(r->scope->project->slug),
                       (long long)job_id);
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "job_id", job_id);
    jw_obj_end(&w);
    return reply_json(r, 202);
}

static const struct query_param route_query[] = {
    {.name = "id", .type = FIELD_I64, .doc = "$svc.trigger.id, 0 when left out"},
    {.name = "entity_name", .type = FIELD_STR, .doc = "$svc.trigger.entity_name"},
    {0},
};

static int fail_no_route(struct req *r)
{
    return fail(r, PROBLEM_NOT_FOUND, "No enabled workflow has this route.");
}

static struct str path_route(struct req *r)
{
    return arena_lower(r->task.arena, req_param(r, "route"));
}

AWAITS static int route_guard(struct req *r)
{
    struct rows known;

    TRY(sql_all(r, &known, SQL_WORKFLOW_ROUTE_KNOWN(.route = path_route(r))));
    return known.count ? 0 : fail_no_route(r);
}

/* The segment need not be a valid route (letters, digits, '-' and '_'): an invalid route is
 * not found. */
AWAITS static int workflows_route(struct req *r)
{
    struct job_start start = {.route = path_route(r)};
    const struct query *query;
    int64_t job_id = 0;

    if (r->query.len) {
        TRY(req_query(r, &query));
        (void)num_parse_i64(query_get(query, "id"), &start.trigger_id);
        start.trigger_entity = query_get(query, "entity_name");
    }
    if (start.trigger_entity.len > ENTITY_NAME_BYTES)
        return fail_field(
            r, "entity_name", PROBLEM_TOO_LONG, "may have at most %d bytes", ENTITY_NAME_BYTES);
    TRY(queue_job(r, &start, &job_id));
    if (!job_id)
        return fail_no_route(r);
    return reply_empty(r, 204);
}

/* One endpoint with two paths. */
#define ROUTE_CALL(path_, id_, summary_)                                                           \
    {                                                                                              \
        .method = HTTP_POST_M, .path = (path_), .id = (id_), .auth = AUTH_USER_OR_KEY,             \
        .perm = PERM_SVC_WORKFLOWS_TRIGGER, .query = route_query, .body = &data_schema,            \
        .body_optional = true, .success = {204}, .extra_statuses = {404}, .run = workflows_route,  \
        .guard = route_guard, .run_decides = true, .summary = (summary_),                          \
        .doc = "Answers as soon as the job is queued, without waiting for its end. The case of "   \
               "the route's letters does not matter. 404 when no enabled workflow has the route.", \
    }

static const struct route workflow_trigger_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/workflows/{id}/trigger",
        .id = "workflows_trigger",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_TRIGGER,
        .body = &data_schema,
        .body_optional = true,
        .success = {202, &started_schema},
        .extra_statuses = {404, 409},
        .run = workflows_trigger,
        .guard = workflow_guard,
        .run_decides = true,
        .summary = "Start a workflow by hand",
        .doc = "Works with every kind of trigger. 409 workflow_disabled when the workflow is not "
               "enabled. The Location header is the path of the job.",
    },
    ROUTE_CALL("/workflows/api/{route}", "workflows_api", "Start the workflow that has this route"),
    ROUTE_CALL("/workflows/endpoint/{route}",
               "workflows_endpoint",
               "Start the workflow that has this route (the same as /workflows/api/{route})"),
};
ROUTES(workflow_trigger, "Workflows");
