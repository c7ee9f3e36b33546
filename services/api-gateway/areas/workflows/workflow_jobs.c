/* Jobs: listing, reading, cancelling and retrying. */
#include "areas/workflows/workflows.h"
#include "catalog/status.h"
#include "http/query.h"
#include "json/jr_off_thread.h"
#include "stages/stages.h"
#include "workflow/jobs.h"
#include "workflow/trigger_access.h"
#include "workflow_runs_sql.h"

/* Limits how often a job that always fails can run, because the history of each run is kept. */
#define RUNS_MAX 100
#define JOBS_MAX 100 /* of one request */

static const struct query_param jobs_query[] = {
    KEYSET_QUERY,
    {.name = "status",
     .type = FIELD_STRS,
     .values = job_statuses,
     .doc = "Only jobs with one of these statuses, separated by commas"},
    {.name = "since",
     .type = FIELD_TIME,
     .doc = "Only jobs that were queued from this time (RFC 3339) on"},
    {.name = "until", .type = FIELD_TIME, .doc = "Only jobs that were queued before this time"},
    {0},
};

static const struct keyset_list project_jobs = {
    &SQL_RUNS_OF_PROJECT_DESC, &SQL_RUNS_OF_PROJECT_ASC, &SQL_RUNS_OF_PROJECT_COUNT, "id"};
static const struct keyset_list workflow_jobs = {
    &SQL_RUNS_OF_WORKFLOW_DESC, &SQL_RUNS_OF_WORKFLOW_ASC, &SQL_RUNS_OF_WORKFLOW_COUNT, "id"};
static const struct keyset_list period_jobs = {
    &SQL_RUNS_OF_PERIOD_DESC, &SQL_RUNS_OF_PERIOD_ASC, &SQL_RUNS_OF_PERIOD_COUNT, "id"};

/* Returns the caller as the statements' `:viewer`. A key sees only the data of versions that this
 * key saved, because the key's user may have more rights. */
static struct sql_i64s viewer_ids(struct req *r)
{
    int64_t *ids = ARENA_ARRAY(r->task.arena, ids, 2);

    ids[0] = r->scope->caller->user_id;
    ids[1] = r->scope->caller->key_id;
    if (caller_is_admin(r->scope->caller))
        return sql_i64s(ids, 0);
    return sql_i64s(ids, r->scope->caller->kind == CALLER_KEY ? 2 : 1);
}

/* Returns the statuses of the query as the statements' `:statuses`. */
static struct sql_strs wanted_statuses(struct req *r, const struct query *query)
{
    size_t count;
    const struct str *texts = query_texts(r->task.arena, query, "status", &count);

    return sql_strs(texts, count);
}

static bool has_period(const struct query *query)
{
    return query_get(query, "since").ptr || query_get(query, "until").ptr;
}

AWAITS static int reply_period(struct req *r, const struct query *query, struct opt_i64 workflow_id)
{
    return keyset_reply(r,
                        &period_jobs,
                        SQL_RUNS_OF_PERIOD_ARGS(.viewer = viewer_ids(r),
                                                .statuses = wanted_statuses(r, query),
                                                .since = query_time(query, "since"),
                                                .until = query_time(query, "until"),
                                                .workflow_id = workflow_id));
}

AWAITS static int jobs_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    if (has_period(query))
        return reply_period(r, query, NO_I64);
    return keyset_reply(
        r,
        &project_jobs,
        SQL_RUNS_OF_PROJECT_ARGS(.viewer = viewer_ids(r), .statuses = wanted_statuses(r, query)));
}

AWAITS static int jobs_of_workflow(struct req *r)
{
    const struct query *query;
    struct rows known;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_query(r, &query));
    TRY(sql_one(r, &known, SQL_RUNS_WORKFLOW_KNOWN(.workflow_id = id)));
    if (!sql_runs_workflow_known_row(&known, 0).known)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (has_period(query))
        return reply_period(r, query, some_i64(id));
    return keyset_reply(r,
                        &workflow_jobs,
                        SQL_RUNS_OF_WORKFLOW_ARGS(.viewer = viewer_ids(r),
                                                  .statuses = wanted_statuses(r, query),
                                                  .workflow_id = id));
}

