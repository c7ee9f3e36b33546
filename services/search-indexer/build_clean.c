/*
 * Cleaning up before a build is resumed (build.c). Leaves are stored by word, not by record, so
 * leaves past the cursor can be anywhere in a generation. The keys of all leaves are read,
 * KEYS_AT_ONCE per statement, so that no statement takes longer in a larger generation.
 */
#include "build_clean.h"

#include "batch.h"
#include "batch_sql.h"
#include "index_sql.h"

#define KEYS_AT_ONCE 5000
#define DOCS_AT_ONCE 5000

struct build_cleanup {
    struct index *index;
    const struct generation *of;
    int64_t term, field, base; /* key of the last leaf that was read */
    int64_t record_id;
    bool more;
};

/* co: Reads the next keys of leaves and deletes the leaves past the cursor. */
AWAITS static int cleanup_leaves(struct task *task, struct build_cleanup *clean)
{
    int64_t *terms = ARENA_ARRAY(task->arena, terms, KEYS_AT_ONCE);
    int64_t *fields = ARENA_ARRAY(task->arena, fields, KEYS_AT_ONCE);
    int64_t *bases = ARENA_ARRAY(task->arena, bases, KEYS_AT_ONCE);
    size_t count = 0;
    struct rows rows;

    TRY(db_query(task,
                 clean->index->db,
                 SQL_BUILD_LEAVES(.idx = clean->of->idx,
                                  .term = clean->term,
                                  .field = clean->field,
                                  .base = clean->base,
                                  .most = KEYS_AT_ONCE),
                 &rows));
    clean->more = rows.count == KEYS_AT_ONCE;
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_build_leaves_row row = sql_build_leaves_row(&rows, i);
        clean->term = row.term_id;
        clean->field = row.field;
        clean->base = row.base;
        if (row.base <= clean->of->cursor_id)
            continue;
        terms[count] = row.term_id;
        fields[count] = row.field;
        bases[count++] = row.base;
    }
    if (count == 0)
        return 0;
    struct db_call drop = db_call(SQL_LEAVES_DROP(.idx = clean->of->idx,
                                                  .terms = sql_i64s(terms, count),
                                                  .fields = sql_i64s(fields, count),
                                                  .bases = sql_i64s(bases, count)));
    return batch_exec(task, clean->index, &drop, 1);
}

/* co: Deletes the next forward lists past the cursor and subtracts them from the documents. */
AWAITS static int cleanup_forwards(struct task *task, struct build_cleanup *clean)
{
    struct rows rows;
    struct db *tx;

    TRY(batch_begin(task, clean->index, &tx));
    TRY(db_query(
        task,
        tx,
        SQL_CLEAR_DOCS(.idx = clean->of->idx, .after = clean->record_id, .most = DOCS_AT_ONCE),
        &rows));
    const struct sql_clear_docs_row row = sql_clear_docs_row(&rows, 0);
    clean->record_id = row.record_id;
    clean->more = row.gone == DOCS_AT_ONCE;
    struct db_call count = db_call(SQL_GENERATION_COUNT(.idx = clean->of->idx, .count = -row.gone));
    return db_batch_commit(task, tx, &count, 1, NULL);
}

/* co: Repeats a step until it is done, each time with memory of its own. */
AWAITS static int cleanup_repeat(struct task *task,
                                 struct build_cleanup *clean,
                                 int (*step)(struct task *task, struct build_cleanup *clean))
{
    struct arena *own = task->arena;
    int rc = 0;

    for (clean->more = true; rc == 0 && clean->more;) {
        task->arena = arena_new(0);
        rc = index_must_stop(clean->index) ? INDEX_LOST : step(task, clean);
        arena_free(task->arena);
        task->arena = own;
    }
    return rc;
}

int build_clean(struct task *task, struct index *index, const struct generation *of)
{
    struct build_cleanup clean = {
        .index = index, .of = of, .field = -1, .base = -1, .record_id = of->cursor_id};

    TRY(cleanup_repeat(task, &clean, cleanup_leaves));
    return cleanup_repeat(task, &clean, cleanup_forwards);
}
