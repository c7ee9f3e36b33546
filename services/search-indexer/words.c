/* Rows of words. An id comes from the word cache (word_cache.h), from search_terms or, for a new
 * word, from the sequence; a statement takes WORDS_PER_STATEMENT words. */
#include "words.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/rand.h"
#include "batch_sql.h"
#include "loop/work.h"
#include "word_cache.h"

#define WORDS_PER_STATEMENT 5000
#define EXACT_BELOW         4 /* a lower df is kept exact; low, as each exact change writes a row */
#define FEW_BELOW           64 /* a lower df changes by df / FEW_STEPS, others by df / MANY_STEPS */
#define FEW_STEPS           2
#define MANY_STEPS          8

static void words_put_row(struct index_terms *terms, const struct sql_word_row *row)
{
    uint32_t number = terms_put(terms, row->term);
    struct word *word = &terms->items[number];

    word->id = (int32_t)row->id;
    word->df = (int32_t)row->df;
    word->part = (int32_t)row->part;
}

/* co: Has memory of its own: the rows of one statement are freed before the next one runs. */
AWAITS static int
words_query(struct task *task, struct db *db, struct index_terms *terms, struct db_call call)
{
    struct arena *own = task->arena;
    struct arena *arena = task->arena = arena_new(0);
    struct rows rows = {0};

    int rc = db_query(task, db, call.sql, call.params, call.param_count, &rows);
    for (size_t i = 0; rc == 0 && i < rows.count; i++) {
        const struct sql_word_row row = sql_word_row(&rows, i);
        words_put_row(terms, &row);
    }
    arena_free(arena);
    task->arena = own;
    return rc;
}

/* Reserves ids for words from `at` on that have none, WORDS_PER_STATEMENT at most. *ret_at: the
 * first word that is left. */
AWAITS static int words_reserve_chunk(
    struct task *task, struct db *db, struct index_terms *terms, size_t at, size_t *ret_at)
{
    struct rows rows;
    size_t end = at;
    size_t count = 0;
    size_t row = 0;

    for (; end < terms->count && count < WORDS_PER_STATEMENT; end++)
        count += terms->items[end].id == 0;
    *ret_at = end;
    if (count == 0)
        return 0;
    TRY(db_query(task, db, SQL_WORDS_RESERVE(.count = (int64_t)count), &rows));
    for (; at < end; at++) {
        struct word *word = &terms->items[at];
        if (word->id != 0)
            continue;
        word->id = (int32_t)sql_words_reserve_row(&rows, row++).id;
        word->fresh = true;
    }
    return 0;
}

AWAITS static int words_reserve_ids(struct task *task, struct db *db, struct index_terms *terms)
{
    int rc = 0;

    for (size_t at = terms->stored; at < terms->count && rc == 0;) {
        struct arena *own = task->arena;
        struct arena *arena = task->arena = arena_new(0);
        rc = words_reserve_chunk(task, db, terms, at, &at);
        arena_free(arena);
        task->arena = own;
    }
    return rc;
}

struct cached_words {
    struct word_cache *kept;
    struct index_terms *terms;
};

/* On a thread. */
static void cached_words_fill(void *arg)
{
    const struct cached_words *known = arg;

    word_cache_fill(known->kept, known->terms);
}

/* On a thread. */
static void cached_words_store(void *arg)
{
    const struct cached_words *known = arg;

    word_cache_store(known->kept, known->terms);
}

void words_store_in_cache(struct task *task, struct index *index, struct index_terms *terms)
{
    if (index->cache != NULL)
        work_off_thread(task, cached_words_store, &(struct cached_words){index->cache, terms});
}

int words_find(struct task *task, struct index *index, struct index_terms *terms)
{
    struct db *db = index->db;
    struct str *wanted = ARENA_ARRAY(task->arena, wanted, WORDS_PER_STATEMENT);
    size_t all = terms->count;
    size_t count = 0;

    if (index->cache != NULL)
        work_off_thread(task, cached_words_fill, &(struct cached_words){index->cache, terms});
    for (size_t i = terms->stored; i < all; i++) {
        if (terms->items[i].id == 0)
            wanted[count++] = terms->items[i].term;
        if (count == WORDS_PER_STATEMENT || (count > 0 && i + 1 == all)) {
            TRY(words_query(
                task, db, terms, db_call(SQL_WORDS_FIND(.terms = sql_strs(wanted, count)))));
            count = 0;
        }
    }
    return words_reserve_ids(task, db, terms);
}