/* --- one job --- */

/* co: Returns the trigger's data as JSON text; STR_NONE when the caller may not see the data. An
 * event's record has only the fields that the caller may read. The caller is the job's editor, so
 * the job sees the same. */
AWAITS static struct str trigger_data_visible(struct req *r, const struct sql_run_data_row *found)
{
    int64_t entity_id = found->entity_id.value;
    struct jr_error error;
    json_t *data;

    if (caller_is_admin(r->scope->caller) || !found->data.ptr ||
        (!found->event.len && entity_id == 0))
        return found->data;
    const struct entity *entity = entity_id ? model_entity_by_id(r->scope->model, entity_id) : NULL;
    if (!found->admitted || !trigger_is_allowed(r->scope->caller, found->event, entity))
        return STR_NONE;
    if (!entity)
        return found->data;
    if (jr_parse_off_thread(&r->task, r->task.arena, found->data, true, &data, &error) != 0)
        return STR_NONE;
    const struct trigger_view view = {r->scope->caller, entity, found->at};
    trigger_data_trim(&view, data);
    return jr_print(r->task.arena, data);
}

static void write_trigger(struct jw *w, const struct rows *trigger, struct str data)
{
    jw_lit(w, "trigger");
    jw_obj(w);
    rows_json_members(w, trigger, 0);
    jw_lit(w, "data");
    if (data.ptr)
        jw_raw(w, data);
    else
        jw_null(w);
    jw_obj_end(w);
}

/* co: Reads the job before its details, because the statements of a batch may see different
 * snapshots: this way a job that is shown as ended has all of its steps. */
AWAITS static int reply_job(struct req *r, int status, int64_t id)
{
    struct rows job;
    struct jw w;

    TRY(sql_one(r, &job, SQL_RUN_GET(.viewer = viewer_ids(r), .id = id)));
    struct db_call calls[] = {
        db_call(SQL_RUN_TRIGGER(.viewer = viewer_ids(r), .id = id)),
        db_call(SQL_RUN_DATA(.viewer = viewer_ids(r), .id = id)),
        db_call(SQL_RUN_STEPS(.viewer = viewer_ids(r), .id = id)),
    };
    const struct rows *steps = &calls[2].rows;
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    if (!calls[0].rows.count || !calls[1].rows.count)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    const struct sql_run_data_row found = sql_run_data_row(&calls[1].rows, 0);
    struct str data = trigger_data_visible(r, &found);
    bool withheld = !data.ptr && found.data.ptr;
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &job, 0);
    JW_BOOL(&w, "data_hidden", !found.seen || withheld);
    write_trigger(&w, &calls[0].rows, data);
    jw_lit(&w, "steps");
    rows_json_array(&r->task, &w, steps, steps->count);
    jw_obj_end(&w);
    return reply_json(r, status);
}

AWAITS static int jobs_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_job(r, 200, id);
}

AWAITS static int job_guard(struct req *r)
{
    struct rows job;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return sql_one(r, &job, SQL_RUN_STATUS(.viewer = viewer_ids(r), .id = id));
}

/* co: Cancels one job in a transaction of its own. The job's runner notices at its next write that
 * its token is no longer valid; the hint notifies the runner at once. */
