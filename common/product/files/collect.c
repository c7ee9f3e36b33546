/* Removes the bytes in the store that are not files. */
#include "files/collect.h"

#include <errno.h>

#include "base/panic.h"
#include "files/ledger.h"
#include "files_sql.h"
#include "log/log.h"
#include "loop/background.h"
#include "resume_sql.h"

#define PROJECTS_PER_ROUND 16
#define KEYS_PER_PROJECT   64
#define ROUND_LIMIT_MS     120000
#define NEXT_ROUND_MS      1 /* delay of the next round, with a new arena, when there is more */

static struct {
    struct directory *directory;
    struct loop_timer timer;
    int64_t interval_ms;
    bool is_running;
    bool is_stopped;
} collector;

AWAITS static int collect_keys(struct task *task, struct db *db, const struct rows *due)
{
    struct str *keys = ARENA_ARRAY(task->arena, keys, due->count);

    for (size_t i = 0; i < due->count; i++) {
        struct file_key key;
        keys[i] = sql_file_garbage_due_row(due, i).key;
        file_key_set(db->schema, keys[i], &key);
        TRY(store_remove(task, &key));
    }
    return db_query(task, db, SQL_FILE_GARBAGE_DONE(.keys = sql_strs(keys, due->count)), NULL);
}

AWAITS static int collect_project(struct task *task, struct db *db, bool *ret_more)
{
    struct rows due;

    TRY(db_query(task, db, SQL_RESUME_EXPIRE(), NULL));
    TRY(db_query(task,
                 db,
                 SQL_FILE_GARBAGE_DUE(.seconds = ledger_retry_seconds(), .most = KEYS_PER_PROJECT),
                 &due));
    if (due.count == 0)
        return 0;
    TRY(collect_keys(task, db, &due));
    log_info("files.collected", L_I64("project", db->schema), L_I64("removed", (int64_t)due.count));
    *ret_more = due.count == KEYS_PER_PROJECT;
    return 0;
}

/* Removes the bytes of a deleted project, then its row in file_projects. The row stays after a
 * failure, so that a later round tries again. */
AWAITS static int collect_deleted_project(struct task *task, int64_t number)
{
    TRY(store_remove_project(task, number));
    log_info("files.project_removed", L_I64("project", number));
    return db_query(task,
                    directory_control(collector.directory),
                    SQL_FILE_PROJECT_GONE(.number = number),
                    NULL);
}

/* co: Removes up to KEYS_PER_PROJECT keys of a project. If more are due, the project is due again
 * now, after the projects that have waited longer. */
AWAITS static int
collect_due_project(struct task *task, const struct sql_file_projects_due_row *row, bool *ret_more)
{
    struct db db = {.schema = row->number};
    bool more = false;

    if (!row->state.ptr)
        return collect_deleted_project(task, row->number);
    db.server = directory_server(collector.directory, row->server);
    if (!db.server || !str_is(row->state, "active"))
        return 0;
    TRY(collect_project(task, &db, &more));
    if (!more)
        return 0;
    *ret_more = true;
    return db_query(task,
                    directory_control(collector.directory),
                    SQL_FILE_PROJECT_AGAIN(.number = row->number),
                    NULL);
}

/* co: Collects up to PROJECTS_PER_ROUND projects. *ret_more: there may be more projects or keys. */
AWAITS static int collect_round(struct task *task, bool *ret_more)
{
    struct rows due;

    TRY(db_query(task,
                 directory_control(collector.directory),
                 SQL_FILE_PROJECTS_DUE(.seconds = (collector.interval_ms + 999) / 1000,
                                       .most = PROJECTS_PER_ROUND),
                 &due));
    *ret_more = due.count == PROJECTS_PER_ROUND;
    for (size_t i = 0; i < due.count; i++) {
        const struct sql_file_projects_due_row row = sql_file_projects_due_row(&due, i);
        int rc = collect_due_project(task, &row, ret_more);
        if (rc == -ECANCELED || rc == -ETIMEDOUT)
            return rc;
        if (rc != 0) /* continue with the other projects */
            log_warn("files.collect_failed", L_I64("project", row.number), L_RESULT("rc", rc));
    }
    return 0;
}

AWAITS static void collect_run(struct task *task, void *arg UNUSED)
{
    bool more = false;
    int rc = collect_round(task, &more);

    if (rc != 0)
        log_debug("files.round_failed", L_RESULT("rc", rc));
    collector.is_running = false;
    if (!collector.is_stopped)
        loop_timer_start(&collector.timer, rc == 0 && more ? NEXT_ROUND_MS : collector.interval_ms);
}

static void collect_on_timer(void *arg UNUSED)
{
    collector.is_running = true;
    background_run(ROUND_LIMIT_MS, collect_run, NULL);
}

void collect_start(struct directory *directory, int64_t interval_ms)
{
    MUST(!collector.is_running);
    collector.directory = directory;
    collector.interval_ms = interval_ms;
    collector.is_stopped = false;
    loop_timer_init(&collector.timer, collect_on_timer, NULL);
    loop_timer_start(&collector.timer, interval_ms);
}

void collect_stop(void)
{
    if (!collector.directory)
        return;
    collector.is_stopped = true;
    loop_timer_stop(&collector.timer);
}
