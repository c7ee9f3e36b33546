/*
 * Deletes old history of this process's share of the projects, concurrently with all other work. A
 * project with much old history delays no other work. Projects are polled for old history in
 * groups, with a pause after each group.
 */
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define FIRST_ROUND_MS   5000   /* at most this long after the start the first round begins */
#define ROUND_MAX_MS     600000 /* time limit of a round; the next round continues */
#define ROWS_AT_ONCE     500
#define ROWS_DIVISOR     8
#define PROJECTS_AT_ONCE 16
#define PAUSE_MAX_MS     50 /* for each project */

static bool retention_is_stopped(const struct queue *queue)
{
    return queue->sweeps_stopped;
}

/* co: deletes all old rows that one statement finds in a project. */
AWAITS static int
rows_remove_old(struct task *task, struct queue *queue, struct db *db, const struct sql *sql)
{
    int64_t most = ROWS_AT_ONCE;
    int64_t removed = 1;

    while (removed > 0 && !retention_is_stopped(queue)) {
        const struct db_call call = QUEUE_CALL(
            task->arena, sql, {"days", P_I64(queue->config.retain_days)}, {"most", P_I64(most)});
        struct rows rows;
        int rc = queue_query(task, db, call, &rows);
        if (rc == DB_TIMEOUT && most > 1 && sql->arity > 1) {
            most = most > ROWS_DIVISOR ? most / ROWS_DIVISOR
                                       : 1; /* rows have long histories: take fewer */
            continue;
        }
        TRY(rc);
        removed = sql->kind == SQL_ONE ? rows_i64(&rows, 0, 0) : rows.affected;
    }
    return 0;
}

/* --- one project --- */

struct retention_project {
    struct queue *queue;
    struct db db;
    bool found;
};

/* Logs a failure, so that the next round tries the project again. Returns only cancels and
 * timeouts. */
static int retention_result(const struct retention_project *tidy, int rc)
{
    if (rc > 0)
        log_debug("queue.retain_failed", L_I64("project", tidy->db.schema), L_RESULT("rc", rc));
    return rc < 0 ? rc : 0;
}

/* co: finds whether the project has old history. */
AWAITS static int retention_poll(struct task *task, void *arg)
{
    struct retention_project *tidy = arg;
    const struct queue *queue = tidy->queue;
    struct rows rows;

    const struct db_call call = QUEUE_CALL(task->arena,
                                           queue->kind->has_old,
                                           {"days", P_I64(queue->config.retain_days)},
                                           {"most", P_I64(ROWS_AT_ONCE)});
    int rc = queue_query(task, &tidy->db, call, &rows);
    tidy->found = rc == 0 && rows_bool(&rows, 0, 0);
    return retention_result(tidy, rc);
}

AWAITS static int retention_delete(struct task *task, struct retention_project *tidy)
{
    int rc = 0;

    for (const struct sql *const *sql = tidy->queue->kind->retain; rc == 0 && *sql != NULL; sql++)
        rc = rows_remove_old(task, tidy->queue, &tidy->db, *sql);
    return retention_result(tidy, rc);
}

/* --- all of them --- */

/* co: polls a group of projects concurrently, then deletes what was found one project after the
 * other. */
AWAITS static int
retention_run_group(struct task *task, struct retention_project *tidies, size_t count)
{
    struct task_call calls[PROJECTS_AT_ONCE];

    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct task_call){.fn = retention_poll, .arg = &tidies[i]};
        tidies[i].found = true;
    }
    if (count > 0 && tidies[0].queue->kind->has_old != NULL)
        TRY(task_all(task, calls, count));
    for (size_t i = 0; i < count; i++)
        if (tidies[i].found)
            TRY(retention_delete(task, &tidies[i]));
    return 0;
}

/* All pauses of a round take at most half of its time. */
static int64_t pause_ms(const struct queue *queue, size_t projects)
{
    int64_t every_ms = queue->config.retain_every_ms;
    int64_t round_ms = every_ms < ROUND_MAX_MS ? every_ms : ROUND_MAX_MS;
    int64_t own_ms = round_ms / 2 / (int64_t)(projects / queue->share.count + 1);

    return own_ms < PAUSE_MAX_MS ? own_ms : PAUSE_MAX_MS;
}

/* co: handles the next group of this process's projects in an arena of its own, and then pauses. */
AWAITS static int retention_next_group(struct task *task,
                                       struct queue *queue,
                                       const struct rows *projects,
                                       size_t *next)
{
    struct retention_project tidies[PROJECTS_AT_ONCE];
    struct arena *own = task->arena;
    size_t count = 0;

    while (*next < projects->count && count < PROJECTS_AT_ONCE) {
        tidies[count] = (struct retention_project){.queue = queue};
        count += sweep_project(queue, projects, (*next)++, &tidies[count].db);
    }
    task->arena = arena_new(0);
    int rc = retention_run_group(task, tidies, count);
    arena_free(task->arena);
    task->arena = own;
    TRY(rc);
    if (*next == projects->count)
        return 0;
    return task_sleep(task, (int64_t)count * pause_ms(queue, projects->count));
}

AWAITS static int retention_run_all(struct task *task, struct queue *queue)
{
    struct rows projects;
    size_t next = 0;

    TRY(db_query(task,
                 directory_control(queue->config.directory),
                 queue->kind->projects,
                 NULL,
                 0,
                 &projects));
    while (next < projects.count && !retention_is_stopped(queue))
        TRY(retention_next_group(task, queue, &projects, &next));
    return 0;
}

static void retain_run(struct task *task, void *arg)
{
    struct queue *queue = arg;

    int rc = retention_run_all(task, queue);
    if (rc > 0)
        log_debug("queue.retain_round_failed", L_RESULT("rc", rc));
    if (!retention_is_stopped(queue))
        loop_timer_start(&queue->retention, queue->config.retain_every_ms);
}

static void on_retention(void *arg)
{
    background_run(ROUND_MAX_MS, retain_run, arg);
}

void retain_start(struct queue *queue)
{
    int64_t every_ms = queue->config.retain_every_ms;

    loop_timer_init(&queue->retention, on_retention, queue);
    if (queue->kind->retain != NULL && !queue->config.crashed_only)
        loop_timer_start(&queue->retention, every_ms < FIRST_ROUND_MS ? every_ms : FIRST_ROUND_MS);
}
