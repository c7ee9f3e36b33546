/* Rows of the log, positions in it, and how the log begins. */
#include "live/live.h"

#include "base/num.h"
#include "live_sql.h"

/* Processes read the epochs once a second, so all of them log their changes after this time. */
#define WRITERS_PAUSE_MS 1500
#define DRAIN_STEP_MS    20
#define DRAIN_STEPS      250
#define SNAPSHOT_BYTES   4096

/* --- writing --- */

struct db_call live_created_call(struct arena *arena,
                                 const struct entity *entity,
                                 const int64_t *ids,
                                 size_t count)
{
    return db_call_new(arena,
                       SQL_LIVE_LOG_CREATED(.entity_id = entity->id, .ids = sql_i64s(ids, count)));
}

struct db_call
live_granted_call(struct arena *arena, const struct entity *entity, int64_t record_id)
{
    return db_call_new(arena,
                       SQL_LIVE_LOG_GRANTED(.entity_id = entity->id, .record_id = record_id));
}

struct db_call live_reset_call(struct arena *arena, const int64_t *entity_ids, size_t count)
{
    return db_call_new(arena, SQL_LIVE_LOG_RESET(.entity_ids = sql_i64s(entity_ids, count)));
}

/* --- positions --- */

/* A snapshot as PostgreSQL prints it, xmin:xmax:xip,xip,...: ascending, xmin <= xip < xmax. */
static bool is_snapshot(struct str text)
{
    struct str rest = text;
    int64_t xmin;
    int64_t xmax;
    int64_t last = 0;

    if (text.len > SNAPSHOT_BYTES || !num_parse_i64(str_split(&rest, ':'), &xmin) || !rest.ptr ||
        !num_parse_i64(str_split(&rest, ':'), &xmax) || !rest.ptr || xmin < 1 || xmax < xmin)
        return false;
    while (rest.ptr && rest.len > 0) {
        int64_t xip;
        if (!num_parse_i64(str_split(&rest, ','), &xip) || xip < xmin || xip >= xmax || xip <= last)
            return false;
        if (rest.ptr && rest.len == 0)
            return false;
        last = xip;
    }
    return true;
}

bool live_position_parse(struct str text, struct live_position *ret_position)
{
    struct str rest = text;
    struct live_position position = {.since = str_split(&rest, '~')};

    if (!is_snapshot(position.since))
        return false;
    if (rest.ptr) {
        position.upto = str_split(&rest, '~');
        if (!is_snapshot(position.upto) || !num_parse_i64(rest, &position.after_seq) ||
            position.after_seq == 0 || position.after_seq == INT64_MIN)
            return false;
    }
    *ret_position = position;
    return true;
}

struct str live_position_print(struct arena *arena, const struct live_position *position)
{
    if (position->upto.len == 0)
        return arena_dup(arena, position->since);
    return arena_printf(arena,
                        "%.*s~%.*s~%lld",
                        STR_ARG(position->since),
                        STR_ARG(position->upto),
                        (long long)position->after_seq);
}

/* --- beginning of the log --- */

AWAITS static int live_log_begin_in_tx(struct task *task, struct db *tx, void *arg)
{
    (void)arg;
    struct db_call calls[] = {
        db_call(SQL_LIVE_MODEL_CHANGED()),
        db_call(SQL_LIVE_BEGIN(.seconds = LIVE_KEEP_SECONDS)),
    };

    return db_batch_commit(task, tx, calls, ARRAY_LEN(calls), NULL);
}

/* Adds the project to the sweep's list first, so that no log can exist that is never swept. */
AWAITS static int
live_log_begin(struct task *task, struct directory *directory, struct project *project)
{
    TRY(db_query(
        task, directory_control(directory), SQL_LIVE_PROJECT_ADD(.number = project->number), NULL));
    TRY(db_transact(task, &project->db, live_log_begin_in_tx, NULL));
    project_epoch_raise(task, directory, project);
    return 0;
}

/* Waits until the transactions have ended that began before all processes logged changes. Gives up
 * after 5 seconds, the default time limit of a statement. */
AWAITS static int live_log_await_writers(struct task *task, struct project *project)
{
    struct rows rows;

    TRY(task_sleep(task, WRITERS_PAUSE_MS));
    TRY(db_query(task, &project->db, SQL_LIVE_BOUNDS(), &rows));
    struct str next = arena_dup(task->arena, sql_live_bounds_row(&rows, 0).next);
    for (int i = 0; i < DRAIN_STEPS; i++) {
        TRY(db_query(task, &project->db, SQL_LIVE_DRAINED(.next = next), &rows));
        if (sql_live_drained_row(&rows, 0).drained)
            break;
        TRY(task_sleep(task, DRAIN_STEP_MS));
    }
    return db_query(task, &project->db, SQL_LIVE_READY(), NULL);
}

int live_log_keep(struct task *task, struct directory *directory, struct project *project)
{
    struct rows rows;

    TRY(db_query(task, &project->db, SQL_LIVE_LISTEN(.seconds = LIVE_KEEP_SECONDS), &rows));
    if (rows.count > 0 && sql_live_listen_row(&rows, 0).ready)
        return 0;
    if (rows.count == 0)
        TRY(live_log_begin(task, directory, project));
    return live_log_await_writers(task, project);
}
