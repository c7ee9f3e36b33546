/*
 * The stages of a comparison (enum verify_stage), each in steps of some rows:
 *
 *     VERIFY_FORWARDS   adds every pair of all forward lists to the sums (list_sums.h)
 *     VERIFY_LEAVES     subtracts every id of all leaves: lists whose sums are not 0 differ
 *     VERIFY_REPAIR     reads the forward lists again, collects the ids of those lists, writes them
 *
 * If more than REPAIRS_MAX lists differ, or words have no row, the generation is built again
 * instead.
 */
#include "verify_lists.h"

#include <stdlib.h>

#include "batch.h"
#include "build.h"
#include "leaves_write.h"
#include "search/forward.h"
#include "search/leaf.h"
#include "verify_sql.h"

#define DOCS_AT_ONCE   2000
#define LEAVES_AT_ONCE 1000
#define REPAIRS_MAX    500 /* lists that are repaired; with more, the generation is built again */

/* The ids of a list that is made again. */
struct verify_repaired_list {
    int64_t *ids;
    size_t count, cap;
};

void verify_lists_begin(struct verify_lists *lists)
{
    lists->sums = list_sums_new();
    lists->arena = arena_new(0);
    lists->after = INT64_MIN;
    lists->base = -1;
    lists->bad_lists = ARENA_ARRAY(lists->arena, lists->bad_lists, REPAIRS_MAX);
    lists->repaired = ARENA_ARRAY(lists->arena, lists->repaired, REPAIRS_MAX);
}

void verify_lists_end(struct verify_lists *lists)
{
    list_sums_free(lists->sums);
    arena_free(lists->arena);
}

static int order_wrong(const void *left, const void *right)
{
    const struct list_sums_key *a = left;
    const struct list_sums_key *b = right;

    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    return (a->field > b->field) - (a->field < b->field);
}

/* Collects an id whose list is made again. */
static void
verify_collect_id(struct verify_lists *lists, const struct forward_pair *pair, int64_t id)
{
    const struct list_sums_key key = {pair->term, pair->field};
    const struct list_sums_key *found =
        bsearch(&key, lists->bad_lists, lists->bad_count, sizeof(key), order_wrong);

    if (found == NULL)
        return;
    struct verify_repaired_list *made = &lists->repaired[found - lists->bad_lists];
    ARENA_PUSH(lists->arena, made->ids, made->count, made->cap, id);
}

/* co: Reads the next forward lists: adds them to the sums, or collects ids of lists that are made
 * again. */
AWAITS static int verify_read_forwards(struct task *task,
                                       struct index *index,
                                       struct verify_lists *lists,
                                       bool *ret_end)
{
    struct rows rows;

    TRY(db_query(task,
                 index->db,
                 SQL_VERIFY_DOCS(.idx = lists->idx, .after = lists->after, .most = DOCS_AT_ONCE),
                 &rows));
    *ret_end = rows.count == 0;
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_verify_docs_row row = sql_verify_docs_row(task->arena, &rows, i);
        struct forward_list list;
        if (forward_decode(task->arena, row.terms, &list) != 0)
            return INDEX_MALFORMED;
        for (size_t k = 0; k < list.count; k++) {
            if (lists->stage == VERIFY_FORWARDS)
                list_sums_add(lists->sums, list.items[k].term, list.items[k].field, row.record_id);
            else
                verify_collect_id(lists, &list.items[k], row.record_id);
        }
        lists->after = row.record_id;
        lists->documents += lists->stage == VERIFY_FORWARDS;
    }
    return 0;
}

/* co: Notes whether words that have postings have no row. */
AWAITS static int verify_find_missing_words(struct task *task,
                                            struct index *index,
                                            struct verify_lists *lists,
                                            const int64_t *terms,
                                            size_t count)
{
    struct rows rows;

    if (count == 0)
        return 0;
    TRY(db_query(task, index->db, SQL_VERIFY_LOST(.terms = sql_i64s(terms, count)), &rows));
    lists->has_missing_words = lists->has_missing_words || sql_verify_lost_row(&rows, 0).lost > 0;
    return 0;
}

