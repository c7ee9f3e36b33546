/* Makes ready what is due soon. */
#include "ahead.h"

#include "app.h"
#include "background.h"
#include "base/clock.h"
#include "definition_cache.h"
#include "job.h"
#include "log/log.h"
#include "runner_schedule_sql.h"
#include "work.h"

#define AHEAD_MS      30000  /* before the tick */
#define EVERY_MS      5000   /* looked for */
#define READY_MS      200000 /* what was made ready is taken to be so; caches keep it longer */
#define ROUND_MS      20000
#define READY_AT_ONCE 3

static struct {
    struct loop_timer timer;
    size_t index, runners;
    bool stopped;
} s = {.runners = 1};

void ahead_share(size_t index, size_t runners)
{
    s.index = index;
    s.runners = runners;
}

/* --- one project --- */

/* co: versions and rights of the workflows that are due soon. */
AWAITS static int ready_workflows(struct task *task, struct project *project)
{
    struct rows due;

    TRY(db_query(task, &project->db, &SQL_SCHEDULE_LOOK, PARAMS(P_I64(AHEAD_MS)), &due));
    for (size_t i = 0; i < due.count; i++) {
        const struct row workflow = rows_at(&due, i);
        const struct workflow_version *version;
        const struct rights *rights;
        TRY(definition_load(
            task, &project->db, row_i64(&workflow, "id"), row_i64(&workflow, "version"), &version));
        TRY(project_rights(task, project, version->editor_id, version->editor_key_id, &rights));
    }
    return 0;
}

/* co: a tick of nothing, and a write of nothing. */
AWAITS static int ready_statements(struct task *task, struct db *db)
{
    struct db_call calls[1 + LEDGER_CALLS] = {
        {.sql = &SQL_SCHEDULE_TICK,
         PARAMS(P_I64S(NULL, 0),
                P_I64S(NULL, 0),
                P_STRS(NULL, 0),
                P_I64S(NULL, 0),
                P_I64S(NULL, 0),
                P_I64S(NULL, 0),
                P_I64(0),
                P_STR(runner_id()),
                P_I64(0))},
    };

    return db_batch(task, db, calls, 1 + ledger_nothing(task->arena, calls + 1), NULL);
}

AWAITS static int ready_project(struct task *task, int64_t number)
{
    struct project *project;

    TRY(project_find_number(task, runner_directory(), number, &project));
    TRY(ready_workflows(task, project));
    TRY(ready_statements(task, &project->db));
    work_get(number)->ready_ms = clock_mono_ms();
    return 0;
}

/* --- all of them --- */

struct round {
    const struct rows *soon;
    size_t next;
};

static bool is_ready(int64_t number)
{
    const struct work *work = work_find(number);

    return work != NULL && work->ready_ms != 0 && clock_mono_ms() - work->ready_ms < READY_MS;
}

AWAITS static int ready_around(struct task *task, void *arg)
{
    struct round *round = arg;
    struct arena *own = task->arena;

    while (round->next < round->soon->count && !s.stopped) {
        int64_t number = rows_i64(round->soon, round->next++, 0);
        if (is_ready(number))
            continue;
        task->arena = arena_new(0);
        int rc = ready_project(task, number);
        arena_free(task->arena);
        task->arena = own;
        if (rc > 0)
            log_debug("ahead.failed", L_I64("project", number), L_I64("rc", rc));
        if (rc < 0)
            return rc;
    }
    return 0;
}

AWAITS static int look_ahead(struct task *task)
{
    struct task_call calls[READY_AT_ONCE];
    struct rows soon;

    TRY(db_query(task,
                 directory_control(runner_directory()),
                 &SQL_SCHEDULE_SOON,
                 PARAMS(P_I64((int64_t)s.runners), P_I64((int64_t)s.index), P_I64(AHEAD_MS)),
                 &soon));
    struct round round = {.soon = &soon};
    for (size_t i = 0; i < READY_AT_ONCE; i++)
        calls[i] = (struct task_call){.fn = ready_around, .arg = &round};
    return task_all(task, calls, READY_AT_ONCE);
}

/* --- the clock --- */

static void ahead_run(struct task *task, void *arg UNUSED)
{
    int rc = look_ahead(task);

    if (rc > 0)
        log_debug("ahead.look_failed", L_I64("rc", rc));
    if (!s.stopped)
        loop_timer_start(&s.timer, EVERY_MS);
}

static void on_timer(void *arg UNUSED)
{
    background_run(ROUND_MS, ahead_run, NULL);
}

void ahead_start(void)
{
    loop_timer_init(&s.timer, on_timer, NULL);
    loop_timer_start(&s.timer, EVERY_MS);
}

void ahead_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
}
