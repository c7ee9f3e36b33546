/*
 * Batches, the pipeline of changed records (app.h). A batch has three stages:
 *
 *     batch_prepare()   reads records, forward lists and words. This needs no transaction, because
 *                       only the holder of the lease writes the index.
 *     batch_compute()   finds which postings and forward lists differ, on a thread.
 *     batch_write()     is one transaction. It checks the lease, changes leaves chunk by chunk,
 *                       then runs the statements for words, lexicon rows and forward lists, and
 *                       the caller's statements.
 *
 * batch_run() applies the stages to slices of the records. One slice is mostly enough; a slice that
 * has too many words is halved. The caller's statements are in the last slice: if the process dies
 * before that slice, the records' rows of the outbox are still there, and indexing a record again
 * changes nothing.
 */
#include "batch.h"

#include "batch_sql.h"
#include "leaves_change.h"
#include "lexicon_rows.h"
#include "loop/work.h"
#include "queue_sql.h"
#include "word_cache.h"
#include "words.h"

#define CHANGES_MAX ((size_t)100000) /* changes of postings per transaction: some seconds */

void batch_init(struct index_batch *batch, struct arena *arena, struct index *index)
{
    *batch = (struct index_batch){.arena = arena, .index = index};
    terms_init(&batch->terms, arena);
}

void batch_add(struct index_batch *batch,
               const struct generation *of,
               const struct index_shape *fields,
               struct sql_i64s ids)
{
    const struct batch_part part = {
        .idx = of->idx, .shape = fields, .live = str_is(of->state, "live"), .ids = ids};

    if (ids.count > 0)
        ARENA_PUSH(batch->arena, batch->parts, batch->part_count, batch->part_cap, part);
}

void batch_call(struct index_batch *batch, struct db_call call)
{
    ARENA_PUSH(batch->arena, batch->calls, batch->call_count, batch->call_cap, call);
}

/* --- reading --- */

