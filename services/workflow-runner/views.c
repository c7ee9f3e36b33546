/* Refreshes materialised views. */
#include "views.h"

#include <errno.h>

#include "app.h"
#include "base/clock.h"
#include "base/timezone.h"
#include "json/jw.h"
#include "log/log.h"
#include "queue/queue.h"
#include "records/view.h"
#include "runner_views_sql.h"
#include "work.h"
#include "workflow/cron.h"

#define AT_ONCE       2    /* projects per process */
#define LEASE_MS      6000 /* short: a runner's death is noticed soon */
#define RENEW_MS      1000
#define PASS_LIMIT_MS 150000
#define FILL_MS       120000 /* limit of one statement */
#define COLUMNS_BYTES 65536
#define ERROR_BYTES   500

static struct queue *views;

/* A refresh of one view. */
struct view_job {
    struct task *task;
    struct project *project;
    struct sql_view_claim_row row;
    struct records_ctx ctx;
    const struct entity *source;
    struct records_series *query;
    struct series_plan *plan;
    struct series_sources *sources;
    struct series_mark mark;
    int64_t begun_mono_ms;
    struct await *renewing; /* view_renew_lease() waits here; NULL = it does not wait */
    bool over;
    bool ours; /* the claim still held at the end, so the rows that this refresh made are served */
};

/* The next time that the view's cron is due, 0 = none. */
static int64_t view_next(struct view_job *job)
{
    const struct timezone_rules *zone = timezone_find(job->row.timezone);
    struct str reason;
    struct cron cron;

    if (!job->row.cron.len || zone == NULL ||
        cron_parse(job->task->arena, job->row.cron, &cron, &reason) != 0)
        return 0;
    int64_t next = cron_next(&cron, zone, job->row.now);
    return next > 0 ? next : 0;
}

/* co: Makes the plan from the current model, and reads how often its sources have changed. */
AWAITS static int view_prepare(struct view_job *job)
{
    job->sources = ARENA_NEW(job->task->arena, job->sources);
    job->source = model_entity_by_id(job->ctx.model, job->row.entity_id);
    if (job->source == NULL || !view_query_read(job->task->arena, job->row.query, job->query)) {
        job->ctx.error.code = PROBLEM_NOT_FOUND;
        job->ctx.error.detail = STR("The view's entity no longer exists.");
        return RECORDS_FAILED;
    }
    TRY(series_plan(&job->ctx, job->source, job->query, &job->plan));
    series_sources(&job->ctx, job->source, job->query, job->sources);
    return series_mark(&job->ctx, job->sources, false, &job->mark);
}

static struct sql_i64s view_entity_ids(const struct view_job *job)
{
    const struct series_sources *sources = job->sources;
    int64_t *ids = ARENA_ARRAY(job->task->arena, ids, sources->count);

    for (size_t i = 0; i < sources->count; i++)
        ids[i] = sources->entities[i]->id;
    return sql_i64s(ids, sources->count);
}

/* co: In one transaction, makes the view's table and updates its row. Sets .ours to false when the
 * claim no longer holds. */
AWAITS static int view_fill(struct task *task, struct db *tx, void *arg)
{
    struct view_job *job = arg;
    struct strbuf columns;
    struct rows rows;
    int64_t made;
    struct jw w;

    job->ctx.db = tx;
    TRY(db_set_timeout(task, tx, FILL_MS));
    TRY(view_table_create(&job->ctx, job->source, job->plan, job->row.id, job->row.token, &made));
    strbuf_init(&columns, task->arena, COLUMNS_BYTES);
    jw_init(&w, &columns);
    view_columns_print(&w, task->arena, job->plan);
    TRY(db_query(
        task,
        tx,
        SQL_VIEW_DONE(.id = job->row.id,
                      .token = job->row.token,
                      .columns = strbuf_view(&columns),
                      .made_definition = job->sources->is_complete ? job->row.definition_number : 0,
                      .made_entities = view_entity_ids(job),
                      .made_fields = sql_i64s(job->sources->field_ids, job->sources->field_count),
                      .started_at = job->row.now,
                      .next_refresh_at = view_next(job),
                      .mark_since = job->mark.since,
                      .mark_changes = job->mark.changes,
                      .refresh_ms = clock_mono_ms() - job->begun_mono_ms,
                      .row_count = made),
        &rows));
    job->ours = rows.count > 0;
    if (!job->ours)
        db_rollback(tx);
    return 0;
}

AWAITS static int view_drop_in(struct task *task, struct db *tx, void *arg)
{
    struct view_job *job = arg;

    (void)task;
    job->ctx.db = tx;
    return view_tables_drop(&job->ctx, job->row.id, job->row.token);
}

/* co: Drops the tables of other generations of the view. This fails when a table is still being
 * read; the next refresh then drops the table. */
AWAITS static void view_clean(struct view_job *job)
{
    int rc = db_transact_ddl(job->task, &job->project->db, view_drop_in, job);

    job->ctx.db = &job->project->db;
    if (rc != 0)
        log_debug("view.tables_left", L_I64("view", job->row.id), L_RESULT("rc", rc));
}

/* The reason of a failure, which the API shows as the view's error. */
static struct str view_reason(struct view_job *job, int rc)
{
    const struct records_error *error = &job->ctx.error;
    struct str text = error->detail;

