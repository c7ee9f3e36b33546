/*
 * Deletes old history of this process's share of the projects, concurrently with all other work. A
 * project with much old history delays no other work. Projects are polled for old history in
 * groups, with a pause after each group.
 */
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define FIRST_MS      5000   /* after the start */
#define ROUND_MAX_MS  600000 /* the rest follows in the next round */
#define AT_ONCE       500
#define FEWER         8
#define LOOKS_AT_ONCE 16
#define PAUSE_MAX_MS  50 /* for each project */

static bool retain_is_over(const struct queue *queue)
{
    return queue->stopped;
}

/* co: deletes all old rows that one statement finds in a project. */
AWAITS static int
remove_old(struct task *task, struct queue *queue, struct db *db, const struct sql *sql)
{
    int64_t most = AT_ONCE;
    int64_t removed = 1;

    while (removed > 0 && !retain_is_over(queue)) {
        const struct db_call call = QUEUE_CALL(
            task->arena, sql, {"days", P_I64(queue->config.retain_days)}, {"most", P_I64(most)});
        struct rows rows;
        int rc = queue_query(task, db, call, &rows);
        if (rc == DB_TIMEOUT && most > 1 && sql->arity > 1) {
            most = most > FEWER ? most / FEWER : 1; /* rows have long histories: take fewer */
            continue;
        }
        TRY(rc);
        removed = sql->kind == SQL_ONE ? rows_i64(&rows, 0, 0) : rows.affected;
    }
    return 0;
}

/* --- one project --- */

struct tidy {
    struct queue *queue;
    struct db db;
    bool found;
};

/* Logs a failure, so that the next round tries the project again. Returns only cancels and
 * timeouts. */
static int tidy_left(const struct tidy *tidy, int rc)
{
    if (rc > 0)
        log_debug("queue.retain_failed", L_I64("project", tidy->db.schema), L_RESULT("rc", rc));
    return rc < 0 ? rc : 0;
}

/* co: finds whether the project has old history. */
AWAITS static int tidy_look(struct task *task, void *arg)
{
    struct tidy *tidy = arg;
    const struct queue *queue = tidy->queue;
    struct rows rows;

    const struct db_call call = QUEUE_CALL(task->arena,
                                           queue->kind->old,
                                           {"days", P_I64(queue->config.retain_days)},
                                           {"most", P_I64(AT_ONCE)});
    int rc = queue_query(task, &tidy->db, call, &rows);
    tidy->found = rc == 0 && rows_bool(&rows, 0, 0);
    return tidy_left(tidy, rc);
}

AWAITS static int tidy_project(struct task *task, struct tidy *tidy)
{
    int rc = 0;

    for (const struct sql *const *sql = tidy->queue->kind->retain; rc == 0 && *sql != NULL; sql++)
        rc = remove_old(task, tidy->queue, &tidy->db, *sql);
    return tidy_left(tidy, rc);
}

/* --- all of them --- */

/* co: polls a group of projects concurrently, then deletes what was found one project after the
 * other. */
AWAITS static int tidy_some(struct task *task, struct tidy *tidies, size_t count)
{
    struct task_call calls[LOOKS_AT_ONCE];

    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct task_call){.fn = tidy_look, .arg = &tidies[i]};
        tidies[i].found = true;
    }
    if (count > 0 && tidies[0].queue->kind->old != NULL)
        TRY(task_all(task, calls, count));
    for (size_t i = 0; i < count; i++)
        if (tidies[i].found)
            TRY(tidy_project(task, &tidies[i]));
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
AWAITS static int
tidy_next(struct task *task, struct queue *queue, const struct rows *projects, size_t *next)
{
    struct tidy tidies[LOOKS_AT_ONCE];
    struct arena *own = task->arena;
    size_t count = 0;

    while (*next < projects->count && count < LOOKS_AT_ONCE) {
        tidies[count] = (struct tidy){.queue = queue};
        count += sweep_project(queue, projects, (*next)++, &tidies[count].db);
    }
    task->arena = arena_new(0);
    int rc = tidy_some(task, tidies, count);
    arena_free(task->arena);
    task->arena = own;
    TRY(rc);
    if (*next == projects->count)
        return 0;
    return task_sleep(task, (int64_t)count * pause_ms(queue, projects->count));
}

AWAITS static int tidy_all(struct task *task, struct queue *queue)
{
    struct rows projects;
    size_t next = 0;

    TRY(db_query(task,
                 directory_control(queue->config.directory),
                 queue->kind->projects,
                 NULL,
                 0,
                 &projects));
    while (next < projects.count && !retain_is_over(queue))
        TRY(tidy_next(task, queue, &projects, &next));
    return 0;
}

static void retain_run(struct task *task, void *arg)
{
    struct queue *queue = arg;

    int rc = tidy_all(task, queue);
    if (rc > 0)
        log_debug("queue.retain_round_failed", L_RESULT("rc", rc));
    if (!retain_is_over(queue))
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
        loop_timer_start(&queue->retention, every_ms < FIRST_MS ? every_ms : FIRST_MS);
}