AWAITS static int
read_forwards(struct task *task, struct index_batch *batch, struct batch_part *part)
{
    struct rows rows;
    size_t at = 0;

    part->before = ARENA_ARRAY(batch->arena, part->before, part->ids.count);
    part->had_forward = ARENA_ARRAY(batch->arena, part->had_forward, part->ids.count);
    TRY(db_query(
        task, batch->index->db, SQL_FORWARDS_READ(.idx = part->idx, .ids = part->ids), &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_forwards_read_row row = sql_forwards_read_row(batch->arena, &rows, i);
        while (part->ids.items[at] < row.record_id)
            at++;
        part->had_forward[at] = true;
        if (forward_decode(batch->arena, row.terms, &part->before[at]) != 0) {
            batch->malformed_idx = part->idx;
            return INDEX_MALFORMED;
        }
        batch->pairs += part->before[at].count;
    }
    for (size_t i = 0; i < part->ids.count; i++) {
        part->added += part->docs.items[i].exists && !part->had_forward[i];
        part->removed += !part->docs.items[i].exists && part->had_forward[i];
    }
    return 0;
}

/* Replaces the numbers of words by their ids. */
static void docs_resolve_terms(struct index_batch *batch)
{
    for (size_t p = 0; p < batch->part_count; p++) {
        struct docs *docs = &batch->parts[p].docs;
        for (size_t i = 0; i < docs->count; i++) {
            struct forward_list *list = &docs->items[i].list;
            for (size_t k = 0; k < list->count; k++)
                list->items[k].term = batch->terms.items[list->items[k].term - 1].id;
            if (list->count > 0)
                (void)forward_sort(list->items, list->count);
        }
    }
}

/* --- changes of postings --- */

static void add_changes(struct index_batch *batch,
                        struct leaf_changes *changes,
                        size_t p,
                        int64_t id,
                        bool add,
                        const struct forward_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        leaf_changes_add(changes,
                         (struct posting_change){.part = (uint32_t)p,
                                                 .term = list->items[i].term,
                                                 .field = list->items[i].field,
                                                 .id = id,
                                                 .add = add});
    if (!batch->parts[p].live)
        return;
    /* A word in several fields of a record counts several times: df need not be exact. */
    for (size_t i = 0; i < list->count; i++)
        words_add_delta(&batch->terms, list->items[i].term, add ? 1 : -1);
}

/* Finds the changes of all records. Lists that do not differ are not written again. */
static void find_changes(struct index_batch *batch, struct leaf_changes *changes)
{
    for (size_t p = 0; p < batch->part_count; p++) {
        struct batch_part *part = &batch->parts[p];
        part->differs = ARENA_ARRAY(batch->arena, part->differs, part->ids.count);
        for (size_t i = 0; i < part->ids.count; i++) {
            struct forward_list added;
            struct forward_list gone;
            forward_diff(batch->arena, &part->before[i], &part->docs.items[i].list, &added, &gone);
            part->differs[i] =
                added.count + gone.count > 0 || part->docs.items[i].exists != part->had_forward[i];
            part->changed += part->differs[i];
            add_changes(batch, changes, p, part->ids.items[i], true, &added);
            add_changes(batch, changes, p, part->ids.items[i], false, &gone);
        }
    }
}

/* Reads the words of the old forward lists of live generations, because the df of these words
 * changes. The lists have only the words' ids. */
AWAITS static int read_gone_words(struct task *task, struct index_batch *batch)
{
    int64_t *ids = NULL;
    size_t count = 0;
    size_t cap = 0;

    for (size_t p = 0; p < batch->part_count; p++) {
        const struct batch_part *part = &batch->parts[p];
        for (size_t i = 0; part->live && i < part->ids.count; i++)
            for (size_t k = 0; k < part->before[i].count; k++)
                ARENA_PUSH(task->arena, ids, count, cap, part->before[i].items[k].term);
    }
    return words_read_ids(task, batch->index->db, ids, count, &batch->terms);
}

/* --- the transaction --- */

int batch_begin(struct task *task, struct index *index, struct db **ret_tx)
{
    struct db_call calls[] = {
        db_call(SQL_PLAN_BY_INDEX()),
        db_call(SQL_INDEX_OWN(.token = index->token)),
    };

    TRY(db_begin(task, index->db, ret_tx));
    TRY(db_batch(task, *ret_tx, calls, ARRAY_LEN(calls), NULL));
    if (calls[1].rows.count > 0)
        return 0;
    db_rollback(*ret_tx);
    return INDEX_LOST;
}

int batch_exec(struct task *task, struct index *index, struct db_call *calls, size_t count)
{
    struct db *tx;

    TRY(batch_begin(task, index, &tx));
    return db_batch_commit(task, tx, calls, count, NULL);
}

void batch_reset_attempts(struct index_batch *batch)
{
    if (batch->index->attempt <= 1)
        return;
    batch_call(batch, db_call_new(batch->arena, SQL_INDEX_PROGRESS()));
    batch->index->attempt = 1;
}

AWAITS static int touch_parts(struct task *task, struct index_batch *batch, struct db *tx)
{
    struct db_call *calls = ARENA_ARRAY(task->arena, calls, batch->part_count);

    for (size_t p = 0; p < batch->part_count; p++) {
        const struct batch_part *part = &batch->parts[p];
        calls[p] =
            db_call_new(task->arena,
                        SQL_INDEX_TOUCH(.idx = part->idx,
                                        .delta = (int64_t)part->added - (int64_t)part->removed));
    }
    TRY(db_batch(task, tx, calls, batch->part_count, NULL));
    for (size_t p = 0; p < batch->part_count; p++)
        if (calls[p].rows.count == 0)
            return INDEX_STALE;
    return 0;
}

/* Adds the statements for the forward lists of a part that differ. */
static void forward_calls(struct index_batch *batch, const struct batch_part *part)
{
    struct arena *arena = batch->arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, part->ids.count);
    int64_t *ats = ARENA_ARRAY(arena, ats, part->ids.count);
    int64_t *lens = ARENA_ARRAY(arena, lens, part->ids.count);
    int64_t *gone = ARENA_ARRAY(arena, gone, part->ids.count);
    size_t count = 0;
    size_t gone_count = 0;
    struct strbuf data;

    strbuf_init(&data, arena, BATCH_BYTES);
    for (size_t i = 0; i < part->ids.count; i++) {
        const struct doc *doc = &part->docs.items[i];
        if (!doc->exists && part->had_forward[i])
            gone[gone_count++] = doc->id;
        if (!doc->exists || !part->differs[i])
            continue;
        struct str bytes = forward_encode(arena, &doc->list);
        ids[count] = doc->id;
        ats[count] = (int64_t)data.len + 1;
        lens[count++] = (int64_t)bytes.len;
        strbuf_str(&data, bytes);
    }
    if (count > 0)
        batch_call(batch,
                   db_call_new(arena,
                               SQL_FORWARDS_PUT(.idx = part->idx,
                                                .ids = sql_i64s(ids, count),
                                                .ats = sql_i64s(ats, count),
                                                .lens = sql_i64s(lens, count),
                                                .data = strbuf_view(&data))));
    if (gone_count > 0)
        batch_call(
            batch,
            db_call_new(arena,
                        SQL_FORWARDS_DROP(.idx = part->idx, .ids = sql_i64s(gone, gone_count))));
}

AWAITS static int batch_write(struct task *task,
                              struct index_batch *batch,
                              struct leaf_changes *changes,
                              struct db *tx)
{
    if (batch->part_count > 0)
        TRY(touch_parts(task, batch, tx));
    size_t malformed_count = 0;
    int rc = leaf_changes_run(task, changes, tx, &malformed_count);
    if (rc == INDEX_MALFORMED)
        batch->malformed_idx = batch->parts[malformed_count].idx;
    TRY(rc);
    return db_batch_commit(task, tx, batch->calls, batch->call_count, NULL);
}

struct batch_computation {
    struct index_batch *batch;
    struct leaf_changes *changes;
};

