/* Jobs and events as kinds of work, and the start and end of all kinds. */
#include "work.h"

#include "base/clock.h"
#include "events.h"
#include "job.h"
#include "log/log.h"
#include "loop/background.h"
#include "mails.h"
#include "quotas.h"
#include "run.h"
#include "runner_claim_sql.h"
#include "runner_retain_sql.h"
#include "runner_sweep_sql.h"
#include "text_indexes.h"
#include "views.h"
#include "workflow/jobs.h"
#include "workflow_stops_sql.h"

#define GROUP              "workflow-runner"
#define PASSES_AT_ONCE     16   /* passes of events */
#define SLOW_EVENTS_JOBS   1000 /* waiting jobs of a project that slow its events down */
#define SLOW_EVENTS_PAUSES 4    /* length of a pause, in durations of the last pass */
#define LAST_CALL_MS       2000 /* the last call is this long before the drain ends */
#define STOPS_AT_ONCE      20   /* batches per sweep */
#define POLLS_AT_ONCE      128  /* projects polled together: an idle runner mostly polls */
#define RETAIN_EVERY_MS    600000

static struct {
    struct queue *jobs, *events;
    struct work_stats stats;
} w;

struct work_stats *work_stats(void)
{
    return &w.stats;
}

struct queue *work_jobs(void)
{
    return w.jobs;
}

bool work_is_isolated(void)
{
    return daemon_app()->worker >= (unsigned)runner_conf()->common.workers;
}

/* --- other work of a sweep --- */

/* co: Ends one batch of jobs of a workflow that is deleted or disabled. *ret_count: how many jobs
 * it ended. */
AWAITS static int stop_batch(
    struct task *task, struct project *project, int64_t workflow, bool deleted, size_t *ret_count)
{
    struct rows queued;
    struct rows running = {0};

    TRY(db_query(
        task, &project->db, SQL_STOP_QUEUED(.workflow_id = workflow, .deleted = deleted), &queued));
    if (deleted)
        TRY(db_query(task, &project->db, SQL_STOP_RUNNING(.workflow_id = workflow), &running));
    for (size_t i = 0; i < running.count; i++)
        jobs_notify_cancel(runner_directory(), project, sql_stop_running_row(&running, i).id);
    *ret_count = queued.count + running.count;
    return 0;
}

/* co: Ends the queued jobs of workflows that are deleted or disabled, some at a time. */
AWAITS static int stop_workflows(struct task *task, int64_t number)
{
    struct project *project;
    struct rows marks;
    int batches = 0;

    TRY(project_find_number(task, runner_directory(), number, &project));
    TRY(db_query(task, &project->db, SQL_STOP_MARKS(), &marks));
    for (size_t i = 0; i < marks.count; i++) {
        const struct sql_stop_marks_row mark = sql_stop_marks_row(&marks, i);
        size_t count = 1;
        while (count > 0 && batches++ < STOPS_AT_ONCE)
            TRY(stop_batch(task, project, mark.workflow_id, mark.deleted, &count));
        if (count > 0)
            break;
        TRY(db_query(task, &project->db, SQL_STOP_DONE(.workflow_id = mark.workflow_id), NULL));
    }
    return 0;
}

/* Corrects the control schema's time of the next tick from the project's own rows, which are always
 * right. The two differ after a save that raced a tick, or after a gateway that died before it
 * notified. */
AWAITS static void correct_fire_hint(struct task *task,
                                     const struct sql_sweep_projects_row *project,
                                     int64_t wanted_ms)
{
    if (project->next_fire_at == wanted_ms)
        return;
    int rc = db_query(task,
                      directory_control(runner_directory()),
                      SQL_SWEEP_FIRE_HINT(.number = project->number,
                                          .next_fire_at = wanted_ms,
                                          .seen = project->seen),
                      NULL);
    if (rc > 0)
        log_debug("sweep.hint_failed", L_I64("project", project->number));
}

AWAITS static int work_after_poll(struct task *task,
                                  struct db *db,
                                  const struct rows *projects,
                                  size_t project,
                                  const struct rows *found)
{
    const struct sql_sweep_projects_row row = sql_sweep_projects_row(projects, project);
    const struct sql_sweep_poll_row poll = sql_sweep_poll_row(found, 0);

    if (poll.events)
        queue_project_due(w.events, db->schema);
    if (poll.stops) {
        int rc = stop_workflows(task, db->schema);
        if (rc != 0)
            log_debug("sweep.stops_failed", L_I64("project", db->schema), L_RESULT("rc", rc));
    }
    correct_fire_hint(task, &row, poll.next_fire_at);
    return 0;
}

/* --- events --- */

/* Slows a project's events down while many of its jobs wait. Events that become jobs faster than
 * jobs run only make the queue longer, while writers wait for the database. The events continue
 * when few jobs are left. They never stop, so that jobs beyond the project's limit are detected in
 * time. */
static void slow_events(int64_t number, int64_t taken_ms)
{
    if (queue_rows_waiting(w.jobs, number) >= SLOW_EVENTS_JOBS)
        queue_pause(w.events, number, SLOW_EVENTS_PAUSES * taken_ms);
}

