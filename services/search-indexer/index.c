/*
 * A writer's run: the queue calls index_run() for each claim of a project's lease (work.c).
 * run_rounds() repeats rounds until no work is left or the time is over. run_round() passes once
 * through the steps that app.h lists; each step does a bounded part of its work.
 */
#include "index.h"

#include <errno.h>

#include "base/clock.h"
#include "batch.h"
#include "build.h"
#include "drop.h"
#include "fan_out.h"
#include "index_sql.h"
#include "indexer_claim_sql.h"
#include "indexer_measure.h"
#include "live.h"
#include "log/log.h"
#include "loop/task.h"
#include "reconcile.h"
#include "word_cache.h"
#include "work.h"

#define RUN_MS      2000 /* limit of a run without a rebuild: then another project has its turn */
#define PAUSE_MS    200  /* before the next claim, when nothing could be done */
#define FIRST_BATCH 400  /* records in the first batch, when the word cache has no size */

bool index_must_stop(const struct index *index)
{
    return index->item != NULL &&
           (queue_item_is_lost(index->item) || queue_item_is_releasing(index->item));
}

const struct generation *
generation_find(const struct generations *all, int64_t entity_id, const char *state)
{
    for (size_t i = all->count; i > 0; i--)
        if (all->items[i - 1].entity_id == entity_id && str_is(all->items[i - 1].state, state))
            return &all->items[i - 1];
    return NULL;
}

/* --- model and generations --- */

static void generations_read(struct task *task, const struct rows *rows, struct generations *all)
{
    *all = (struct generations){.items = ARENA_ARRAY(task->arena, all->items, rows->count)};
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_index_look_row row = sql_index_look_row(task->arena, rows, i);
        if (!row.id.set)
            continue;
        all->items[all->count++] = (struct generation){
            .idx = row.id.value,
            .entity_id = row.entity_id.value,
            .state = row.state,
            .field_ids = row.field_ids,
            .shape_text = row.shape,
            .cursor_id = row.cursor_id.value,
            .documents = row.documents.value,
            .created_ms = row.created_at,
            .has_rows = row.began.value,
        };
    }
}

/* Reads the model into the memory of the run (index->arena), because later rounds use it too. */
AWAITS static int reload_model(struct task *task, struct index *index, int64_t wanted)
{
    struct arena *scratch = task->arena;

    task->arena = index->arena;
    int rc = project_reload_model(task, index->project, &index->model);
    task->arena = scratch;
    TRY(rc);
    return index->model->version < wanted ? INDEX_STALE : 0;
}

/* co: Notes that the project has an index, so that every sweep visits it. */
AWAITS static void project_note_searched(struct task *task, const struct index *index)
{
    if (!index->model->has_index)
        return;
    int rc = db_query(task,
                      directory_control(indexer_directory()),
                      SQL_INDEXES_KNOWN(.number = index->project->number),
                      NULL);
    if (rc != 0)
        log_debug("index.note_failed", L_RESULT("rc", rc));
}

int index_read_state(struct task *task, struct index *index, struct generations *ret)
{
    struct rows rows;

    for (;;) {
        TRY(db_query(task, index->db, SQL_INDEX_LOOK(), &rows));
        if (rows.count == 0)
            return DB_SCHEMA;
        const struct sql_index_look_row row = sql_index_look_row(task->arena, &rows, 0);
        generations_read(task, &rows, ret);
        if (row.model_version != index->model->version) {
            TRY(reload_model(task, index, row.model_version));
            continue;
        }
        if (row.aligned == index->model->version && !reconcile_has_old_tokens(ret))
            return 0;
        TRY(reconcile_run(task, index, ret));
        project_note_searched(task, index);
    }
}

/* --- rounds --- */

struct round {
    bool more;   /* work is left */
    bool waits;  /* the work that is left waits for a build */
    bool builds; /* this process builds a generation of the project */
};

