/*
 * A pipeline of three stages over chunks (struct leaf_chunk) of the changes, which are sorted by
 * list and id:
 *
 *     read     leaf_chunk_read()     reads the leaves of a chunk, outside of the transaction
 *     change   leaf_chunk_change()   applies the changes to the leaves, on a thread
 *     write    leaf_chunk_write()    writes the leaves, in the transaction
 *
 * The stages run concurrently, each on its own chunk (leaf_pipeline_run()): while chunk n is
 * written, chunk n + 1 is changed and chunk n + 2 is read. The read is on another connection, which
 * sees the leaves as they were before the transaction; that is right for every list that the
 * transaction has not written. A chunk that begins with the last list of the chunk being written is
 * therefore read in the transaction, after the write (`reads_after_write`). A chunk that begins
 * with the last list of the chunk being changed is read one turn later.
 *
 * Changes of a list whose ids are near each other are a stretch and are read as one range of
 * leaves. A change that is far from all others reads one leaf.
 */
#include "leaves_change.h"

#include <stdlib.h>
#include <string.h>

#include "batch_sql.h"
#include "leaves_write.h"
#include "log/log.h"
#include "loop/work.h"
#include "queue_sql.h"

#define STRETCHES     2000                      /* in a chunk, at most */
#define STRETCH_BYTES ((size_t)4 * 1024 * 1024) /* of a chunk's leaves; then the chunk is full */
#define STRETCH_GAP   8192                      /* ids of a stretch have smaller gaps than this */

void leaf_changes_init(struct leaf_changes *changes,
                       struct arena *arena,
                       const struct index_batch *batch)
{
    *changes = (struct leaf_changes){.arena = arena, .batch = batch};
}

void leaf_changes_add(struct leaf_changes *changes, struct posting_change change)
{
    ARENA_PUSH(changes->arena, changes->items, changes->count, changes->cap, change);
}

