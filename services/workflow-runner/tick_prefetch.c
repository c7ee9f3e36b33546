/* Prepares projects whose ticks are due soon. */
#include "tick_prefetch.h"

#include "app.h"
#include "base/clock.h"
#include "definition_cache.h"
#include "job.h"
#include "ledger.h"
#include "log/log.h"
#include "loop/background.h"
#include "queue/turns.h"
#include "runner_schedule_sql.h"
#include "work.h"

#define READY_EVERY_MS 5000
#define READY_AHEAD_MS 60000 /* how long before the tick a project is prepared */
#define READY_MS       200000 /* how long a project counts as prepared; caches keep its data longer */
#define FRESH_EVERY_MS 1000
#define FRESH_AHEAD_MS 3500 /* cached rights are read again after five seconds (project_rights) */
#define FIRST_POLL_MS  1000 /* the first poll comes this long after the start */
#define ROUND_MS       20000
#define AT_ONCE        6

/* A kind of preparation: every `every_ms`, calls .make for projects whose tick is due within
 * `within_ms` and for which .wanted is true. */
struct prefetch_kind {
    int64_t every_ms, within_ms;
    bool (*wanted)(int64_t number, int64_t fire_ms);
    int (*make)(struct task *task, int64_t number, int64_t fire_ms); /* AWAITS */
    struct loop_timer timer;
};

/* The state of a project with ticks, in this process. */
struct prefetch_state {
    int64_t fresh_for_ms; /* wall: the tick for which the editors' rights were last read */
    int64_t ready_ms;     /* mono: when the project last ticked or was prepared */
};

static struct turns projects;
static bool stopped;

static void ready_init(void *item UNUSED, int64_t number UNUSED, void *arg UNUSED)
{
}

static bool is_ready(const struct prefetch_state *ready)
{
    return ready->ready_ms != 0 && clock_mono_ms() - ready->ready_ms <= READY_MS;
}

static bool is_idle(const void *item)
{
    return !is_ready(item);
}

static struct prefetch_state *ready_get(int64_t number)
{
    return turns_get(&projects, number);
}

void tick_prefetch_mark_ticked(int64_t number)
{
    ready_get(number)->ready_ms = clock_mono_ms();
}

/* --- one project --- */

/* co: Reads versions and editors' rights of the workflows that are due soon into the caches. */
AWAITS static int read_workflows(struct task *task, struct project *project, int64_t prefetch_ms)
{
    struct rows due;

    TRY(db_query(task, &project->db, SQL_SCHEDULE_READ_DUE(.ahead_ms = prefetch_ms), &due));
    for (size_t i = 0; i < due.count; i++) {
        const struct sql_schedule_read_due_row workflow = sql_schedule_read_due_row(&due, i);
        const struct workflow_version *version;
        const struct rights *rights;
        TRY(definition_load(task, &project->db, workflow.id, workflow.version, &version));
        TRY(project_rights(task, project, version->editor_id, version->editor_key_id, &rights));
    }
    return 0;
}

/* co: Runs the statements of a tick and of a write without a row. */
AWAITS static int ready_statements(struct task *task, struct db *db)
{
    struct db_call calls[1 + LEDGER_CALLS] = {
        db_call(SQL_SCHEDULE_TICK(.ids = sql_i64s(NULL, 0),
                                  .versions = sql_i64s(NULL, 0),
                                  .seen = sql_strs(NULL, 0),
                                  .nexts = sql_i64s(NULL, 0),
                                  .fire_ids = sql_i64s(NULL, 0),
                                  .fires = sql_i64s(NULL, 0),
                                  .skips = sql_i64s(NULL, 0),
                                  .room = 0,
                                  .holder = runner_id(),
                                  .lease_ms = 0,
                                  .queued_max = 1)),
    };

    return db_batch(task, db, calls, 1 + ledger_prepare_calls(task->arena, calls + 1), NULL);
}

AWAITS static int tick_prefetch_all(struct task *task, int64_t number, int64_t fire_ms UNUSED)
{
    struct project *project;

    TRY(project_find_number(task, runner_directory(), number, &project));
    TRY(read_workflows(task, project, READY_AHEAD_MS));
    TRY(ready_statements(task, &project->db));
    ready_get(number)->ready_ms = clock_mono_ms();
    return 0;
}

