/*
 * Work for many records. A row of search_work is of one of these kinds: 'refer' (records that refer
 * to changed records), 'principal' (records in the lists of a principal: search/principal.h) or
 * 'check' (records of an entity that may have changed without a row of the outbox).
 *
 * A step finds the next ids after the row's cursor, indexes their records as one batch, and moves
 * the cursor in the batch's transaction. The last step deletes the row.
 */
#include "fan_out.h"

#include "batch.h"
#include "build.h"
#include "index_sql.h"
#include "indexer_measure.h"
#include "live.h"
#include "search/leaf.h"
#include "source_ids.h"

/* Ids past the cursor in the lists of a principal, of all generations. Of each list at most two
 * leaves are read. Where a list may have further leaves, ids above its last id that was read are
 * left to the next step. */
AWAITS static int fan_out_principal_ids(struct task *task,
                                        struct index *index,
                                        const struct sql_work_next_row *work,
                                        struct source_ids *ids)
{
    int64_t *leaf_ids = ARENA_ARRAY(task->arena, leaf_ids, LEAF_IDS);
    struct rows rows;

    TRY(db_query(task,
                 index->db,
                 SQL_WORK_PRINCIPAL(.term = work->term, .cursor_id = work->cursor_id),
                 &rows));
    int64_t whole = INT64_MAX; /* up to this id all lists are known */
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_work_principal_row row = sql_work_principal_row(task->arena, &rows, i);
        const struct leaf leaf = {row.base, (int32_t)row.n, row.docs};
        size_t count = 0;
        if (leaf_decode(&leaf, leaf_ids, &count) != 0)
            continue; /* the next change of this list reports it */
        for (size_t k = 0; k < count; k++)
            if (leaf_ids[k] > work->cursor_id)
                source_ids_add(ids, row.entity_id, leaf_ids[k]);
        bool second = i > 0 && sql_work_principal_row(task->arena, &rows, i - 1).id == row.id;
        if (second && count > 0 && leaf_ids[count - 1] < whole)
            whole = leaf_ids[count - 1];
    }
    source_ids_limit(ids, whole);
    return 0;
}

static int fan_out_find_ids(struct task *task,
                            struct index *index,
                            const struct sql_work_next_row *work,
                            struct source_ids *ids)
{
    const struct entity *entity = model_entity_by_id(index->model, work->entity_id);
    int64_t most = (int64_t)index->batch;

    if (str_is(work->kind, "principal"))
        return fan_out_principal_ids(task, index, work, ids);
    if (entity == NULL)
        return 0;
    if (!str_is(work->kind, "refer"))
        return source_ids_check(task, index->db, entity, work->since, work->cursor_id, most, ids);
    const struct model_field *field = entity_field_by_id(entity, work->field_id);
    if (field == NULL || !field_is_searched(field) || field->type != TYPE_RELATION)
        return 0;
    return source_ids_refer(task, index->db, field, work->ids, work->cursor_id, most, ids);
}

/* Adds the records to the batch, one entity after the other. */
static void fan_out_add_parts(struct index_batch *batch,
                              const struct generations *all,
                              const struct source_ids *ids)
{
    for (size_t from = 0; from < ids->count;) {
        size_t to = from;
        int64_t *some = ARENA_ARRAY(batch->arena, some, ids->count - from);
        size_t count = 0;
        const struct entity *entity =
            model_entity_by_id(batch->index->model, ids->items[from].entity_id);
        for (; to < ids->count && ids->items[to].entity_id == ids->items[from].entity_id; to++)
            if (count == 0 || some[count - 1] != ids->items[to].id)
                some[count++] = ids->items[to].id;
        if (entity != NULL)
            live_add_parts(batch, all, entity, sql_i64s(some, count));
        from = to;
    }
}

int index_fan_out_run(struct task *task,
                      struct index *index,
                      const struct generations *all,
                      bool *ret_more)
{
    struct source_ids ids = {.arena = task->arena};
    struct index_batch batch;
    struct rows rows;

    TRY(db_query(task, index->db, SQL_WORK_NEXT(), &rows));
    *ret_more = rows.count > 0;
    if (rows.count == 0)
        return 0;
    const struct sql_work_next_row work = sql_work_next_row(task->arena, &rows, 0);
    if (str_is(work.kind, "check") && work.cursor_id == 0) {
        struct db_call same = db_call(SQL_WORK_SAME(.id = work.id));
        TRY(batch_exec(task, index, &same, 1));
    }
    TRY(fan_out_find_ids(task, index, &work, &ids));
    source_ids_cut(&ids, index->batch);
    batch_init(&batch, task->arena, index);
    fan_out_add_parts(&batch, all, &ids);
    batch_call(
        &batch,
        ids.next_cursor > 0
            ? db_call_new(task->arena, SQL_WORK_MOVE(.cursor_id = ids.next_cursor, .id = work.id))
            : db_call_new(task->arena, SQL_WORK_DONE(.id = work.id)));
    int rc = batch_run(task, &batch);
    if (rc == INDEX_MALFORMED) {
        TRY(generation_replace(task, index, batch.malformed_idx));
        return INDEX_STALE;
    }
    TRY(rc);
    measure_indexed(&batch);
    return 0;
}