static int order_changes(const void *left, const void *right)
{
    const struct posting_change *a = left;
    const struct posting_change *b = right;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    if (a->field != b->field)
        return a->field < b->field ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void leaf_changes_sort(struct leaf_changes *changes)
{
    if (changes->count > 1)
        qsort(changes->items, changes->count, sizeof(*changes->items), order_changes);
}

static bool is_same_posting_list(const struct posting_change *a, const struct posting_change *b)
{
    return a->part == b->part && a->term == b->term && a->field == b->field;
}

/* --- one chunk --- */

struct stretch {
    size_t from, to; /* indexes of changes */
};

/* A leaf as it was read, and its ctid. */
struct leaf_read {
    struct leaf leaf;
    struct str ctid;
    int64_t stretch;
};

/* A chunk: some stretches of one part, their leaves, and the statements that write them. */
struct leaf_chunk {
    const struct leaf_changes *changes;
    struct arena *arena;
    int64_t idx;
    struct stretch *stretches;
    size_t count;
    struct db_call read;
    struct leaf_read *leaves; /* of all stretches */
    size_t leaf_count;
    struct leaf_writes writes;
    struct db_call *calls;
    size_t call_count, call_cap;
    int rc;
};

/* Upper bound of the bytes of a stretch's leaves: stored as bits they are never longer. */
static size_t stretch_bytes(const struct leaf_chunk *some, const struct stretch *stretch)
{
    const struct posting_change *items = some->changes->items;

    return LEAF_BYTES + (size_t)(items[stretch->to - 1].id - items[stretch->from].id) / 8;
}

/* Takes the next stretches of one part from change `at` on, at least one. Returns the change after
 * them. */
static size_t leaf_chunk_fill(struct leaf_chunk *some, size_t at)
{
    const struct leaf_changes *changes = some->changes;
    size_t first = at;
    size_t bytes = 0;

    some->count = 0;
    while (at < changes->count && changes->items[at].part == changes->items[first].part &&
           some->count < STRETCHES && bytes < STRETCH_BYTES) {
        struct stretch *stretch = &some->stretches[some->count++];
        stretch->from = at++;
        while (at < changes->count &&
               is_same_posting_list(&changes->items[at], &changes->items[at - 1]) &&
               changes->items[at].id - changes->items[at - 1].id <= STRETCH_GAP)
            at++;
        stretch->to = at;
        bytes += stretch_bytes(some, stretch);
    }
    return at;
}

static void leaf_chunk_make_read(struct leaf_chunk *some)
{
    const struct posting_change *items = some->changes->items;
    struct arena *arena = some->arena;
    int64_t *terms = ARENA_ARRAY(arena, terms, some->count);
    int64_t *fields = ARENA_ARRAY(arena, fields, some->count);
    int64_t *los = ARENA_ARRAY(arena, los, some->count);
    int64_t *his = ARENA_ARRAY(arena, his, some->count);

    for (size_t i = 0; i < some->count; i++) {
        const struct posting_change *first = &items[some->stretches[i].from];
        terms[i] = first->term;
        fields[i] = first->field;
        los[i] = first->id;
        his[i] = items[some->stretches[i].to - 1].id;
    }
    some->read = db_call_new(arena,
                             SQL_LEAVES_READ(.idx = some->idx,
                                             .terms = sql_i64s(terms, some->count),
                                             .fields = sql_i64s(fields, some->count),
                                             .los = sql_i64s(los, some->count),
                                             .his = sql_i64s(his, some->count)));
}

static int order_leaves(const void *left, const void *right)
{
    const struct leaf_read *a = left;
    const struct leaf_read *b = right;

    if (a->stretch != b->stretch)
        return a->stretch < b->stretch ? -1 : 1;
    return (a->leaf.base > b->leaf.base) - (a->leaf.base < b->leaf.base);
}

/* The rows mostly come in this order, but SQL does not promise it. */
static void leaf_chunk_sort_leaves(struct leaf_chunk *some)
{
    const struct rows *rows = &some->read.rows;
    bool ordered = true;

    some->leaf_count = rows->count;
    some->leaves = ARENA_ARRAY(some->arena, some->leaves, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_leaves_read_row row = sql_leaves_read_row(some->arena, rows, i);
        some->leaves[i] =
            (struct leaf_read){{row.base, (int32_t)row.n, row.docs}, row.place, row.i - 1};
        ordered = ordered && (i == 0 || order_leaves(&some->leaves[i - 1], &some->leaves[i]) < 0);
    }
    if (!ordered)
        qsort(some->leaves, some->leaf_count, sizeof(*some->leaves), order_leaves);
}

static void leaf_chunk_make_room(struct leaf_chunk *some)
{
    if (!leaf_writes_full(&some->writes))
        return;
    struct db_call calls[LEAF_CALLS];
    size_t count = leaf_writes_calls(&some->writes, calls);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(some->arena, some->calls, some->call_count, some->call_cap, calls[i]);
}

/* Applies changes [from, to) to one leaf. */
static int
change_leaf(struct leaf_chunk *some, const struct leaf_read *read, size_t from, size_t to)
{
    const struct leaf *leaf = &read->leaf;
    const struct posting_change *items = some->changes->items;
    const struct leaf_key key = {items[from].term, items[from].field};
    int64_t *add = ARENA_ARRAY(some->arena, add, to - from);
    int64_t *take = ARENA_ARRAY(some->arena, take, to - from);
    size_t adds = 0;
    size_t takes = 0;
    struct leaves made = {0};

    for (size_t i = from; i < to; i++) {
        if (items[i].add)
            add[adds++] = items[i].id;
        else
            take[takes++] = items[i].id;
    }
    if (leaf_change(some->arena, leaf, add, adds, take, takes, &made) != 0)
        return INDEX_MALFORMED;
    for (size_t i = 0; i < made.count; i++) {
        const bool stands = i == 0 && leaf->docs.len > 0; /* replaces the leaf that was read */
        leaf_chunk_make_room(some);
        if (made.items[i].n > 0 && stands)
            leaf_writes_set(&some->writes, read->ctid, &made.items[i]);
        else if (made.items[i].n > 0)
            leaf_writes_put(&some->writes, key, &made.items[i]);
        else if (stands)
            leaf_writes_drop(&some->writes, key, made.items[i].base);
    }
    return 0;
}

/* The leaves of one list, each once: several stretches may have read the same one. */
static size_t leaf_chunk_list_leaves(const struct leaf_chunk *some,
                                     size_t *at,
                                     size_t last,
                                     const struct leaf_read **list)
{
    size_t count = 0;

    for (; *at < some->leaf_count && some->leaves[*at].stretch <= (int64_t)last; (*at)++)
        if (count == 0 || list[count - 1]->leaf.base < some->leaves[*at].leaf.base)
            list[count++] = &some->leaves[*at];
    return count;
}

static int change_list(
    struct leaf_chunk *some, size_t first, size_t last, const struct leaf_read **list, size_t count)
{
    static const struct leaf_read none = {0};
    const struct posting_change *items = some->changes->items;
    size_t from = some->stretches[first].from;
    size_t end = some->stretches[last].to;
    size_t at = 0;

    while (from < end) {
        while (at + 1 < count && list[at + 1]->leaf.base <= items[from].id)
            at++;
        bool before = count == 0 || list[at]->leaf.base > items[from].id;
        int64_t until = before ? (count > 0 ? list[at]->leaf.base : INT64_MAX)
                               : (at + 1 < count ? list[at + 1]->leaf.base : INT64_MAX);
        size_t to = from + 1;
        while (to < end && items[to].id < until)
            to++;
        TRY(change_leaf(some, before ? &none : list[at], from, to));
        from = to;
    }
    return 0;
}

/* On a thread: the change stage of a chunk. */
static void leaf_chunk_change(void *arg)
{
    struct leaf_chunk *some = arg;
    const struct posting_change *items = some->changes->items;
    size_t leaf = 0;

    leaf_chunk_sort_leaves(some);
    const struct leaf_read **list =
        arena_alloc(some->arena, (some->leaf_count + 1) * sizeof(void *));
    some->rc = 0;
    for (size_t i = 0; i < some->count && some->rc == 0;) {
        size_t last = i;
        while (last + 1 < some->count &&
               is_same_posting_list(&items[some->stretches[last + 1].from],
                                    &items[some->stretches[i].from]))
            last++;
        size_t count = leaf_chunk_list_leaves(some, &leaf, last, list);
        some->rc = change_list(some, i, last, list, count);
        i = last + 1;
    }
    struct db_call calls[LEAF_CALLS];
    size_t count = leaf_writes_calls(&some->writes, calls);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(some->arena, some->calls, some->call_count, some->call_cap, calls[i]);
}

/* The chunk from change `at` on, with memory of its own; NULL: no change is left. */
static struct leaf_chunk *
leaf_chunk_new(const struct leaf_changes *changes, size_t at, size_t *ret_rest)
{
    if (at == changes->count)
        return NULL;
    struct arena *arena = arena_new(0);
    struct leaf_chunk *some = ARENA_NEW(arena, some);
    *some = (struct leaf_chunk){.changes = changes, .arena = arena};
    some->stretches = ARENA_ARRAY(arena, some->stretches, STRETCHES);
    some->idx = changes->batch->parts[changes->items[at].part].idx;
    *ret_rest = leaf_chunk_fill(some, at);
    leaf_chunk_make_read(some);
    leaf_writes_init(&some->writes, arena, some->idx);
    return some;
}

static void leaf_chunk_free(struct leaf_chunk *some)
{
    if (some != NULL)
        arena_free(some->arena);
}

/* --- all chunks --- */

/* One turn of the pipeline: the chunk in each stage. */
struct leaf_pipeline {
    struct db *db, *tx;
    struct leaf_chunk *read, *change, *write; /* NULL: no chunk */
    bool reads_after_write;                   /* `read` begins with the last list of `write` */
};

/* Whether the last list of `one` is the first list of `other`. */
static bool leaf_chunks_share_list(const struct leaf_chunk *one, const struct leaf_chunk *other)
{
    const struct posting_change *items = one->changes->items;

    return is_same_posting_list(&items[one->stretches[one->count - 1].from],
                                &items[other->stretches[0].from]);
}

/* The lease is ours until the transaction ends: no other process changes leaves. */
AWAITS static int leaf_chunk_read(struct task *task, const struct leaf_pipeline *pipeline)
{
    struct leaf_chunk *some = pipeline->read;
    struct db_call calls[] = {db_call(SQL_PLAN_BY_INDEX()), some->read};

    task->arena = some->arena;
    TRY(db_batch(task, pipeline->db, calls, ARRAY_LEN(calls), NULL));
    some->read.rows = calls[1].rows;
    return 0;
}

AWAITS static int leaf_chunk_read_after_write(struct task *task,
                                              const struct leaf_pipeline *pipeline)
{
    task->arena = pipeline->read->arena;
    return db_batch(task, pipeline->tx, &pipeline->read->read, 1, NULL);
}

AWAITS static int leaf_chunk_write(struct task *task, const struct leaf_pipeline *pipeline)
{
    struct leaf_chunk *some = pipeline->write;
    size_t written = 0;

    task->arena = some->arena;
    if (some->call_count > 0)
        TRY(db_batch(task, pipeline->tx, some->calls, some->call_count, NULL));
    for (size_t i = 0; i < some->call_count; i++)
        written += (size_t)some->calls[i].rows.affected;
    return written == some->writes.rows ? 0 : INDEX_STALE; /* a leaf has moved */
}

/* Each call of task_all() is a task of its own, and only that task has the database's message: log
 * it here. */
static int leaf_pipeline_log(const struct task *task, int rc)
{
    if (rc == DB_FAILED)
        log_error("index.refused", L_STR("message", db_error(task)->message));
    return rc;
}

AWAITS static int leaf_pipeline_write(struct task *task, void *arg)
{
    const struct leaf_pipeline *pipeline = arg;
    int rc = pipeline->write != NULL ? leaf_chunk_write(task, pipeline) : 0;

    if (rc == 0 && pipeline->reads_after_write)
        rc = leaf_chunk_read_after_write(task, pipeline);
    return leaf_pipeline_log(task, rc);
}

AWAITS static int leaf_pipeline_read(struct task *task, void *arg)
{
    const struct leaf_pipeline *pipeline = arg;

    return leaf_pipeline_log(task,
                             pipeline->read != NULL && !pipeline->reads_after_write
                                 ? leaf_chunk_read(task, pipeline)
                                 : 0);
}

AWAITS static int leaf_pipeline_change(struct task *task, void *arg)
{
    const struct leaf_pipeline *pipeline = arg;

    if (pipeline->change == NULL)
        return 0;
    work_off_thread(task, leaf_chunk_change, pipeline->change);
    return pipeline->change->rc;
}

AWAITS static int leaf_pipeline_run(struct task *task, struct leaf_pipeline *pipeline)
{
    struct task_call calls[] = {
        {.fn = leaf_pipeline_write, .arg = pipeline},
        {.fn = leaf_pipeline_read, .arg = pipeline},
        {.fn = leaf_pipeline_change, .arg = pipeline},
    };

    return task_all(task, calls, ARRAY_LEN(calls));
}

static void leaf_pipeline_free(struct leaf_pipeline *pipeline)
{
    leaf_chunk_free(pipeline->read);
    leaf_chunk_free(pipeline->change);
    leaf_chunk_free(pipeline->write);
}

int leaf_changes_run(struct task *task,
                     struct leaf_changes *changes,
                     struct db *tx,
                     size_t *ret_malformed)
{
    size_t at = 0;
    struct leaf_chunk *next = leaf_chunk_new(changes, 0, &at);
    struct leaf_pipeline pipeline = {.db = changes->batch->index->db, .tx = tx, .read = next};
    int rc = 0;

    next = next != NULL ? leaf_chunk_new(changes, at, &at) : NULL;
    while (rc == 0 &&
           (pipeline.read != NULL || pipeline.change != NULL || pipeline.write != NULL)) {
        if (pipeline.change != NULL)
            *ret_malformed = changes->items[pipeline.change->stretches[0].from].part;
        rc = leaf_pipeline_run(task, &pipeline);
        leaf_chunk_free(pipeline.write);
        pipeline.write = pipeline.change;
        pipeline.change = pipeline.read;
        pipeline.read = NULL;
        pipeline.reads_after_write = false;
        if (next == NULL ||
            (pipeline.change != NULL && leaf_chunks_share_list(pipeline.change, next)))
            continue;
        pipeline.reads_after_write =
            pipeline.write != NULL && leaf_chunks_share_list(pipeline.write, next);
        pipeline.read = next;
        next = leaf_chunk_new(changes, at, &at);
    }
    leaf_chunk_free(next);
    leaf_pipeline_free(&pipeline);
    return rc;
}