static void on_jobs_claimed(int64_t number, unsigned waiting)
{
    if (waiting < SLOW_EVENTS_JOBS && w.events != NULL)
        queue_resume(w.events, number);
}

AWAITS static int
take_events(struct task *task, struct queue *queue UNUSED, struct project *project, bool *ret_more)
{
    struct events_outcome outcome = {0};
    int64_t begun_ms = clock_mono_ms();

    TRY(events_take(task, project, &outcome));
    w.stats.events_taken += outcome.taken;
    w.stats.guarded += outcome.guarded;
    w.stats.jobs_made += outcome.made;
    if (outcome.made > 0)
        queue_rows_stored(w.jobs, project, outcome.made);
    slow_events(project->number, clock_mono_ms() - begun_ms);
    *ret_more = outcome.more;
    return 0;
}

/* --- the tables --- */

static const struct queue_peers runners = {
    .put_alive = &SQL_RUNNER_ALIVE,
    .list_live = &SQL_RUNNERS_LIVE,
    .forget = &SQL_RUNNERS_FORGET,
    .remove = &SQL_RUNNER_GONE,
    .put_shared = &SQL_RUNNER_SHARED,
    .list_alone = &SQL_RUNNERS_ALONE,
};

static const struct sql *const retained_history[] = {
    &SQL_RETAIN_JOBS,
    &SQL_RETAIN_EVENTS,
    &SQL_RETAIN_FAN_OUT,
    &SQL_RETAIN_CALLS,
    NULL,
};

static const struct queue_kind jobs = {
    .name = "jobs",
    .size = sizeof(struct job),
    .read = job_read,
    .run = job_run,
    .claim = &SQL_CLAIM_JOBS,
    .claim_crashed = &SQL_CLAIM_CRASHED,
    .renew = &SQL_CLAIM_RENEW,
    .still_held = &SQL_CLAIM_HELD,
    .release = &SQL_JOBS_RELEASE,
    .holders = &SQL_SWEEP_HOLDERS,
    .rescue = &SQL_SWEEP_RESCUE,
    .claim_bytes = LARGE_BYTES,
    .on_claimed = on_jobs_claimed,
    .release_begun = true,
    .projects = &SQL_SWEEP_PROJECTS,
    .poll = &SQL_SWEEP_POLL,
    .polls_at_once = POLLS_AT_ONCE,
    .on_polled = work_after_poll,
    .peers = &runners,
    .crashed_put = &SQL_CRASHED_PUT,
    .crashed_take = &SQL_CRASHED_TAKE,
    .retain = retained_history,
    .has_old = &SQL_RETAIN_POLL,
    .topic = BUS_JOB,
    .group = GROUP,
    .message = "job.queued",
    .cancel_channel = JOBS_CANCEL_CHANNEL,
};

static const struct queue_kind events = {
    .name = "events",
    .pass = take_events,
    .topic = BUS_EVT,
    .group = GROUP,
};

/* --- life --- */

void work_prepare(void)
{
    queue_prepare(&jobs);
    queue_prepare(&events);
    mails_prepare();
    views_prepare();
    text_indexes_prepare();
}

void work_start(void)
{
    const struct app_conf *conf = runner_conf();
    struct queue_config config = {
        .directory = runner_directory(),
        .bus = runner_bus(),
        .holder = runner_id(),
        .slots = (unsigned)conf->job_slots,
        .slots_per_project = (unsigned)conf->job_slots_per_project,
        .lease_ms = conf->lease_ms,
        .sweep_ms = conf->sweep_ms,
        .attempts = conf->job_attempts,
        .retain_days = conf->job_retention_days,
        .retain_every_ms = RETAIN_EVERY_MS,
        .crashed_only = work_is_isolated(),
    };

    w.jobs = queue_start(&jobs, &config);
    config.slots = PASSES_AT_ONCE;
    config.slots_per_project = 1;
    w.events = queue_start(&events, &config);
    if (!work_is_isolated()) {
        mails_start();
        views_start();
        text_indexes_start();
    }
}

void work_stop_polling(void)
{
    queue_stop_sweeps(w.jobs);
    queue_stop_sweeps(w.events);
    mails_stop_polling();
    views_stop_polling();
    text_indexes_stop_polling();
}

/* Mails are drained last, because steps wait for their mails. */
static struct ending {
    loop_fn done;
    void *arg;
    int64_t last_call_ms;
} ending;

static void on_jobs_drained(void *arg UNUSED)
{
    mails_drain(ending.last_call_ms, ending.done, ending.arg);
}

void work_drain(loop_fn done, void *arg)
{
    int64_t last_call_ms = clock_mono_ms() + runner_conf()->common.drain_timeout_ms - LAST_CALL_MS;

    queue_drain(w.events, last_call_ms, NULL, NULL);
    views_drain(last_call_ms, NULL, NULL);
    text_indexes_drain(last_call_ms);
    ending = (struct ending){done, arg, last_call_ms};
    queue_drain(w.jobs, last_call_ms, on_jobs_drained, NULL);
}

void work_stop(void)
{
    queue_stop(w.events);
    mails_stop();
    views_stop();
    text_indexes_stop();
    queue_stop(w.jobs);
    w.jobs = w.events = NULL;
}