static int words_order_ids(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

int words_read_ids(
    struct task *task, struct db *db, const int64_t *ids, size_t count, struct index_terms *terms)
{
    int64_t *wanted = ARENA_ARRAY(task->arena, wanted, count);
    size_t wanted_count = 0;
    size_t kept_count = 0;

    terms_index(terms);
    for (size_t i = 0; i < count; i++)
        if (terms_by_id(terms, (int32_t)ids[i]) == NULL)
            wanted[wanted_count++] = ids[i];
    if (wanted_count == 0)
        return 0;
    qsort(wanted, wanted_count, sizeof(*wanted), words_order_ids);
    for (size_t i = 0; i < wanted_count; i++)
        if (kept_count == 0 || wanted[kept_count - 1] != wanted[i])
            wanted[kept_count++] = wanted[i];
    for (size_t at = 0; at < kept_count; at += WORDS_PER_STATEMENT) {
        size_t some = kept_count - at < WORDS_PER_STATEMENT ? kept_count - at : WORDS_PER_STATEMENT;
        TRY(words_query(
            task, db, terms, db_call(SQL_WORDS_BY_ID(.ids = sql_i64s(wanted + at, some)))));
    }
    return 0;
}

void words_add_delta(struct index_terms *terms, int32_t id, int delta)
{
    struct word *word = terms_by_id(terms, id);

    if (word != NULL)
        word->delta += delta;
}

int32_t words_df(const struct word *word)
{
    int32_t exact = word->df + word->delta;
    int32_t step = word->df / (word->df < FEW_BELOW ? FEW_STEPS : MANY_STEPS);
    int32_t change = abs(word->delta);

    if (exact < 0)
        return 0;
    if (word->fresh || word->df < EXACT_BELOW || change >= step)
        return exact;
    if ((int64_t)(rand_u64() % (uint64_t)step) >= change)
        return word->df;
    return word->delta > 0 ? word->df + step : word->df - step;
}

static void words_add_new_call(struct index_batch *batch, size_t fresh)
{
    struct arena *arena = batch->arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, fresh);
    struct str *texts = ARENA_ARRAY(arena, texts, fresh);
    int64_t *dfs = ARENA_ARRAY(arena, dfs, fresh);
    int64_t *parts = ARENA_ARRAY(arena, parts, fresh);
    size_t count = 0;

    for (size_t i = batch->terms.stored; i < batch->terms.count; i++) {
        const struct word *word = &batch->terms.items[i];
        if (!word->fresh)
            continue;
        ids[count] = word->id;
        texts[count] = word->term;
        dfs[count] = word->df;
        parts[count++] = word->part;
    }
    batch_call(batch,
               db_call_new(arena,
                           SQL_WORDS_ADD(.ids = sql_i64s(ids, count),
                                         .terms = sql_strs(texts, count),
                                         .dfs = sql_i64s(dfs, count),
                                         .parts = sql_i64s(parts, count))));
}

/* lexicon_rows_calls() has set the df of all words; the df of words with a delta has changed. */
void words_calls(struct index_batch *batch)
{
    struct arena *arena = batch->arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, batch->terms.count - batch->terms.stored);
    int64_t *dfs = ARENA_ARRAY(arena, dfs, batch->terms.count - batch->terms.stored);
    size_t fresh = 0;
    size_t count = 0;

    for (size_t i = batch->terms.stored; i < batch->terms.count; i++) {
        const struct word *word = &batch->terms.items[i];
        fresh += word->fresh;
        if (word->fresh || word->delta == 0)
            continue;
        ids[count] = word->id;
        dfs[count++] = word->df;
    }
    if (fresh > 0)
        words_add_new_call(batch, fresh);
    if (count > 0)
        batch_call(
            batch,
            db_call_new(arena,
                        SQL_WORDS_COUNT(.ids = sql_i64s(ids, count), .dfs = sql_i64s(dfs, count))));
}
