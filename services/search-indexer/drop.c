/*
 * How a dropped generation is removed. Each call of drop_run() is one step:
 *
 *     generation_empty()   deletes its leaves, then its forward lists, ROWS_AT_ONCE at a time
 *     words_recount()      counts the postings of the project's words again, a page of words at a
 *                          time, corrects df and deletes words without postings
 *
 * Then the lexicon's rows of prefixes are made again, and the generation's row is deleted.
 */
#include "drop.h"

#include "base/clock.h"
#include "batch.h"
#include "batch_sql.h"
#include "index_sql.h"
#include "lexicon_rows.h"
#include "word_cache.h"

#define ROWS_AT_ONCE  5000 /* leaves, or forward lists */
#define WORDS_FIRST   20 /* the lowest ids are the most common words, which take longest to count */
#define WORDS_AT_ONCE 2000
#define WORDS_MS      100 /* intended time of one count: the next page's size adapts to it */

static bool has_building(const struct generations *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (str_is(all->items[i].state, "building"))
            return true;
    return false;
}

/* Compares df with the counted postings of a page of words. Words that changed get a .delta that is
 * not 0. Returns how many words have no postings; their ids are in `gone`. */
static size_t words_mark_changed(
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

/* co: Counts the postings of the next index->words_at_once words. Adapts index->words_at_once to
 * the time that the count took. */
AWAITS static int
words_count_postings(struct task *task, struct index *index, int64_t after, struct rows *ret_rows)
{
    int64_t began_ms = clock_mono_ms();

    if (index->words_at_once == 0)
        index->words_at_once = WORDS_FIRST;
    int rc = db_query(
        task, index->db, SQL_TIDY_TERMS(.after = after, .most = index->words_at_once), ret_rows);
    int64_t took_ms = clock_mono_ms() - began_ms;
    if (rc == DB_TIMEOUT && index->words_at_once > 1) {
        index->words_at_once = 1;
        return INDEX_STALE;
    }
    if (took_ms > WORDS_MS && index->words_at_once > 1)
        index->words_at_once /= 2;
    else if (took_ms < WORDS_MS / 2 && index->words_at_once * 2 <= WORDS_AT_ONCE)
        index->words_at_once *= 2;
    return rc;
}

AWAITS static int
words_recount(struct task *task, struct index *index, const struct generation *of, bool *ret_end)
{
    int64_t *gone = ARENA_ARRAY(task->arena, gone, WORDS_AT_ONCE);
    int64_t *ids = ARENA_ARRAY(task->arena, ids, WORDS_AT_ONCE);
    int64_t *dfs = ARENA_ARRAY(task->arena, dfs, WORDS_AT_ONCE);
    struct index_batch batch;
    struct rows rows;

    batch_init(&batch, task->arena, index);
    TRY(words_count_postings(task, index, of->cursor_id, &rows));
    *ret_end = rows.count == 0;
    if (*ret_end)
        return 0;
    word_cache_clear(index->cache);
    size_t gone_count = words_mark_changed(&batch, &rows, gone, ids, dfs);
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

/* While a generation is emptied, its cursor_id is a number below 0 that encodes the position `at`:
 * first the id of a word, for leaves, then the id of a record, for forward lists (`docs`). */
static int64_t drop_cursor(bool docs, int64_t at)
{
    return -(2 * at + (docs ? 1 : 0)) - 1;
}

AWAITS static int generation_clear_leaves(
    struct task *task, struct db *tx, const struct generation *of, int64_t at, struct db_call *next)
{
    struct rows rows;

    TRY(db_query(
        task, tx, SQL_CLEAR_LEAVES(.idx = of->idx, .term = at, .most = ROWS_AT_ONCE), &rows));
    const struct sql_clear_leaves_row row = sql_clear_leaves_row(&rows, 0);
    int64_t position = row.gone > 0 ? drop_cursor(false, row.term) : drop_cursor(true, 0);
    *next = db_call_new(task->arena, SQL_TIDY_MOVE(.idx = of->idx, .cursor_id = position));
    return 0;
}

AWAITS static int generation_clear_forwards(
    struct task *task, struct db *tx, const struct generation *of, int64_t at, struct db_call *next)
{
    struct rows rows;

    TRY(db_query(
        task, tx, SQL_CLEAR_DOCS(.idx = of->idx, .after = at - 1, .most = ROWS_AT_ONCE), &rows));
    const struct sql_clear_docs_row row = sql_clear_docs_row(&rows, 0);
    *next = row.gone > 0
                ? db_call_new(task->arena,
                              SQL_TIDY_MOVE(.idx = of->idx,
                                            .cursor_id = drop_cursor(true, row.record_id + 1)))
                : db_call_new(task->arena, SQL_DROP_EMPTIED(.idx = of->idx));
    return 0;
}

/* co: Deletes some rows. A cursor of 0 or above is left from the generation's previous state: the
 * deletion then begins with the first leaf. */
AWAITS static int
generation_empty(struct task *task, struct index *index, const struct generation *of)
{
    int64_t position = of->cursor_id < 0 ? -(of->cursor_id + 1) : 0;
    struct db_call next = {0};
    struct db *tx;

    TRY(batch_begin(task, index, &tx));
    TRY((position & 1) != 0 ? generation_clear_forwards(task, tx, of, position / 2, &next)
                            : generation_clear_leaves(task, tx, of, position / 2, &next));
    return db_batch_commit(task, tx, &next, 1, NULL);
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
    if (of->has_rows) {
        *ret_more = true;
        return generation_empty(task, index, of);
    }
    /* During a build some words have postings only in memory: words_recount() would delete them. */
    *ret_more = !has_building(all);
    if (!*ret_more)
        return 0;
    TRY(words_recount(task, index, of, &end));
    if (!end)
        return 0;
    TRY(lexicon_rows_prefixes(task, index));
    struct db_call gone = db_call(SQL_GENERATION_GONE(.idx = of->idx));
    return batch_exec(task, index, &gone, 1);
}