static void verify_subtract_leaf(struct verify_lists *lists,
                                 const struct sql_verify_leaves_row *row,
                                 int64_t *ids)
{
    const struct leaf leaf = {row->base, (int32_t)row->n, row->docs};
    const bool first = lists->base < 0 || lists->term != row->term_id || lists->field != row->field;
    size_t count = 0;

    if (leaf_decode(&leaf, ids, &count) != 0 || count == 0 ||
        (!first && lists->last >= row->base) || ids[0] < row->base) {
        list_sums_mark_different(lists->sums, (int32_t)row->term_id, (int16_t)row->field);
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        list_sums_subtract(lists->sums, (int32_t)row->term_id, (int16_t)row->field, ids[i]);
    lists->term = row->term_id;
    lists->field = row->field;
    lists->base = row->base;
    lists->last = count > 0 ? ids[count - 1] : row->base;
}

AWAITS static int verify_read_leaves(struct task *task,
                                     struct index *index,
                                     struct verify_lists *lists,
                                     bool *ret_end)
{
    int64_t *ids = ARENA_ARRAY(task->arena, ids, LEAF_IDS);
    int64_t *terms = ARENA_ARRAY(task->arena, terms, LEAVES_AT_ONCE);
    size_t count = 0;
    struct rows rows;

    TRY(db_query(task,
                 index->db,
                 SQL_VERIFY_LEAVES(.idx = lists->idx,
                                   .term = lists->term,
                                   .field = lists->field,
                                   .base = lists->base,
                                   .most = LEAVES_AT_ONCE),
                 &rows));
    *ret_end = rows.count == 0;
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_verify_leaves_row row = sql_verify_leaves_row(task->arena, &rows, i);
        verify_subtract_leaf(lists, &row, ids);
        if (count == 0 || terms[count - 1] != row.term_id)
            terms[count++] = row.term_id;
    }
    return verify_find_missing_words(task, index, lists, terms, count);
}

/* Evaluates the sums and chooses the next stage. */
AWAITS static int
verify_lists_evaluate(struct task *task, struct index *index, struct verify_lists *lists)
{
    lists->differ = list_sums_differences(lists->sums, lists->bad_lists, REPAIRS_MAX);
    lists->stage = lists->differ > 0 ? VERIFY_REPAIR : VERIFY_LISTS_DONE;
    lists->done = lists->differ == 0;
    if (lists->has_missing_words || lists->differ > REPAIRS_MAX) {
        lists->needs_rebuild = lists->done = true;
        return generation_replace(task, index, lists->idx);
    }
    lists->bad_count = lists->differ;
    if (lists->bad_count > 1)
        qsort(lists->bad_lists, lists->bad_count, sizeof(*lists->bad_lists), order_wrong);
    lists->after = INT64_MIN;
    return 0;
}

static void verify_write_list(struct leaf_writes *writes,
                              const struct list_sums_key *of,
                              const struct verify_repaired_list *made,
                              struct index_batch *batch)
{
    const struct leaf_key key = {of->term, of->field};
    struct leaves leaves = {0};

    leaves_build(batch->arena, 0, made->ids, made->count, &leaves);
    for (size_t i = 0; i < leaves.count; i++) {
        struct db_call calls[LEAF_CALLS];
        leaf_writes_put(writes, key, &leaves.items[i]);
        if (!leaf_writes_full(writes))
            continue;
        size_t count = leaf_writes_calls(writes, calls);
        for (size_t k = 0; k < count; k++)
            batch_call(batch, calls[k]);
    }
}

/* co: Replaces the lists that differ, in one transaction. */
AWAITS static int
verify_repair_lists(struct task *task, struct index *index, struct verify_lists *lists)
{
    int64_t *terms = ARENA_ARRAY(task->arena, terms, lists->bad_count);
    int64_t *fields = ARENA_ARRAY(task->arena, fields, lists->bad_count);
    struct leaf_writes writes;
    struct db_call calls[LEAF_CALLS];
    struct index_batch batch;

    for (size_t i = 0; i < lists->bad_count; i++) {
        terms[i] = lists->bad_lists[i].term;
        fields[i] = lists->bad_lists[i].field;
    }
    batch_init(&batch, task->arena, index);
    batch_call(&batch,
               db_call_new(task->arena,
                           SQL_VERIFY_DROP(.idx = lists->idx,
                                           .terms = sql_i64s(terms, lists->bad_count),
                                           .fields = sql_i64s(fields, lists->bad_count))));
    leaf_writes_init(&writes, task->arena, lists->idx);
    for (size_t i = 0; i < lists->bad_count; i++)
        if (lists->repaired[i].count > 0)
            verify_write_list(&writes, &lists->bad_lists[i], &lists->repaired[i], &batch);
    size_t count = leaf_writes_calls(&writes, calls);
    for (size_t k = 0; k < count; k++)
        batch_call(&batch, calls[k]);
    lists->done = true;
    return batch_exec(task, index, batch.calls, batch.call_count);
}

int verify_lists_step(struct task *task, struct index *index, struct verify_lists *lists)
{
    bool end = false;

    switch (lists->stage) {
    case VERIFY_FORWARDS:
        TRY(verify_read_forwards(task, index, lists, &end));
        if (end)
            lists->stage = VERIFY_LEAVES;
        return 0;
    case VERIFY_LEAVES:
        TRY(verify_read_leaves(task, index, lists, &end));
        return end ? verify_lists_evaluate(task, index, lists) : 0;
    case VERIFY_REPAIR:
        TRY(verify_read_forwards(task, index, lists, &end));
        return end ? verify_repair_lists(task, index, lists) : 0;
    case VERIFY_LISTS_DONE:
        lists->done = true;
        return 0;
    }
    return 0;
}
