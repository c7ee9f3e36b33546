/* Creates and drops the indexes of texts in the order of the project's locale. */
#include "text_indexes.h"

#include "app.h"
#include "base/clock.h"
#include "base/list.h"
#include "log/log.h"
#include "queue/queue.h"
#include "runner_text_indexes_sql.h"

#define AT_ONCE    2  /* projects per process */
#define STATEMENTS 10 /* statements of one project, before other projects have their turn */
#define BUILD_MS   (INT64_C(6) * 3600 * 1000) /* limit of one statement, and of a pass */
#define BUSY_MS    10000                      /* pause while another runner does the work */
#define FAILED_MS  300000 /* after a failure: a full disk is not filled again at once */

static struct queue *text_indexes;
static struct list passes = {&passes, &passes};

/* Creates or drops one index. CONCURRENTLY does not block writers, and only runs outside of
 * transactions. */
AWAITS static int
text_index_change(struct task *task, struct db *session, const struct sql_text_index_next_row *row)
{
    struct arena *arena = task->arena;
    struct str text =
        row->made ? arena_printf(arena, "drop index concurrently {p}.%.*s", STR_ARG(row->name))
                  : arena_printf(arena,
                                 "create index concurrently %.*s on {p}.e_%lld (f_%lld collate "
                                 "\"%.*s\", id)",
                                 STR_ARG(row->name),
                                 (long long)row->entity_id.value,
                                 (long long)row->field_id.value,
                                 STR_ARG(row->collation));
    const struct sql sql = {
        .name = "text_index.change",
        .text = text.ptr,
        .hash = str_hash(text),
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    };

    return db_query(task, session, &sql, NULL, 0, NULL);
}

struct index_pass {
    struct task *task;
    struct list link; /* in `passes` */
    struct project *project;
    struct queue *queue;
    bool more;
};

/* co: Creates and drops indexes, one after the other. */
AWAITS static int
text_indexes_change(struct task *task, struct db *session, struct index_pass *pass)
{
    struct rows rows;

    pass->more = true;
    for (size_t i = 0; i < STATEMENTS && !queue_is_draining(pass->queue); i++) {
        int64_t begun_ms = clock_mono_ms();
        TRY(db_query(task, session, SQL_TEXT_INDEX_NEXT(), &rows));
        pass->more = rows.count > 0;
        if (!pass->more)
            break;
        const struct sql_text_index_next_row row = sql_text_index_next_row(&rows, 0);
        TRY(text_index_change(task, session, &row));
        log_info(row.made ? "text_index.dropped" : "text_index.made",
                 L_I64("project", pass->project->number),
                 L_STR("index", row.name),
                 L_I64("ms", clock_mono_ms() - begun_ms));
    }
    return 0;
}

/* co: Changes the project's indexes under an advisory lock. Pauses the project when another runner
 * holds the lock. */
AWAITS static int text_indexes_make(struct task *task, struct db *session, void *arg)
{
    struct index_pass *pass = arg;
    struct rows rows;

    TRY(db_query(task, session, SQL_TEXT_INDEXES_LOCK(), &rows));
    if (!sql_text_indexes_lock_row(&rows, 0).locked) {
        queue_pause(pass->queue, pass->project->number, BUSY_MS);
        return 0;
    }
    TRY(text_indexes_change(task, session, pass));
    return db_query(task, session, SQL_TEXT_INDEXES_UNLOCK(), NULL);
}

AWAITS static int
take_text_indexes(struct task *task, struct queue *queue, struct project *project, bool *ret_more)
{
    struct index_pass pass = {.task = task, .project = project, .queue = queue};

    list_append(&passes, &pass.link);
    int rc = db_session_ddl(task, &project->db, BUILD_MS, text_indexes_make, &pass);
    list_remove(&pass.link);
    if (rc < 0)
        return rc;
    if (rc > 0) {
        log_warn("text_index.failed", L_I64("project", project->number), L_RESULT("rc", rc));
        queue_pause(queue, project->number, FAILED_MS);
    }
    *ret_more = rc == 0 && pass.more;
    return 0;
}

AWAITS static int text_indexes_after_poll(struct task *task,
                                          struct db *db,
                                          const struct rows *projects,
                                          size_t project,
                                          const struct rows *found)
{
    if (sql_text_indexes_poll_row(found, 0).due)
        return 0;
    return db_query(
        task,
        directory_control(runner_directory()),
        SQL_TEXT_INDEXES_CHECKED(.number = db->schema,
                                 .epoch = sql_text_index_projects_row(projects, project).epoch),
        NULL);
}

static const struct queue_kind kind = {
    .name = "text_indexes",
    .pass = take_text_indexes,
    .pass_ms = BUILD_MS,
    .projects = &SQL_TEXT_INDEX_PROJECTS,
    .poll = &SQL_TEXT_INDEXES_POLL,
    .on_polled = text_indexes_after_poll,
};

void text_indexes_prepare(void)
{
    queue_prepare(&kind);
}

void text_indexes_start(void)
{
    text_indexes = queue_start(&kind,
                               &(struct queue_config){
                                   .directory = runner_directory(),
                                   .holder = runner_id(),
                                   .slots = AT_ONCE,
                                   .slots_per_project = 1,
                                   .sweep_ms = runner_conf()->sweep_ms,
                               });
}

void text_indexes_stop_polling(void)
{
    if (text_indexes)
        queue_stop_sweeps(text_indexes);
}

void text_indexes_drain(int64_t last_call_mono_ms)
{
    if (text_indexes)
        queue_drain(text_indexes, last_call_mono_ms, NULL, NULL);
    LIST_FOR (node, &passes)
        task_cancel(LIST_ITEM(node, struct index_pass, link)->task);
}

void text_indexes_stop(void)
{
    if (text_indexes)
        queue_stop(text_indexes);
    text_indexes = NULL;
}
