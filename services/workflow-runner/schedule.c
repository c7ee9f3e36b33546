/* Timed workflows. */
#include "schedule.h"

#include "app.h"
#include "base/clock.h"
#include "base/timezone.h"
#include "begin.h"
#include "job.h"
#include "log/log.h"
#include "loop/background.h"
#include "runner_schedule_sql.h"
#include "tick_prefetch.h"
#include "work.h"
#include "workflow/cron.h"
#include "workflow/definition.h"

#define TICK_LIMIT_MS   20000
#define POLL_MS         1000
#define AFTER_SECOND_MS 5  /* the poll comes this long after the wall clock's second */
#define TICKS_AT_ONCE   6  /* few, because a tick uses the processor and hardly waits */
#define JOBS_PER_TICK   16 /* of one workflow: more than there are minutes in TICK_LATE_MS */

static struct {
    struct loop_timer timer;
    bool stopped;
} s;

/* --- one project --- */

struct fires {
    int64_t *workflows, *times, *skips; /* jobs to make; skips: 1 = skipped as late */
    size_t count;
    int64_t *ids, *versions, *nexts; /* workflows that were due, and their next ticks */
    struct str *seen;                /* next_fire_at of these workflows as it was read */
    size_t moved;                    /* number of these workflows */
};

static void fires_init(struct arena *arena, struct fires *fires, size_t workflows)
{
    *fires = (struct fires){
        .workflows = ARENA_ARRAY(arena, fires->workflows, workflows * JOBS_PER_TICK),
        .times = ARENA_ARRAY(arena, fires->times, workflows * JOBS_PER_TICK),
        .skips = ARENA_ARRAY(arena, fires->skips, workflows * JOBS_PER_TICK),
        .ids = ARENA_ARRAY(arena, fires->ids, workflows),
        .versions = ARENA_ARRAY(arena, fires->versions, workflows),
        .nexts = ARENA_ARRAY(arena, fires->nexts, workflows),
        .seen = ARENA_ARRAY(arena, fires->seen, workflows),
    };
}

/* The last tick up to now of a workflow that has been due since `first`. A binary search, because
 * there may be a tick for every minute of a year. */
static int64_t last_missed_tick(const struct cron *cron,
                                const struct timezone_rules *zone,
                                int64_t first,
                                int64_t now)
{
    int64_t last = first;
    int64_t after = now; /* no tick comes between `after` and `now` */

    while (after > last) {
        int64_t middle = last + (after - last) / 2;
        int64_t fire = cron_next(cron, zone, middle);
        if (fire >= 0 && fire <= now)
            last = fire;
        else
            after = middle;
    }
    return last;
}

static void add_fire(struct fires *fires, int64_t workflow, int64_t time, bool is_skipped)
{
    fires->workflows[fires->count] = workflow;
    fires->times[fires->count] = time;
    fires->skips[fires->count++] = is_skipped;
}

/* Adds the ticks of one workflow from the due one up to now, and the next tick after now. */
static void
add_fires(struct arena *arena, const struct rows *due, size_t index, struct fires *fires)
{
    const struct sql_schedule_read_due_row workflow = sql_schedule_read_due_row(due, index);
    const struct timezone_rules *zone = timezone_find(workflow.timezone);
    int64_t now = workflow.now;
    int64_t fire = workflow.next_fire_at;
    struct str reason;
    struct cron cron;
    unsigned made = 0;

    fires->ids[fires->moved] = workflow.id;
    fires->versions[fires->moved] = workflow.version;
    fires->seen[fires->moved] = workflow.seen;
    fires->nexts[fires->moved++] = -1;
    if (zone == NULL || cron_parse(arena, workflow.cron, &cron, &reason) != 0) {
        log_error("schedule.unreadable", L_I64("workflow", workflow.id));
        return;
    }
    if (fire < now - TICK_LATE_MS) {
        int64_t missed = fire;
        fire = cron_next(&cron, zone, now - TICK_LATE_MS);
        if (fire < 0 || fire > now)
            add_fire(fires,
                     workflow.id,
                     last_missed_tick(&cron, zone, missed, now),
                     workflow.skips_late);
    }
    while (fire >= 0 && fire <= now && made++ < JOBS_PER_TICK) {
        add_fire(fires, workflow.id, fire, false);
        fire = cron_next(&cron, zone, fire);
    }
    fires->nexts[fires->moved - 1] = fire;
}

/* co: Makes the jobs that are due, and starts as many of them here as there are free slots.
 * *ret_rows: the rows of schedule_tick. */
AWAITS static int schedule_make_jobs(struct task *task,
                                     struct db *db,
                                     const struct fires *fires,
                                     struct rows *ret_rows)
{
    unsigned reserved = queue_slots_reserve(work_jobs(), db->schema, (unsigned)fires->count);
    int64_t sent_ms = clock_mono_ms();

    int rc = db_query(task,
                      db,
                      SQL_SCHEDULE_TICK(.ids = sql_i64s(fires->ids, fires->moved),
                                        .versions = sql_i64s(fires->versions, fires->moved),
                                        .seen = sql_strs(fires->seen, fires->moved),
                                        .nexts = sql_i64s(fires->nexts, fires->moved),
                                        .fire_ids = sql_i64s(fires->workflows, fires->count),
                                        .fires = sql_i64s(fires->times, fires->count),
                                        .skips = sql_i64s(fires->skips, fires->count),
                                        .room = reserved,
                                        .holder = runner_id(),
                                        .lease_ms = runner_conf()->lease_ms,
                                        .queued_max = runner_conf()->common.queued_jobs),
                      ret_rows);
    tick_prefetch_mark_ticked(db->schema);
    queue_items_adopt(
        task, work_jobs(), db, reserved, rc == 0 ? ret_rows : NULL, sent_ms, begin_enqueue);
    return rc;
}

