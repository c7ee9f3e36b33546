/* Deletes old rows from the logs of all projects, and ends logs without listeners. */
#include <errno.h>

#include "base/panic.h"
#include "live/live.h"
#include "live_sql.h"
#include "loop/background.h"

#define ROUND_MS         15000
#define ROUND_LIMIT_MS   60000
#define REPEAT_SECONDS   60
#define PROJECTS_AT_ONCE 32

static struct {
    struct directory *directory;
    struct loop_timer timer;
    bool running, stopped;
} sweeper;

/* Changes the model first, the lock order of all changes of the model. If a client has begun to
 * listen at the same time, the log is kept. */
AWAITS static int live_log_end_in_tx(struct task *task, struct db *tx, void *arg)
{
    bool *ret_ended = arg;
    struct db_call calls[] = {
        db_call(SQL_LIVE_MODEL_CHANGED()),
        db_call(SQL_LIVE_END()),
    };

    TRY(db_batch(task, tx, calls, ARRAY_LEN(calls), NULL));
    *ret_ended = calls[1].rows.count > 0;
    if (!*ret_ended)
        db_rollback(tx);
    return 0;
}

AWAITS static int sweep_end_log(struct task *task, struct project *project, bool *ret_ended)
{
    struct rows over;

    *ret_ended = false;
    TRY(db_query(task, &project->db, SQL_LIVE_OVER(), &over));
    if (over.count == 0)
        return 0;
    return db_transact(task, &project->db, live_log_end_in_tx, ret_ended);
}

AWAITS static int
live_sweep_project(struct task *task, struct directory *directory, struct project *project)
{
    struct db_call trim[] = {
        db_call(SQL_LIVE_TRIM(.seconds = LIVE_KEEP_SECONDS, .bytes = LIVE_KEEP_BYTES)),
        db_call(SQL_LIVE_TRIMMED()),
        db_call(SQL_LIVE_TICKETS_EXPIRE()),
    };
    bool ended = false;

    TRY(db_batch(task, &project->db, trim, ARRAY_LEN(trim), NULL));
    TRY(sweep_end_log(task, project, &ended));
    if (!ended)
        return 0;
    project_epoch_raise(task, directory, project);
    TRY(db_query(task, &project->db, SQL_LIVE_FORGET(), NULL));
    return db_query(
        task, directory_control(directory), SQL_LIVE_PROJECT_GONE(.number = project->number), NULL);
}

AWAITS static int sweep_due_project(struct task *task, const struct sql_live_projects_due_row *row)
{
    struct directory *directory = sweeper.directory;
    struct project *project;

    if (!row->slug.ptr)
        return db_query(
            task, directory_control(directory), SQL_LIVE_PROJECT_GONE(.number = row->number), NULL);
    TRY(project_find_number(task, directory, row->number, &project));
    return live_sweep_project(task, directory, project);
}

AWAITS static int sweep_round(struct task *task)
{
    struct rows due;

    TRY(db_query(task,
                 directory_control(sweeper.directory),
                 SQL_LIVE_PROJECTS_DUE(.seconds = REPEAT_SECONDS, .most = PROJECTS_AT_ONCE),
                 &due));
    for (size_t i = 0; i < due.count; i++) {
        const struct sql_live_projects_due_row row = sql_live_projects_due_row(&due, i);
        int rc = sweep_due_project(task, &row);
        if (rc == -ECANCELED || rc == -ETIMEDOUT)
            return rc;
        if (rc != 0) /* continue with the other projects */
            log_warn("live.sweep_failed", L_I64("project", row.number), L_RESULT("rc", rc));
    }
    return 0;
}

AWAITS static void live_sweep_run(struct task *task, void *arg UNUSED)
{
    int rc = sweep_round(task);

    if (rc != 0)
        log_debug("live.round_failed", L_RESULT("rc", rc));
    sweeper.running = false;
    if (!sweeper.stopped)
        loop_timer_start(&sweeper.timer, ROUND_MS);
}

static void live_on_sweep(void *arg UNUSED)
{
    sweeper.running = true;
    background_run(ROUND_LIMIT_MS, live_sweep_run, NULL);
}

void live_sweep_start(struct directory *directory)
{
    MUST(!sweeper.running);
    sweeper.directory = directory;
    sweeper.stopped = false;
    loop_timer_init(&sweeper.timer, live_on_sweep, NULL);
    loop_timer_start(&sweeper.timer, ROUND_MS);
}

void live_sweep_stop(void)
{
    if (!sweeper.directory)
        return;
    sweeper.stopped = true;
    loop_timer_stop(&sweeper.timer);
}
