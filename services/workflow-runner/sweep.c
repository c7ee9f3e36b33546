/* What runners find without a bell. */
#include "sweep.h"

#include "app.h"
#include "aside.h"
#include "base/panic.h"
#include "bus/bus.h"
#include "log/log.h"
#include "loop/background.h"
#include "runner_sweep_sql.h"
#include "schedule.h"
#include "work.h"
#include "workflow/jobs.h"
#include "workflow_stops_sql.h"

#define LOOKS_AT_ONCE  32
#define SWEEP_LIMIT_MS 20000
#define STOPS_AT_ONCE  20  /* batches a sweep */
#define NO_BELLS_MS    500 /* between sweeps while Redis is away */

static struct {
    struct loop_timer timer;
    size_t index, runners; /* this runner among the live ones */
    bool running, stopped;
} s = {.runners = 1};

bool sweep_mine(int64_t number)
{
    return (size_t)number % s.runners == s.index;
}

/* --- who else lives --- */

AWAITS static int meet_runners(struct task *task)
{
    struct db_call calls[] = {
        {.sql = &SQL_RUNNER_ALIVE, PARAMS(P_STR(runner_id()))},
        {.sql = &SQL_RUNNERS_LIVE},
        {.sql = &SQL_RUNNERS_FORGET},
    };

    TRY(db_batch(task, directory_control(runner_directory()), calls, ARRAY_LEN(calls), NULL));
    const struct rows *live = &calls[1].rows;
    s.index = 0;
    s.runners = live->count > 0 ? live->count : 1;
    for (size_t i = 0; i < live->count; i++) {
        if (str_eq(rows_str(live, i, 0), runner_id()))
            s.index = i;
    }
    schedule_share(s.index, s.runners);
    return 0;
}

/* --- one project --- */

struct look {
    const struct rows *projects;
    size_t *next; /* shared by the tasks of one sweep */
};

/* co: of the runners that hold ended leases, those that never had two jobs at a time. */
AWAITS static int runners_alone(struct task *task, struct db *db, struct db_param *ret_alone)
{
    struct rows silent;
    struct rows alone;
    struct str *names;

    TRY(db_query(task, db, &SQL_SWEEP_SILENT, NULL, 0, &silent));
    names = ARENA_ARRAY(task->arena, names, silent.count);
    for (size_t i = 0; i < silent.count; i++)
        names[i] = rows_str(&silent, i, 0);
    TRY(db_query(task,
                 directory_control(runner_directory()),
                 &SQL_RUNNERS_ALONE,
                 PARAMS(P_STRS(names, silent.count)),
                 &alone));
    for (size_t i = 0; i < alone.count; i++)
        names[i] = rows_str(&alone, i, 0);
    *ret_alone = P_STRS(names, alone.count);
    return 0;
}

AWAITS static void rescue(struct task *task, struct db *db)
{
    struct db_param alone;
    struct rows rows;

    if (runners_alone(task, db, &alone) != 0)
        return;
    const struct db_param params[] = {P_I64(runner_conf()->job_attempts), alone};
    if (db_query(task, db, &SQL_SWEEP_RESCUE, params, ARRAY_LEN(params), &rows) != 0)
        return;
    for (size_t i = 0; i < rows.count; i++) {
        const struct row row = rows_at(&rows, i);
        bool quarantined = row_bool(&row, "quarantined");
        log_warn(quarantined ? "job.quarantined" : "job.rescued",
                 L_I64("project", db->schema),
                 L_I64("job", row_i64(&row, "id")),
                 L_I64("attempt", row_i64(&row, "attempt")));
        work_stats()->rescued++;
        if (quarantined)
            work_stats()->quarantined++;
    }
    if (rows.count > 0 && aside_tell(task, db->schema) != 0)
        log_debug("sweep.suspects_untold", L_I64("project", db->schema));
}

/* co: one batch of a workflow that is deleted or disabled; *ret_count tells how many jobs it ended.
 */
AWAITS static int stop_batch(
    struct task *task, struct project *project, int64_t workflow, bool deleted, size_t *ret_count)
{
    struct rows queued;
    struct rows running = {0};

    TRY(db_query(
        task, &project->db, &SQL_STOP_QUEUED, PARAMS(P_I64(workflow), P_BOOL(deleted)), &queued));
    if (deleted)
        TRY(db_query(task, &project->db, &SQL_STOP_RUNNING, PARAMS(P_I64(workflow)), &running));
    for (size_t i = 0; i < running.count; i++)
        jobs_cancel_hint(runner_directory(), project, rows_i64(&running, i, 0));
    *ret_count = queued.count + running.count;
    return 0;
}