AWAITS static int cancel_job(struct req *r, int64_t id)
{
    struct rows found;

    TRY(sql_begin(r));
    TRY(sql_one(r, &found, SQL_RUN_SET_TIMEOUT()));
    TRY(sql_all(r, &found, SQL_RUN_CANCEL(.id = id)));
    if (!found.count) {
        TRY(sql_one(r, &found, SQL_RUN_STATUS(.viewer = viewer_ids(r), .id = id)));
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The job has already ended: its status is %.*s.",
                    STR_ARG(sql_run_status_row(&found, 0).status));
    }
    struct db_call calls[] = {
        db_call(SQL_RUN_CLOSE_STEPS(.id = id)),
        gateway_audit(r, "jobs.cancel", "job", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    jobs_notify_cancel(gateway_directory(), r->scope->project, id);
    return 0;
}

AWAITS static int jobs_cancel(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(cancel_job(r, id));
    return reply_job(r, 200, id);
}

/* --- retry --- */

struct retry_in {
    struct in_str from_step;
};

static const struct field retry_fields[] = {
    {.name = "from_step",
     FIELD_AT(struct retry_in, from_step),
     .type = FIELD_STR,
     .nullable = true,
     .max = 100,
     .doc = "Key of the step to begin with, in the version that the job runs. When left out: the "
            "step that failed, else the start step",
     .example = "\"save\""},
};
static const struct schema retry_schema = SCHEMA("JobRetry", struct retry_in, retry_fields);

/* Returns 0 when the job can be retried, else puts an answer that says why not. */
static int check_retry(struct req *r, const struct sql_run_lock_row *job)
{
    enum status status = status_read(STATUS_OF_JOB, job->status);
    bool skipped = status == STATUS_JOB_SKIPPED;

    if (status != STATUS_JOB_FAILED && status != STATUS_JOB_CANCELLED && !skipped)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "The job's status is %.*s; only failed, cancelled and skipped jobs can be retried.",
            STR_ARG(job->status));
    if (skipped && str_is(job->reason, "loop_guard"))
        return fail(r,
                    PROBLEM_CONFLICT,
                    "A retry would continue a loop of events: the job was skipped by loop_guard.");
    if (!job->kept)
        return fail(r, PROBLEM_CONFLICT, "The job's workflow was deleted.");
    if (!job->enabled.value)
        return fail(r, PROBLEM_WORKFLOW_DISABLED, "Enable the workflow before retrying its jobs.");
    if (job->run >= RUNS_MAX)
        return fail(
            r, PROBLEM_CONFLICT, "A job can run at most %d times; start a new job.", RUNS_MAX);
    return 0;
}

/* Finds the step to begin with: the requested step, else the step in which the job ended. STR_NONE
 * means the start step. */
static int find_step(struct req *r,
                     const struct sql_run_lock_row *job,
                     const struct in_str *wanted,
                     struct str *ret_step)
{
    struct str step = wanted->set && !wanted->null ? wanted->value : job->ended_in;

    *ret_step = STR_NONE;
    for (size_t i = 0; i < job->keys.count; i++) {
        if (str_eq(job->keys.items[i], step))
            *ret_step = step;
    }
    if (!ret_step->ptr && wanted->set && !wanted->null)
        return fail_field(r,
                          "from_step",
                          PROBLEM_VALIDATION_FAILED,
                          "the job's version of the workflow has no step %.*s",
                          STR_ARG(step));
    return 0;
}

static int check_retry_permission(struct req *r, bool own)
{
    if (own || caller_can(r->scope->caller, PERM_SVC_WORKFLOWS_UPDATE))
        return 0;
    return fail(r,
                PROBLEM_FORBIDDEN,
                "A retry of a job that the caller did not start requires the permission "
                "svc_workflows:update.");
}

/* Without svc_workflows:update a caller retries only jobs that the caller started, from the start
 * step or the step in which the job ended. Any other step might follow a condition that did not
 * hold, and would run with the rights of the workflow's editor. */
static int
check_retry_step(struct req *r, const struct sql_run_lock_row *job, const struct in_str *wanted)
{
    TRY(check_retry_permission(r, job->own.value));
    if (caller_can(r->scope->caller, PERM_SVC_WORKFLOWS_UPDATE))
        return 0;
    if (!wanted->set || wanted->null || str_eq(wanted->value, job->ended_in) ||
        str_eq(wanted->value, job->start_step))
        return 0;
    return fail(
        r,
        PROBLEM_FORBIDDEN,
        "A retry from a step other than the start step and the step that failed requires the "
        "permission svc_workflows:update.");
}