    if (rc != RECORDS_FAILED)
        return rc == DB_TIMEOUT ? STR("The refresh took too long.")
                                : STR("The database could not refresh the view.");
    if (error->fields.count > 0)
        text = arena_printf(job->task->arena,
                            "%.*s: %.*s %.*s",
                            STR_ARG(text),
                            STR_ARG(error->fields.items[0].field),
                            STR_ARG(error->fields.items[0].message));
    return text.len < ERROR_BYTES ? text : (struct str){text.ptr, ERROR_BYTES};
}

AWAITS static int view_fail(struct view_job *job, int rc)
{
    if (rc < 0)
        return rc;
    log_info("view.failed",
             L_I64("project", job->project->number),
             L_I64("view", job->row.id),
             L_RESULT("rc", rc));
    return db_query(job->task,
                    &job->project->db,
                    SQL_VIEW_FAILED(.id = job->row.id,
                                    .token = job->row.token,
                                    .definition_number = job->row.definition_number,
                                    .started_at = job->row.now,
                                    .next_refresh_at = view_next(job),
                                    .mark_since = job->mark.since,
                                    .mark_changes = job->mark.changes,
                                    .error = view_reason(job, rc)),
                    NULL);
}

AWAITS static int view_refresh(struct view_job *job)
{
    int rc = view_prepare(job);

    if (rc == RECORDS_SCHEMA && records_should_repeat(&job->ctx, &job->source, &rc))
        rc = view_prepare(job);
    bool same = rc == 0 && job->mark.since == job->row.mark_since &&
                job->mark.changes == job->row.mark_changes;
    if (same && !job->row.wanted)
        return db_query(job->task,
                        &job->project->db,
                        SQL_VIEW_UNCHANGED(.id = job->row.id, .token = job->row.token),
                        NULL);
    if (rc == 0)
        rc = db_transact_ddl(job->task, &job->project->db, view_fill, job);
    job->ctx.db = &job->project->db;
    if (rc != 0)
        return view_fail(job, rc);
    if (job->ours)
        view_clean(job);
    return 0;
}

/* --- the lease of a refresh --- */

static void view_renew_abandon(struct await *await UNUSED)
{
}

/* co: Renews the lease until the refresh is over. A refresh that loses its lease to another claim
 * changes nothing, because its token is outdated. */
AWAITS static int view_renew_lease(struct task *task, void *arg)
{
    struct view_job *job = arg;

    while (!job->over) {
        struct await end;

        await_init(&end);
        end.abandon = view_renew_abandon;
        job->renewing = &end;
        int rc = await_wait(task, &end, RENEW_MS);
        job->renewing = NULL;
        if (rc != -ETIMEDOUT || job->over)
            break;
        rc = db_query(
            task,
            &job->project->db,
            SQL_VIEW_RENEW(.id = job->row.id, .token = job->row.token, .lease_ms = LEASE_MS),
            NULL);
        if (rc < 0) /* the pass has lasted too long, or the runner is stopping */
            break;
        if (rc > 0)
            log_debug("view.not_renewed", L_I64("view", job->row.id), L_RESULT("rc", rc));
    }
    return 0;
}

AWAITS static int view_work(struct task *task, void *arg)
{
    struct view_job *job = arg;

    job->task = task;
    job->ctx.task = task;
    int rc = view_refresh(job);
    job->over = true;
    if (job->renewing)
        await_done(job->renewing, 0);
    return rc;
}

/* --- passes --- */

AWAITS static int
take_views(struct task *task, struct queue *queue UNUSED, struct project *project, bool *ret_more)
{
    static const struct caller everybody = {.kind = CALLER_SYSTEM};
    struct view_job *job = ARENA_NEW(task->arena, job);
    struct rows rows;

    TRY(db_query(task, &project->db, SQL_VIEW_CLAIM(.lease_ms = LEASE_MS), &rows));
    *ret_more = rows.count > 0;
    if (rows.count == 0)
        return 0;
    job->project = project;
    job->row = sql_view_claim_row(&rows, 0);
    job->query = ARENA_NEW(task->arena, job->query);
    job->begun_mono_ms = clock_mono_ms();
    job->ctx = (struct records_ctx){
        .directory = runner_directory(),
        .project = project,
        .db = &project->db,
        .model = project->model,
        .caller = &everybody,
    };
    struct task_call calls[] = {{view_work, job, 0}, {view_renew_lease, job, 0}};
    return task_all(task, calls, ARRAY_LEN(calls));
}

static const struct queue_kind kind = {
    .name = "views",
    .pass = take_views,
    .pass_ms = PASS_LIMIT_MS,
    .projects = &SQL_VIEW_PROJECTS,
    .poll = &SQL_VIEWS_POLL,
};

void views_prepare(void)
{
    queue_prepare(&kind);
}

void views_start(void)
{
    const struct app_conf *conf = runner_conf();

    views = queue_start(&kind,
                        &(struct queue_config){
                            .directory = runner_directory(),
                            .holder = runner_id(),
                            .slots = AT_ONCE,
                            .slots_per_project = 1,
                            .sweep_ms = conf->sweep_ms,
                        });
}

void views_stop_polling(void)
{
    if (views)
        queue_stop_sweeps(views);
}

void views_drain(int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    if (views)
        queue_drain(views, last_call_mono_ms, done, arg);
    else if (done)
        done(arg);
}

void views_stop(void)
{
    if (views)
        queue_stop(views);
    views = NULL;
}