/* co: Makes the due jobs of a project. *ret_next is the project's next tick, 0 = none, -1 = not all
 * jobs could be made, so the next poll must try again. */
AWAITS static int tick_project(struct task *task, struct db *db, int64_t *ret_next)
{
    struct arena *arena = task->arena;
    struct fires fires = {0};
    struct rows rows;
    struct rows due;

    TRY(db_query(task, db, SQL_SCHEDULE_READ_DUE(.ahead_ms = 0), &due));
    if (due.count == 0) {
        TRY(db_query(task, db, SQL_SCHEDULE_MIN(), &rows));
        *ret_next = sql_schedule_min_row(&rows, 0).next_fire_at;
        return 0;
    }
    fires_init(arena, &fires, due.count);
    for (size_t i = 0; i < due.count; i++)
        add_fires(arena, &due, i, &fires);
    TRY(schedule_make_jobs(task, db, &fires, &rows));
    const struct sql_schedule_tick_row outcome = sql_schedule_tick_row(&rows, 0);
    work_stats()->ticks += (uint64_t)outcome.made;
    if (outcome.queued > 0)
        queue_project_due(work_jobs(), db->schema);
    *ret_next = -1;
    if (outcome.moved == (int64_t)fires.moved)
        *ret_next = outcome.next_fire_at;
    return 0;
}

/* --- all due projects --- */

struct round {
    const struct rows *due;
    size_t next;
    int64_t *numbers, *nexts, *seen; /* projects that ticked, their next ticks, and the xmin of
                                        their rows in platform.workflow_projects before the tick */
    size_t done;
};

/* co: Ticks one project, with an arena of its own. */
AWAITS static int tick_next_project(struct task *task, struct round *round, size_t index)
{
    const struct sql_schedule_due_row project = sql_schedule_due_row(round->due, index);
    struct db_server *server = directory_server(runner_directory(), project.server);
    struct db db = {.server = server, .schema = project.number};
    struct arena *own = task->arena;
    int64_t next = -1;

    task->arena = arena_new(0);
    int rc = server && db_server_up(server) ? tick_project(task, &db, &next) : DB_UNAVAILABLE;
    arena_free(task->arena);
    task->arena = own;
    if (rc > 0)
        log_warn("schedule.failed", L_I64("project", db.schema), L_RESULT("rc", rc));
    if (rc != 0 || next < 0)
        return rc < 0 ? rc : 0;
    round->numbers[round->done] = db.schema;
    round->seen[round->done] = project.seen;
    round->nexts[round->done++] = next;
    return 0;
}

AWAITS static int tick_worker(struct task *task, void *arg)
{
    struct round *round = arg;

    while (round->next < round->due->count && !s.stopped) {
        int rc = tick_next_project(task, round, round->next++);
        if (round->next == round->due->count)
            begin_hold(false);
        TRY(rc);
    }
    return 0;
}

AWAITS static int tick_due_projects(struct task *task)
{
    struct db *control = directory_control(runner_directory());
    const struct queue_share share = queue_share(work_jobs());
    struct rows due;

    TRY(db_query(task,
                 control,
                 SQL_SCHEDULE_DUE(.count = (int64_t)share.count, .index = (int64_t)share.index),
                 &due));
    if (due.count == 0)
        return 0;
    struct round round = {
        .due = &due,
        .numbers = ARENA_ARRAY(task->arena, round.numbers, due.count),
        .nexts = ARENA_ARRAY(task->arena, round.nexts, due.count),
        .seen = ARENA_ARRAY(task->arena, round.seen, due.count),
    };
    size_t count = due.count < TICKS_AT_ONCE ? due.count : TICKS_AT_ONCE;
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, count);
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct task_call){.fn = tick_worker, .arg = &round};
    begin_hold(true);
    int rc = task_all(task, calls, count);
    begin_hold(false);
    TRY(rc);
    return db_query(task,
                    control,
                    SQL_SCHEDULE_HINTS(.numbers = sql_i64s(round.numbers, round.done),
                                       .fires = sql_i64s(round.nexts, round.done),
                                       .seen = sql_i64s(round.seen, round.done)),
                    NULL);
}

static void schedule_start_timer(void)
{
    int64_t into_second = clock_wall_ms() % POLL_MS;

    loop_timer_start(&s.timer, POLL_MS - into_second + AFTER_SECOND_MS);
}

static void tick_run(struct task *task, void *arg UNUSED)
{
    int rc = tick_due_projects(task);

    if (rc > 0)
        log_debug("schedule.poll_failed", L_RESULT("rc", rc));
    if (!s.stopped)
        schedule_start_timer();
}

static void schedule_on_timer(void *arg UNUSED)
{
    background_run(TICK_LIMIT_MS, tick_run, NULL);
}

void schedule_start(void)
{
    loop_timer_init(&s.timer, schedule_on_timer, NULL);
    schedule_start_timer();
    tick_prefetch_start();
}

void schedule_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
    tick_prefetch_stop();
}
