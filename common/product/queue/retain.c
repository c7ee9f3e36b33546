/*
 * Old history goes, of this process's share of the projects, beside everything else: a project with
 * much of it keeps nobody waiting.
 */
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define FIRST_MS     5000   /* after the start */
#define ROUND_MAX_MS 600000 /* what is left then goes in the next round */
#define AT_ONCE      500
#define FEWER        8

static bool retain_is_over(const struct queue *queue)
{
    return queue->stopped;
}

/* co: all that one statement removes of a project. */
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
            most = most > FEWER ? most / FEWER : 1; /* long histories: fewer at a time */
            continue;
        }
        TRY(rc);
        removed = sql->kind == SQL_ONE ? rows_i64(&rows, 0, 0) : rows.affected;
    }
    return 0;
}

/* co: one project, with memory of its own. A project that cannot be asked is asked the next time.
 */
AWAITS static int
retain_tidy(struct task *task, struct queue *queue, const struct rows *projects, size_t project)
{
    struct db db = {0};
    struct arena *own = task->arena;
    int rc = 0;

    if (!sweep_project(queue, projects, project, &db))
        return 0;
    task->arena = arena_new(0);
    for (const struct sql *const *sql = queue->kind->retain; rc == 0 && *sql != NULL; sql++)
        rc = remove_old(task, queue, &db, *sql);
    arena_free(task->arena);
    task->arena = own;
    if (rc > 0)
        log_debug("queue.retain_failed", L_I64("project", db.schema), L_RESULT("rc", rc));
    return rc < 0 ? rc : 0;
}

AWAITS static int tidy_all(struct task *task, struct queue *queue)
{
    struct rows projects;

    TRY(db_query(task,
                 directory_control(queue->config.directory),
                 queue->kind->projects,
                 NULL,
                 0,
                 &projects));
    for (size_t i = 0; i < projects.count && !retain_is_over(queue); i++)
        TRY(retain_tidy(task, queue, &projects, i));
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