/* On a thread: finds what differs. */
static void batch_compute(void *arg)
{
    struct batch_computation *compute = arg;

    docs_resolve_terms(compute->batch);
    terms_index(&compute->batch->terms);
    find_changes(compute->batch, compute->changes);
    leaf_changes_sort(compute->changes);
    for (size_t p = 0; p < compute->batch->part_count; p++)
        forward_calls(compute->batch, &compute->batch->parts[p]);
}

static size_t batch_records(const struct index_batch *batch)
{
    size_t count = 0;

    for (size_t p = 0; p < batch->part_count; p++)
        count += batch->parts[p].ids.count;
    return count;
}

/* co: Does everything that does not need the transaction. */
AWAITS static int
batch_prepare(struct task *task, struct index_batch *batch, struct leaf_changes *changes)
{
    struct index *index = batch->index;

    for (size_t p = 0; p < batch->part_count; p++) {
        struct batch_part *part = &batch->parts[p];
        TRY(source_read(task, index->db, part->shape, part->ids, &batch->terms, &part->docs));
        TRY(read_forwards(task, batch, part));
        for (size_t i = 0; i < part->docs.count; i++)
            batch->pairs += part->docs.items[i].list.count;
        if (batch->pairs > PAIRS_MAX && batch_records(batch) > 1)
            return DB_TOO_LARGE;
    }
    TRY(words_find(task, index, &batch->terms));
    TRY(read_gone_words(task, batch));
    work_off_thread(task, batch_compute, &(struct batch_computation){batch, changes});
    TRY(lexicon_rows_calls(task, index->db, batch));
    words_calls(batch);
    batch_reset_attempts(batch);
    return 0;
}

AWAITS static int write_slice(struct task *task, struct index_batch *batch)
{
    struct leaf_changes *changes = ARENA_NEW(batch->arena, changes);
    struct db *tx;

    leaf_changes_init(changes, batch->arena, batch);
    TRY(batch_prepare(task, batch, changes));
    if (changes->count > CHANGES_MAX && batch_records(batch) > 1)
        return DB_TOO_LARGE;
    TRY(batch_begin(task, batch->index, &tx));
    int rc = batch_write(task, batch, changes, tx);
    if (rc == INDEX_STALE || rc == INDEX_MALFORMED || rc == DB_TOO_LARGE)
        db_rollback(tx);
    return rc;
}

/* Runs a slice, and keeps the word cache equal to the tables: stores the slice's words after a
 * commit, and empties the cache after an error. After DB_TOO_LARGE, which has written nothing, the
 * cache stays. */
AWAITS static int run_slice(struct task *task, struct index_batch *batch)
{
    int rc = write_slice(task, batch);

    if (rc == 0)
        words_store_in_cache(task, batch->index, &batch->terms);
    else if (rc != DB_TOO_LARGE)
        word_cache_clear(batch->index->cache);
    return rc;
}

/* Runs records [from, to) of all parts as a batch with memory of its own. */
AWAITS static int batch_slice(struct task *task, struct index_batch *batch, size_t from, size_t to)
{
    struct arena *own = task->arena;
    struct arena *arena = task->arena = arena_new(0);
    struct index_batch slice;
    size_t *part_of = ARENA_ARRAY(arena, part_of, batch->part_count);
    size_t before = 0;

    batch_init(&slice, arena, batch->index);
    for (size_t p = 0; p < batch->part_count; p++) {
        struct batch_part part = batch->parts[p];
        size_t lo = from > before ? from - before : 0;
        size_t hi = to - before < part.ids.count ? to - before : part.ids.count;
        before += part.ids.count;
        if (lo >= part.ids.count)
            continue;
        part.ids = sql_i64s(part.ids.items + lo, hi - lo);
        part.changed = 0;
        part_of[slice.part_count] = p;
        ARENA_PUSH(arena, slice.parts, slice.part_count, slice.part_cap, part);
        if (before >= to)
            break;
    }
    for (size_t i = 0; to == batch_records(batch) && i < batch->call_count; i++)
        batch_call(&slice, batch->calls[i]);
    int rc = run_slice(task, &slice);
    for (size_t p = 0; rc == 0 && p < slice.part_count; p++)
        batch->parts[part_of[p]].changed += slice.parts[p].changed;
    batch->pairs += rc == 0 ? slice.pairs : 0;
    batch->malformed_idx = slice.malformed_idx;
    arena_free(arena);
    task->arena = own;
    return rc;
}

int batch_run(struct task *task, struct index_batch *batch)
{
    size_t all = batch_records(batch);
    size_t most = all;
    size_t some = all;
    size_t at = 0;

    do {
        size_t to = some < all - at ? at + some : all;
        int rc = batch_slice(task, batch, at, to);
        if (rc == DB_TOO_LARGE && to - at > 1) {
            most = some = (to - at) / 2;
            continue;
        }
        TRY(rc);
        at = to;
        some = some * 2 < most ? some * 2 : most;
    } while (at < all);
    return 0;
}
