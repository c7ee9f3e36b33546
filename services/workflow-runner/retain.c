/* Old history goes. */
#include "retain.h"

#include "app.h"
#include "log/log.h"
#include "loop/background.h"
#include "runner_retain_sql.h"
#include "runner_sweep_sql.h"
#include "sweep.h"

#define FIRST_MS 5000 /* after the start */
#define EVERY_MS 600000
#define ROUND_MS EVERY_MS /* what is left then goes in the next round */
#define AT_ONCE  500
#define FEWER    8

static struct {
    struct loop_timer timer;
    bool stopped;
} s;

AWAITS static int remove_jobs(struct task *task, struct db *db)
{
    const int64_t days = runner_conf()->job_retention_days;
    int64_t most = AT_ONCE;
    int64_t removed = 1;
    struct rows rows;

    while (removed > 0 && !s.stopped) {
        int rc = db_query(task, db, &SQL_RETAIN_JOBS, PARAMS(P_I64(days), P_I64(most)), &rows);
        if (rc == DB_TIMEOUT && most > 1) { /* long histories: fewer at a time */
            most = most > FEWER ? most / FEWER : 1;
            continue;
        }
        TRY(rc);
        removed = rows_i64(&rows, 0, 0);
    }
    return 0;
}

AWAITS static int remove_events(struct task *task, struct db *db)
{
    struct rows rows = {.affected = 1};

    while (rows.affected > 0 && !s.stopped)
        TRY(db_query(task, db, &SQL_RETAIN_EVENTS, NULL, 0, &rows));
    return 0;
}

/* co: one project, with memory of its own. A project that cannot be asked is asked the next
 * time. */
AWAITS static int tidy(struct task *task, const struct row *project)
{
    struct db_server *server = directory_server(runner_directory(), row_str(project, "server"));
    struct db db = {.server = server, .schema = row_i64(project, "number")};
    struct arena *own = task->arena;

    if (server == NULL || !sweep_mine(db.schema))
        return 0;
    task->arena = arena_new(0);
    int rc = remove_jobs(task, &db);
    if (rc == 0)
        rc = remove_events(task, &db);
    if (rc == 0)
        rc = db_query(task, &db, &SQL_RETAIN_FAN_OUT, NULL, 0, NULL);
    arena_free(task->arena);
    task->arena = own;
    if (rc > 0)
        log_debug("retain.failed", L_I64("project", db.schema), L_I64("rc", rc));
    return rc < 0 ? rc : 0;
}

AWAITS static int tidy_all(struct task *task)
{
    struct rows projects;

    TRY(db_query(
        task, directory_control(runner_directory()), &SQL_SWEEP_PROJECTS, NULL, 0, &projects));
    for (size_t i = 0; i < projects.count && !s.stopped; i++) {
        const struct row project = rows_at(&projects, i);
        TRY(tidy(task, &project));
    }
    return 0;
}

static void retain_run(struct task *task, void *arg UNUSED)
{
    int rc = tidy_all(task);

    if (rc > 0)
        log_debug("retain.round_failed", L_I64("rc", rc));
    if (!s.stopped)
        loop_timer_start(&s.timer, EVERY_MS);
}

static void on_timer(void *arg UNUSED)
{
    background_run(ROUND_MS, retain_run, NULL);
}

void retain_start(void)
{
    loop_timer_init(&s.timer, on_timer, NULL);
    loop_timer_start(&s.timer, FIRST_MS);
}

void retain_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
}