/* co: what workflows that are deleted or disabled have in the queue ends, some at a time. */
AWAITS static int stop_workflows(struct task *task, int64_t number)
{
    struct project *project;
    struct rows marks;
    int batches = 0;

    TRY(project_find_number(task, runner_directory(), number, &project));
    TRY(db_query(task, &project->db, &SQL_STOP_MARKS, NULL, 0, &marks));
    for (size_t i = 0; i < marks.count; i++) {
        const struct row mark = rows_at(&marks, i);
        int64_t workflow = row_i64(&mark, "workflow_id");
        size_t count = 1;
        while (count > 0 && batches++ < STOPS_AT_ONCE)
            TRY(stop_batch(task, project, workflow, row_bool(&mark, "deleted"), &count));
        if (count > 0)
            break;
        TRY(db_query(task, &project->db, &SQL_STOP_DONE, PARAMS(P_I64(workflow)), NULL));
    }
    return 0;
}

/* A save that raced a tick, or a gateway that died before it told: the project's own rows are
 * right. */
AWAITS static void
correct_fire_hint(struct task *task, const struct row *project, int64_t wanted_ms)
{
    int64_t number = row_i64(project, "number");

    if (row_time(project, "next_fire_at") == wanted_ms)
        return;
    int rc = db_query(task,
                      directory_control(runner_directory()),
                      &SQL_SWEEP_FIRE_HINT,
                      PARAMS(P_I64(number),
                             wanted_ms ? P_TIME(wanted_ms) : P_NULL,
                             P_I64(row_i64(project, "seen"))),
                      NULL);
    if (rc > 0)
        log_debug("sweep.hint_failed", L_I64("project", number));
}

AWAITS static int look_at(struct task *task, const struct row *project)
{
    struct db_server *server = directory_server(runner_directory(), row_str(project, "server"));
    int64_t number = row_i64(project, "number");
    struct db db = {.server = server, .schema = number};
    struct rows rows;

    if (server == NULL || !db_server_up(server) || !sweep_mine(number))
        return 0;
    TRY(db_query(task, &db, &SQL_SWEEP_LOOK, NULL, 0, &rows));
    const struct row found = rows_at(&rows, 0);
    if (row_bool(&found, "events"))
        work_events_due(number);
    if (row_bool(&found, "jobs"))
        work_jobs_due(number);
    if (row_bool(&found, "suspects"))
        TRY(aside_tell(task, number));
    if (row_bool(&found, "ended"))
        rescue(task, &db);
    if (row_bool(&found, "stops")) {
        int rc = stop_workflows(task, number);
        if (rc != 0)
            log_debug("sweep.stops_failed", L_I64("project", number), L_I64("rc", rc));
    }
    correct_fire_hint(task, project, row_time(&found, "next_fire_at"));
    return 0;
}

/* One of several tasks that share the list. A project that cannot be asked does not keep the others
 * waiting. */
AWAITS static int look_around(struct task *task, void *arg)
{
    struct look *look = arg;

    while (*look->next < look->projects->count && !s.stopped) {
        const struct row project = rows_at(look->projects, (*look->next)++);
        int rc = look_at(task, &project);
        if (rc < 0)
            return rc;
    }
    return 0;
}

AWAITS static int sweep_once(struct task *task)
{
    struct rows projects;
    size_t next = 0;

    TRY(meet_runners(task));
    TRY(db_query(
        task, directory_control(runner_directory()), &SQL_SWEEP_PROJECTS, NULL, 0, &projects));
    struct look look = {.projects = &projects, .next = &next};
    size_t count = projects.count < LOOKS_AT_ONCE ? projects.count : LOOKS_AT_ONCE;
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, count);
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct task_call){.fn = look_around, .arg = &look};
    return count ? task_all(task, calls, count) : 0;
}

/* --- the clock --- */

static void sweep_run(struct task *task, void *arg UNUSED)
{
    int64_t period = bus_up(runner_bus()) ? runner_conf()->sweep_ms : NO_BELLS_MS;

    int rc = sweep_once(task);
    if (rc > 0)
        log_debug("sweep.failed", L_I64("rc", rc));
    s.running = false;
    if (period > runner_conf()->sweep_ms)
        period = runner_conf()->sweep_ms;
    if (!s.stopped)
        loop_timer_start(&s.timer, period);
}

static void on_timer(void *arg UNUSED)
{
    s.running = true;
    background_run(SWEEP_LIMIT_MS, sweep_run, NULL);
}

void sweep_start(void)
{
    loop_timer_init(&s.timer, on_timer, NULL);
    loop_timer_start(&s.timer, 0);
}

static void leave(struct task *task, void *arg UNUSED)
{
    int rc = db_query(task,
                      directory_control(runner_directory()),
                      &SQL_RUNNER_GONE,
                      PARAMS(P_STR(runner_id())),
                      NULL);

    if (rc > 0)
        log_debug("sweep.leave_failed", L_I64("rc", rc));
}

void sweep_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
    background_run(1000, leave, NULL);
}