static bool needs_tick_prefetch(int64_t number, int64_t fire_ms UNUSED)
{
    const struct prefetch_state *ready = turns_find(&projects, number);

    return ready == NULL || !is_ready(ready);
}

AWAITS static int tick_prefetch_rights(struct task *task, int64_t number, int64_t fire_ms)
{
    struct project *project;

    TRY(project_find_number(task, runner_directory(), number, &project));
    TRY(read_workflows(task, project, FRESH_AHEAD_MS));
    ready_get(number)->fresh_for_ms = fire_ms;
    return 0;
}

static bool needs_rights_prefetch(int64_t number, int64_t fire_ms)
{
    const struct prefetch_state *ready = turns_find(&projects, number);

    return ready == NULL || ready->fresh_for_ms != fire_ms;
}

static struct prefetch_kind kinds[] = {
    {.every_ms = READY_EVERY_MS,
     .within_ms = READY_AHEAD_MS,
     .wanted = needs_tick_prefetch,
     .make = tick_prefetch_all},
    {.every_ms = FRESH_EVERY_MS,
     .within_ms = FRESH_AHEAD_MS,
     .wanted = needs_rights_prefetch,
     .make = tick_prefetch_rights},
};

/* --- all projects --- */

struct round {
    const struct prefetch_kind *kind;
    const struct rows *soon;
    size_t next;
};

AWAITS static int tick_prefetch_project(struct task *task, const struct round *round, size_t index)
{
    const struct sql_schedule_soon_row soon = sql_schedule_soon_row(round->soon, index);
    const struct prefetch_kind *kind = round->kind;
    int64_t number = soon.number;
    int64_t fire_ms = soon.next_fire_at;
    struct arena *own = task->arena;

    if (!kind->wanted(number, fire_ms))
        return 0;
    task->arena = arena_new(0);
    int rc = kind->make(task, number, fire_ms);
    arena_free(task->arena);
    task->arena = own;
    if (rc > 0)
        log_debug("ahead.failed", L_I64("project", number), L_RESULT("rc", rc));
    return rc < 0 ? rc : 0;
}

AWAITS static int tick_prefetch_worker(struct task *task, void *arg)
{
    struct round *round = arg;

    while (round->next < round->soon->count && !stopped)
        TRY(tick_prefetch_project(task, round, round->next++));
    return 0;
}

AWAITS static int tick_prefetch_poll(struct task *task, const struct prefetch_kind *kind)
{
    const struct queue_share share = queue_share(work_jobs());
    struct task_call calls[AT_ONCE];
    struct rows soon;

    TRY(db_query(task,
                 directory_control(runner_directory()),
                 SQL_SCHEDULE_SOON(.count = (int64_t)share.count,
                                   .index = (int64_t)share.index,
                                   .ahead_ms = kind->within_ms),
                 &soon));
    struct round round = {.kind = kind, .soon = &soon};
    for (size_t i = 0; i < AT_ONCE; i++)
        calls[i] = (struct task_call){.fn = tick_prefetch_worker, .arg = &round};
    return task_all(task, calls, AT_ONCE);
}

/* --- timers --- */

static void tick_prefetch_run(struct task *task, void *arg)
{
    struct prefetch_kind *kind = arg;

    int rc = tick_prefetch_poll(task, kind);
    if (rc > 0)
        log_debug("ahead.poll_failed", L_RESULT("rc", rc));
    if (!stopped)
        loop_timer_start(&kind->timer, kind->every_ms);
}

static void tick_prefetch_on_timer(void *arg)
{
    background_run(ROUND_MS, tick_prefetch_run, arg);
}

void tick_prefetch_start(void)
{
    projects = (struct turns){
        .size = sizeof(struct prefetch_state), .init = ready_init, .is_idle = is_idle};
    turns_start(&projects);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        loop_timer_init(&kinds[i].timer, tick_prefetch_on_timer, &kinds[i]);
        loop_timer_start(&kinds[i].timer, FIRST_POLL_MS);
    }
}

void tick_prefetch_stop(void)
{
    stopped = true;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        loop_timer_stop(&kinds[i].timer);
}

void tick_prefetch_end(void)
{
    turns_stop(&projects);
}
