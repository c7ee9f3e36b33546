/* Timed workflows. */
#include "schedule.h"

#include "app.h"
#include "background.h"
#include "base/clock.h"
#include "log/log.h"
#include "runner_schedule_sql.h"
#include "work.h"
#include "workflow/cron.h"

#define TICK_LIMIT_MS   20000
#define POLL_MS         1000
#define AFTER_SECOND_MS 5      /* the poll comes this long after the wall clock's second */
#define MISSED_MS       300000 /* older ticks are passed over */
#define TICKS_AT_ONCE   32
#define JOBS_PER_TICK   16 /* of one workflow: five minutes and a bit */

static struct {
    struct loop_timer timer;
    size_t index, runners;
    bool stopped;
} s = {.runners = 1};

void schedule_share(size_t index, size_t runners)
{
    s.index = index;
    s.runners = runners;
}

/* --- one project --- */

struct fires {
    int64_t *workflows, *versions, *times; /* jobs to make */
    size_t count;
    int64_t *ids, *nexts; /* workflows to move on */
    size_t moved;
};

/* The ticks of one workflow from its due one up to now, and the next one after. */
static void add_fires(struct arena *arena, const struct row *workflow, struct fires *fires)
{
    int64_t id = row_i64(workflow, "id");
    int64_t now = row_time(workflow, "now");
    int64_t fire = row_time(workflow, "next_fire_at");
    const struct timezone_rules *zone = timezone_find(row_str(workflow, "timezone"));
    struct str reason;
    struct cron cron;
    unsigned made = 0;

    fires->ids[fires->moved] = id;
    fires->nexts[fires->moved++] = -1;
    if (zone == NULL || cron_parse(arena, row_str(workflow, "cron"), &cron, &reason) != 0) {
        log_error("schedule.unreadable", L_I64("workflow", id));
        return;
    }
    if (fire < now - MISSED_MS)
        fire = cron_next(&cron, zone, now - MISSED_MS);
    while (fire >= 0 && fire <= now && made++ < JOBS_PER_TICK) {
        fires->workflows[fires->count] = id;
        fires->versions[fires->count] = row_i64(workflow, "version");
        fires->times[fires->count++] = fire;
        fire = cron_next(&cron, zone, fire);
    }
    fires->nexts[fires->moved - 1] = fire;
}

/* co: makes the jobs that are due; *ret_next is the project's next tick, 0 = none. */
AWAITS static int tick_project(struct task *task, struct db *db, int64_t *ret_next)
{
    struct arena *arena = task->arena;
    struct fires fires = {0};
    struct rows due;
    struct db *tx;

    TRY(db_begin(task, db, &tx));
    TRY(db_query(task, tx, &SQL_SCHEDULE_CLAIM, NULL, 0, &due));
    fires.workflows = ARENA_ARRAY(arena, fires.workflows, due.count * JOBS_PER_TICK);
    fires.versions = ARENA_ARRAY(arena, fires.versions, due.count * JOBS_PER_TICK);
    fires.times = ARENA_ARRAY(arena, fires.times, due.count * JOBS_PER_TICK);
    fires.ids = ARENA_ARRAY(arena, fires.ids, due.count);
    fires.nexts = ARENA_ARRAY(arena, fires.nexts, due.count);
    for (size_t i = 0; i < due.count; i++) {
        const struct row workflow = rows_at(&due, i);
        add_fires(arena, &workflow, &fires);
    }
    struct db_call calls[] = {
        {.sql = &SQL_SCHEDULE_MAKE_JOBS,
         PARAMS(P_I64S(fires.workflows, fires.count),
                P_I64S(fires.versions, fires.count),
                P_I64S(fires.times, fires.count))},
        {.sql = &SQL_SCHEDULE_NEXT,
         PARAMS(P_I64S(fires.ids, fires.moved), P_I64S(fires.nexts, fires.moved))},
        {.sql = &SQL_SCHEDULE_MIN},
    };
    TRY(db_batch_commit(task, tx, calls, ARRAY_LEN(calls), NULL));
    *ret_next = rows_time(&calls[2].rows, 0, 0);
    work_stats()->ticks += (uint64_t)calls[0].rows.affected;
    if (calls[0].rows.affected > 0)
        work_jobs_due(db->schema);
    return 0;
}

/* --- all that are due --- */

struct round {
    const struct rows *due;
    size_t next;
    int64_t *numbers, *nexts, *seen; /* projects that ticked; seen: their rows before */
    size_t done;
};

AWAITS static int tick_around(struct task *task, void *arg)
{
    struct round *round = arg;

    while (round->next < round->due->count && !s.stopped) {
        const struct row project = rows_at(round->due, round->next++);
        struct db_server *server =
            directory_server(runner_directory(), row_str(&project, "server"));
        struct db db = {.server = server, .schema = row_i64(&project, "number")};
        int64_t next = 0;
        int rc = server ? tick_project(task, &db, &next) : DB_UNAVAILABLE;
        if (rc < 0)
            return rc;
        if (rc > 0) {
            log_warn("schedule.failed", L_I64("project", db.schema), L_I64("rc", rc));
            continue;
        }
        round->numbers[round->done] = db.schema;
        round->seen[round->done] = row_i64(&project, "seen");
        round->nexts[round->done++] = next;
    }
    return 0;
}

AWAITS static int tick(struct task *task)
{
    struct db *control = directory_control(runner_directory());
    struct rows due;

    TRY(db_query(task,
                 control,
                 &SQL_SCHEDULE_DUE,
                 PARAMS(P_I64((int64_t)s.runners), P_I64((int64_t)s.index)),
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
        calls[i] = (struct task_call){.fn = tick_around, .arg = &round};
    TRY(task_all(task, calls, count));
    return db_query(task,
                    control,
                    &SQL_SCHEDULE_HINTS,
                    PARAMS(P_I64S(round.numbers, round.done),
                           P_I64S(round.nexts, round.done),
                           P_I64S(round.seen, round.done)),
                    NULL);
}

static void arm(void)
{
    int64_t into_second = clock_wall_ms() % POLL_MS;

    loop_timer_start(&s.timer, POLL_MS - into_second + AFTER_SECOND_MS);
}

static void tick_run(struct task *task, void *arg UNUSED)
{
    int rc = tick(task);

    if (rc > 0)
        log_debug("schedule.poll_failed", L_I64("rc", rc));
    if (!s.stopped)
        arm();
}

static void on_timer(void *arg UNUSED)
{
    background_run(TICK_LIMIT_MS, tick_run, NULL);
}

void schedule_start(void)
{
    loop_timer_init(&s.timer, on_timer, NULL);
    arm();
}

void schedule_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
}