/* co: Puts a 429 when the project's queue is full, as for started jobs (workflow_trigger.c). */
AWAITS static int check_queue_limit(struct req *r)
{
    int64_t most = daemon_app()->conf->queued_jobs;
    struct rows limits;

    TRY(sql_one(r, &limits, SQL_RUN_QUEUE_LIMIT(.most = most)));
    return sql_run_queue_limit_row(&limits, 0).room ? 0 : fail_queue_full(r, most);
}

/* Returns the caller's API key. Returns NO_I64 for a user, who owns the jobs of all of the
 * user's keys. */
static struct opt_i64 caller_key_id(const struct req *r)
{
    const struct caller *caller = r->scope->caller;

    return caller->kind == CALLER_KEY ? some_i64(caller->key_id) : NO_I64;
}

AWAITS static int retry_guard(struct req *r)
{
    struct rows job;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r,
                &job,
                SQL_RUN_IS_OWN(.viewer = viewer_ids(r),
                               .id = id,
                               .actor_id = r->scope->caller->user_id,
                               .actor_key_id = caller_key_id(r))));
    return check_retry_permission(r, sql_run_is_own_row(&job, 0).own.value);
}

/* co: Retries one job in a transaction of its own. */
AWAITS static int retry_job(struct req *r, int64_t id, const struct in_str *from_step)
{
    struct rows rows;
    struct str step;

    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_RUN_LOCK(.viewer = viewer_ids(r),
                             .id = id,
                             .actor_id = r->scope->caller->user_id,
                             .actor_key_id = caller_key_id(r))));
    const struct sql_run_lock_row job = sql_run_lock_row(r->task.arena, &rows, 0);
    TRY(check_retry_step(r, &job, from_step));
    TRY(check_retry(r, &job));
    TRY(check_queue_limit(r));
    TRY(find_step(r, &job, from_step, &step));
    struct db_call calls[] = {
        db_call(SQL_RUN_RETRY(.id = id, .step = step)),
        gateway_audit(r, "jobs.retry", "job", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    jobs_notify_queued(gateway_directory(), r->scope->project, id);
    return 0;
}

AWAITS static int jobs_retry(struct req *r)
{
    struct retry_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &retry_schema, &in));
    TRY(retry_job(r, id, &in.from_step));
    return reply_job(r, 202, id);
}

/* --- several jobs, each with the result of the request for this job alone --- */

struct jobs_in {
    struct in_ids ids;
};
static const struct field jobs_fields[] = {
    {.name = "ids",
     FIELD_AT(struct jobs_in, ids),
     .type = FIELD_IDS,
     .required = true,
     .min = 1,
     .max = JOBS_MAX,
     .example = "[5, 8]"},
};
static const struct schema jobs_schema = SCHEMA("JobIds", struct jobs_in, jobs_fields);

static const struct field job_result_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "status",
     .type = FIELD_I64,
     .required = true,
     .doc = "The status that the request for this job alone would have: 202 when the job is queued "
            "again, 200 when it is cancelled"},
    {.name = "problem", .type = FIELD_MAP, .required = true, .nullable = true},
};
static const struct schema job_result_schema = SCHEMA_OUT("JobResult", job_result_fields);
static const struct field job_results_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &job_result_schema},
};
static const struct schema job_results_schema = SCHEMA_OUT("JobResults", job_results_fields);

/* Adds a job's result to the list; `problem`: the response body has the problem. */
static void put_job_result(struct req *r, struct jw *w, int64_t id, int status, bool problem)
{
    jw_obj(w);
    JW_I64(w, "id", id);
    JW_I64(w, "status", status);
    jw_lit(w, "problem");
    if (problem)
        jw_raw(w, strbuf_view(&r->body));
    else
        jw_null(w);
    jw_obj_end(w);
}

/* co: Does the work for each job of the body in its order. A job waits for no other job of the
 * request, because `work` has a transaction of its own. Its result 0 is shown as `done`. */