AWAITS static int run_round(struct task *task, struct index *index, struct round *round)
{
    struct generations all;
    bool live = false;
    bool is_scattered = false;
    bool builds = false;
    bool drops = false;

    *round = (struct round){0};
    TRY(index_read_state(task, index, &all));
    TRY(live_run(task, index, &all, &live));
    TRY(index_fan_out_run(task, index, &all, &is_scattered));
    TRY(build_run(task, index, &all, !live && !is_scattered, &builds));
    TRY(drop_run(task, index, &all, &drops));
    *round = (struct round){.more = live || is_scattered || builds || drops, .builds = builds};
    for (size_t i = 0; i < all.count && !round->more; i++)
        round->waits = round->waits || str_is(all.items[i].state, "building") ||
                       str_is(all.items[i].state, "dropped");
    return 0;
}

/* Each round has memory of its own. */
AWAITS static int round_run_scoped(struct task *task, struct index *index, struct round *round)
{
    struct arena *own = task->arena;
    struct arena *scratch = arena_new(0);

    task->arena = scratch;
    int rc = run_round(task, index, round);
    if (rc == DB_FAILED) /* the message goes with the round's memory */
        log_error("index.refused", L_STR("message", db_error(task)->message));
    task->arena = own;
    arena_free(scratch);
    return rc;
}

AWAITS static int run_rounds(struct task *task, struct index *index)
{
    int64_t end_ms = clock_mono_ms() + RUN_MS;
    struct round round = {.more = true};
    int rc = 0;

    while (round.more && !index_must_stop(index) && !build_has_yielded(index) &&
           (round.builds || clock_mono_ms() < end_ms)) {
        rc = round_run_scoped(task, index, &round);
        if (rc == INDEX_STALE) {
            round.more = true;
            rc = task_sleep(task, PAUSE_MS / 10);
        }
        if (rc != 0)
            break;
    }
    index->more = rc == 0 && round.more;
    return rc == 0 && round.waits ? task_sleep(task, PAUSE_MS) : rc;
}

AWAITS static void index_release_lease(struct task *task, struct index *index)
{
    int rc = db_query(task, index->db, SQL_INDEX_RELEASE(.token = index->token), NULL);

    if (rc != 0)
        log_debug("index.release_failed", L_RESULT("rc", rc));
}

/* co: Logs an error. An error that would repeat (DB_FAILED, DB_TOO_LARGE, DB_CHECK) is also noted
 * in the live generations, for an administrator. */
AWAITS static void index_report_error(struct task *task, struct index *index, int rc)
{
    if (rc == 0 || rc == INDEX_LOST || rc == INDEX_STALE || rc == -ECANCELED)
        return;
    measure_failed();
    log_error("index.failed", L_RESULT("rc", rc));
    if (rc != DB_FAILED && rc != DB_TOO_LARGE && rc != DB_CHECK)
        return;
    struct db_call note = db_call(
        SQL_GENERATION_NOTE(.error = STR("Changes cannot be indexed; see the indexer's log.")));
    int step = batch_exec(task, index, &note, 1);
    if (step != 0)
        log_debug("index.note_failed", L_RESULT("rc", step));
}

enum queue_outcome index_run(struct task *task, struct queue_item *item)
{
    struct index index = {
        .item = item,
        .project = item->project,
        .db = &item->db,
        .token = item->token,
        .attempt = rows_i64(&item->rows, 0, rows_column(&item->rows, "attempt")),
        .model = item->project->model,
        .arena = item->arena,
        .cache = word_cache_acquire(item->project->number, item->token),
    };

    index.batch =
        word_cache_batch_size(index.cache) > 0 ? word_cache_batch_size(index.cache) : FIRST_BATCH;
    int rc = run_rounds(task, &index);
    word_cache_release(index.cache, index.more && !index_must_stop(&index), index.batch);
    index.cache = NULL;
    build_end(&index);
    index_report_error(task, &index, rc);
    if (queue_item_is_lost(item))
        return QUEUE_UNKNOWN;
    if (rc != 0 && rc != INDEX_LOST && task_sleep(task, PAUSE_MS) != 0)
        rc = -ECANCELED;
    index_release_lease(task, &index);
    return rc == 0 ? QUEUE_DONE : QUEUE_RELEASED;
}
