/* What is left of a generation goes some rows at a time; then words are counted, and those that
 * nobody has go. */
#include "drop.h"

#include "batch.h"
#include "batch_sql.h"
#include "index_sql.h"
#include "lexicon_rows.h"

#define WORDS_AT_ONCE 2000

static bool any_building(const struct generations *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (str_is(all->items[i].state, "building"))
            return true;
    return false;
}

/* What has changed about a page of words: .delta is not 0. */
static size_t mark_words(
    struct index_batch *batch, const struct rows *rows, int64_t *gone, int64_t *ids, int64_t *dfs)
{
    size_t gone_count = 0;
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_tidy_terms_row row = sql_tidy_terms_row(rows, i);
        uint32_t number = terms_put(&batch->terms, row.term);
        struct word *word = &batch->terms.items[number];
        word->id = (int32_t)row.id;
        word->part = (int32_t)row.part;
        word->df = row.live < INT32_MAX ? (int32_t)row.live : INT32_MAX;
        word->delta = word->df != row.df || word->df == 0;
        if (word->df == 0)
            gone[gone_count++] = row.id;
        else if (word->delta != 0) {
            ids[count] = row.id;
            dfs[count++] = word->df;
        }
    }
    if (count > 0)
        batch_call(
            batch,
            db_call_new(batch->arena,
                        SQL_WORDS_COUNT(.ids = sql_i64s(ids, count), .dfs = sql_i64s(dfs, count))));
    return gone_count;
}

AWAITS static int
tidy(struct task *task, struct index *index, const struct generation *of, bool *ret_end)
{
    int64_t *gone = ARENA_ARRAY(task->arena, gone, WORDS_AT_ONCE);
    int64_t *ids = ARENA_ARRAY(task->arena, ids, WORDS_AT_ONCE);
    int64_t *dfs = ARENA_ARRAY(task->arena, dfs, WORDS_AT_ONCE);
    struct index_batch batch;
    struct rows rows;

    batch_init(&batch, task->arena, index);
    TRY(db_query(
        task, index->db, SQL_TIDY_TERMS(.after = of->cursor_id, .most = WORDS_AT_ONCE), &rows));
    *ret_end = rows.count == 0;
    if (*ret_end)
        return 0;
    size_t gone_count = mark_words(&batch, &rows, gone, ids, dfs);
    TRY(lexicon_rows_tidy(task, index->db, &batch));
    if (gone_count > 0)
        batch_call(&batch,
                   db_call_new(batch.arena, SQL_TIDY_FORGET(.ids = sql_i64s(gone, gone_count))));
    batch_call(
        &batch,
        db_call_new(batch.arena,
                    SQL_TIDY_MOVE(.idx = of->idx,
                                  .cursor_id = sql_tidy_terms_row(&rows, rows.count - 1).id)));
    return batch_exec(task, index, batch.calls, batch.call_count);
}

/* co: some of its rows. */
AWAITS static int empty(struct task *task, struct index *index, const struct generation *of)
{
    struct db_call calls[] = {
        db_call(SQL_BUILD_CLEAN_LEAVES(.idx = of->idx, .after = -1)),
        db_call(SQL_BUILD_CLEAN_DOCS(.idx = of->idx, .after = INT64_MIN)),
    };
    struct db_call emptied = db_call(SQL_DROP_EMPTIED(.idx = of->idx));

    TRY(batch_exec(task, index, calls, ARRAY_LEN(calls)));
    if (calls[0].rows.affected + calls[1].rows.affected > 0)
        return 0;
    return batch_exec(task, index, &emptied, 1);
}

int drop_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
{
    const struct generation *of = NULL;
    bool end = false;

    *ret_more = false;
    for (size_t i = 0; i < all->count && of == NULL; i++)
        if (str_is(all->items[i].state, "dropped"))
            of = &all->items[i];
    if (of == NULL)
        return 0;
    if (of->began) {
        *ret_more = true;
        return empty(task, index, of);
    }
    /* Words of one that is being built stand in its memory, and would be taken for nobody's. */
    *ret_more = !any_building(all);
    if (!*ret_more)
        return 0;
    TRY(tidy(task, index, of, &end));
    if (!end)
        return 0;
    TRY(lexicon_rows_prefixes(task, index));
    struct db_call gone = db_call(SQL_GENERATION_GONE(.idx = of->idx));
    return batch_exec(task, index, &gone, 1);
}