AWAITS static int jobs_each(struct req *r, int (*work)(struct req *r, int64_t id), int done)
{
    size_t headers = r->extra_headers.len;
    struct strbuf text;
    struct jobs_in in;
    struct jw w;

    TRY(req_json(r, &jobs_schema, &in));
    strbuf_init(&text, r->task.arena, r->body.max);
    jw_init(&w, &text);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < in.ids.count; i++) {
        int rc = work(r, in.ids.items[i]);
        if (rc < 0)
            return rc;
        if (rc)
            gateway_roll_back(r);
        put_job_result(r, &w, in.ids.items[i], rc ? rc : done, rc != 0);
        handler_discard_answer(r, headers);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    resp_json(r);
    strbuf_str(&r->body, strbuf_view(&text));
    return reply_json(r, 200);
}

AWAITS static int retry_from_end(struct req *r, int64_t id)
{
    const struct in_str no_step = {0};

    return retry_job(r, id, &no_step);
}

AWAITS static int jobs_retry_many(struct req *r)
{
    return jobs_each(r, retry_from_end, 202);
}

AWAITS static int jobs_cancel_many(struct req *r)
{
    return jobs_each(r, cancel_job, 200);
}

#define JOB_DATA_DOC                                                                               \
    "Data is shown to administrators and to the caller in whose name the job ran: the user (with " \
    "a token) or the API key that saved the version that the job runs. For other callers "         \
    "data_hidden is true, trigger.data and the steps' input, output and log are null, and errors " \
    "have no message and response. An event's record is shown without fields that the caller may " \
    "not read. Jobs skipped as not_permitted are shown to administrators only."

static const struct route workflow_jobs_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/workflows/jobs",
        .id = "jobs_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .query = jobs_query,
        .success = {200, &job_listed_schema, .list = true},
        .run = jobs_list,
        .summary = "List the jobs of all workflows, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = "/workflows/{id}/jobs",
        .id = "workflows_jobs",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .query = jobs_query,
        .success = {200, &job_listed_schema, .list = true},
        .extra_statuses = {404},
        .run = jobs_of_workflow,
        .summary = "List the jobs of a workflow, newest first",
        .doc = "Also works for a workflow that was deleted.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/workflows/jobs/{id}",
        .id = "jobs_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .success = {200, &job_schema},
        .extra_statuses = {404},
        .run = jobs_get,
        .summary = "Read a job with its steps",
        .doc = JOB_DATA_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = "/workflows/jobs/{id}/cancel",
        .id = "jobs_cancel",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_TRIGGER,
        .success = {200, &job_schema},
        .extra_statuses = {404, 409},
        .run = jobs_cancel,
        .guard = job_guard,
        .summary = "Cancel a job that has not ended",
        .doc = "Changes that the steps have made are not undone. A call to another system that is "
               "under way may still arrive there. 409 when the job has already ended.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/workflows/jobs/cancel",
        .id = "jobs_cancel_many",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_TRIGGER,
        .body = &jobs_schema,
        .success = {200, &job_results_schema},
        .class = CLASS_HEAVY,
        .run = jobs_cancel_many,
        .summary = "Cancel several jobs, with a result for each",
    },
    {
        .method = HTTP_POST_M,
        .path = "/workflows/jobs/retry",
        .id = "jobs_retry_many",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_TRIGGER,
        .body = &jobs_schema,
        .success = {200, &job_results_schema},
        .class = CLASS_HEAVY,
        .run = jobs_retry_many,
        .summary = "Run several jobs again, with a result for each",
    },
    {
        .method = HTTP_POST_M,
        .path = "/workflows/jobs/{id}/retry",
        .id = "jobs_retry",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_TRIGGER,
        .body = &retry_schema,
        .body_optional = true,
        .success = {202, &job_schema},
        .extra_statuses = {404, 409},
        .run = jobs_retry,
        .guard = retry_guard,
        .summary = "Run a failed, cancelled or skipped job again",
        .doc = "The job runs with the version and the trigger data that it was queued with. Steps "
               "before the step that the retry begins with keep their outputs. 409 when the job's "
               "status is not failed, cancelled or skipped, and for jobs that were skipped by "
               "loop_guard. A caller without "
               "svc_workflows:update can retry only jobs that the caller started, from the start "
               "step or the step that failed.",
    },
};
ROUTES(workflow_jobs, "Jobs");
