/*
 * Records that changed: reads rows of the outbox, indexes their records as one batch, and deletes
 * the rows, or clears their bit of search, in the batch's transaction.
 *
 * A batch has some of the newest rows and some of the oldest, so that a record that was just
 * written does not wait for a million that were imported before. Most rows of a batch are the
 * oldest: their ids follow all ids that the lists have, and appending to a list is cheap.
 */
#include "live.h"

#include "base/clock.h"
#include "batch.h"
#include "batch_size.h"
#include "build.h"
#include "index_sql.h"
#include "indexer_measure.h"

/* A quarter of a batch: about the rows that are written during one batch. */
#define NEWEST_SHARE 4

/* The records of one entity among the rows that were read. */
struct entity_changes {
    const struct entity *entity;
    struct sql_i64s ids;     /* each once */
    struct sql_i64s changed; /* `ids` without records that were just created */
};

void live_add_parts(struct index_batch *batch,
                    const struct generations *all,
                    const struct entity *entity,
                    struct sql_i64s ids)
{
    static const char *const states[] = {"live", "building"};

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        const struct generation *of = generation_find(all, entity->id, states[i]);
        if (of == NULL || (i == 1 && of->shape_text.len == 0))
            continue;
        struct index_shape *fields = ARENA_NEW(batch->arena, fields);
        shape_of_fields(batch->arena, entity, of->field_ids, fields);
        struct sql_i64s some = ids;
        while (i == 1 && some.count > 0 && some.items[some.count - 1] > of->cursor_id)
            some.count--;
        batch_add(batch, of, fields, some);
        if (i == 1)
            build_changed(
                batch->index, of->idx, sql_i64s(ids.items + some.count, ids.count - some.count));
    }
}

/* Requests that records that refer to the changed records are indexed again, because searches find
 * these records by the display field of the changed records. */
static void live_add_referrers(struct index_batch *batch, const struct entity_changes *of)
{
    const struct model_field *field = of->entity->display_indexed ? of->entity->referrers : NULL;

    for (; field != NULL && of->changed.count > 0; field = field->next_referrer)
        if (field->entity->has_index && field_is_searched(field))
            batch_call(batch,
                       db_call_new(batch->arena,
                                   SQL_WORK_REFER(.entity_id = field->entity->id,
                                                  .field_id = field->id,
                                                  .ids = of->changed)));
}

static void live_add_entity(struct index_batch *batch,
                            const struct generations *all,
                            const struct rows *rows,
                            size_t from,
                            size_t to)
{
    struct entity_changes of = {
        .entity = model_entity_by_id(batch->index->model, sql_live_rows_row(rows, from).entity_id)};
    int64_t *ids = ARENA_ARRAY(batch->arena, ids, to - from);
    int64_t *changed = ARENA_ARRAY(batch->arena, changed, to - from);

    if (of.entity == NULL)
        return;
    for (size_t i = from; i < to; i++) {
        const struct sql_live_rows_row row = sql_live_rows_row(rows, i);
        if (of.ids.count == 0 || ids[of.ids.count - 1] != row.record_id)
            ids[of.ids.count++] = row.record_id;
        if (!str_is(row.event, "EntityCreated") &&
            (of.changed.count == 0 || changed[of.changed.count - 1] != row.record_id))
            changed[of.changed.count++] = row.record_id;
    }
    of.ids.items = ids;
    of.changed.items = changed;
    live_add_parts(batch, all, of.entity, of.ids);
    live_add_referrers(batch, &of);
}

static void
live_add_rows(struct index_batch *batch, const struct generations *all, const struct rows *rows)
{
    int64_t *ids = ARENA_ARRAY(batch->arena, ids, rows->count);

    for (size_t from = 0; from < rows->count;) {
        size_t to = from;
        int64_t entity = sql_live_rows_row(rows, from).entity_id;
        while (to < rows->count && sql_live_rows_row(rows, to).entity_id == entity) {
            ids[to] = sql_live_rows_row(rows, to).id;
            to++;
        }
        live_add_entity(batch, all, rows, from, to);
        from = to;
    }
    const struct sql_i64s taken = sql_i64s(ids, rows->count);
    batch_call(batch, db_call_new(batch->arena, SQL_LIVE_DONE(.ids = taken)));
    batch_call(batch, db_call_new(batch->arena, SQL_LIVE_TAKEN(.ids = taken)));
}

int live_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
{
    struct rows rows;
    struct index_batch batch;
    const size_t newest = (index->batch + NEWEST_SHARE - 1) / NEWEST_SHARE;
    int64_t began_ms = clock_mono_ms();

    TRY(db_query(
        task,
        index->db,
        SQL_LIVE_ROWS(.newest = (int64_t)newest, .oldest = (int64_t)(index->batch - newest)),
        &rows));
    *ret_more = rows.count >= index->batch;
    if (rows.count == 0)
        return 0;
    batch_init(&batch, task->arena, index);
    live_add_rows(&batch, all, &rows);
    int rc = batch_run(task, &batch);
    if (rc == INDEX_MALFORMED) {
        TRY(generation_replace(task, index, batch.malformed_idx));
        return INDEX_STALE;
    }
    TRY(rc);
    measure_indexed(&batch);
    index->batch = batch_size_next(
        &(struct batch_limits){.records = index->batch,
                               .most = (size_t)indexer_conf()->index_batch,
                               .target_ms = indexer_conf()->index_batch_ms},
        &(struct batch_timing){
            .records = rows.count, .words = batch.pairs, .ms = clock_mono_ms() - began_ms});
    return 0;
}
