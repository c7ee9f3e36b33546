/*
 * Leaves read, changed and written. Changes are sorted by list and id. Those of a list that lie
 * near each other are read as one stretch of leaves; one that stands alone reads one leaf.
 */
#include "leaves_change.h"

#include <stdlib.h>

#include "batch_sql.h"
#include "leaves_write.h"
#include "loop/work.h"

#define STRETCHES 500  /* read together */
#define NEAR      8192 /* ids: of one stretch */

void leaf_changes_init(struct leaf_changes *changes,
                       struct arena *arena,
                       const struct index_batch *batch)
{
    *changes = (struct leaf_changes){.arena = arena, .batch = batch};
}

void leaf_changes_add(struct leaf_changes *changes, struct leaf_change_of change)
{
    ARENA_PUSH(changes->arena, changes->items, changes->count, changes->cap, change);
}

static int order_changes(const void *left, const void *right)
{
    const struct leaf_change_of *a = left;
    const struct leaf_change_of *b = right;

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

static bool same_list(const struct leaf_change_of *a, const struct leaf_change_of *b)
{
    return a->part == b->part && a->term == b->term && a->field == b->field;
}

/* --- some of them --- */

struct stretch {
    size_t from, to; /* changes */
};

/* A leaf as it was read. */
struct leaf_read {
    struct leaf leaf;
    struct str place;
};

struct some {
    const struct leaf_changes *changes;
    struct arena *arena;
    int64_t idx;
    struct stretch *stretches;
    size_t count;
    struct leaf_read *leaves; /* of all stretches */
    int64_t *stretch_of;
    size_t leaf_count;
    struct leaf_writes writes;
    struct db_call *calls;
    size_t call_count, call_cap;
    int rc;
};

/* The next stretches of one part from `at` on; returns where the rest begins. */
static size_t take_some(struct some *some, size_t at)
{
    const struct leaf_changes *changes = some->changes;
    size_t first = at;

    some->count = 0;
    while (at < changes->count && changes->items[at].part == changes->items[first].part &&
           some->count < STRETCHES) {
        struct stretch *stretch = &some->stretches[some->count++];
        stretch->from = at++;
        while (at < changes->count && same_list(&changes->items[at], &changes->items[at - 1]) &&
               changes->items[at].id - changes->items[at - 1].id <= NEAR)
            at++;
        stretch->to = at;
    }
    return at;
}

AWAITS static int read_leaves(struct task *task, struct some *some, struct db *tx)
{
    const struct leaf_change_of *items = some->changes->items;
    struct arena *arena = some->arena;
    int64_t *terms = ARENA_ARRAY(arena, terms, some->count);
    int64_t *fields = ARENA_ARRAY(arena, fields, some->count);
    int64_t *los = ARENA_ARRAY(arena, los, some->count);
    int64_t *his = ARENA_ARRAY(arena, his, some->count);
    struct rows rows;

    for (size_t i = 0; i < some->count; i++) {
        const struct leaf_change_of *first = &items[some->stretches[i].from];
        terms[i] = first->term;
        fields[i] = first->field;
        los[i] = first->id;
        his[i] = items[some->stretches[i].to - 1].id;
    }
    TRY(db_query(task,
                 tx,
                 SQL_LEAVES_READ(.idx = some->idx,
                                 .terms = sql_i64s(terms, some->count),
                                 .fields = sql_i64s(fields, some->count),
                                 .los = sql_i64s(los, some->count),
                                 .his = sql_i64s(his, some->count)),
                 &rows));
    some->leaf_count = rows.count;
    some->leaves = ARENA_ARRAY(arena, some->leaves, rows.count);
    some->stretch_of = ARENA_ARRAY(arena, some->stretch_of, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_leaves_read_row row = sql_leaves_read_row(arena, &rows, i);
        some->leaves[i] = (struct leaf_read){{row.base, (int32_t)row.n, row.docs}, row.place};
        some->stretch_of[i] = row.i - 1;
    }
    return 0;
}

static void leaves_room(struct some *some)
{
    if (!leaf_writes_full(&some->writes))
        return;
    struct db_call calls[LEAF_CALLS];
    size_t count = leaf_writes_calls(&some->writes, calls);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(some->arena, some->calls, some->call_count, some->call_cap, calls[i]);
}

/* Changes [from, to) of one leaf. */
static int change_leaf(struct some *some, const struct leaf_read *read, size_t from, size_t to)
{
    const struct leaf *leaf = &read->leaf;
    const struct leaf_change_of *items = some->changes->items;
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
        return INDEX_BROKEN;
    for (size_t i = 0; i < made.count; i++) {
        const bool stands = i == 0 && leaf->docs.len > 0; /* the first has its base */
        leaves_room(some);
        if (made.items[i].n > 0 && stands)
            leaf_writes_set(&some->writes, read->place, &made.items[i]);
        else if (made.items[i].n > 0)
            leaf_writes_put(&some->writes, key, &made.items[i]);
        else if (stands)
            leaf_writes_drop(&some->writes, key, made.items[i].base);
    }
    return 0;
}

/* Leaves of one list, of several stretches: each once. */
static size_t
list_leaves(const struct some *some, size_t *at, size_t last, const struct leaf_read **list)
{
    size_t count = 0;

    for (; *at < some->leaf_count && some->stretch_of[*at] <= (int64_t)last; (*at)++)
        if (count == 0 || list[count - 1]->leaf.base < some->leaves[*at].leaf.base)
            list[count++] = &some->leaves[*at];
    return count;
}

static int change_list(
    struct some *some, size_t first, size_t last, const struct leaf_read **list, size_t count)
{
    static const struct leaf_read none = {0};
    const struct leaf_change_of *items = some->changes->items;
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

/* On a thread. */
static void change_some(void *arg)
{
    struct some *some = arg;
    const struct leaf_change_of *items = some->changes->items;
    const struct leaf_read **list =
        arena_alloc(some->arena, (some->leaf_count + 1) * sizeof(void *));
    size_t leaf = 0;

    some->rc = 0;
    for (size_t i = 0; i < some->count && some->rc == 0;) {
        size_t last = i;
        while (last + 1 < some->count &&
               same_list(&items[some->stretches[last + 1].from], &items[some->stretches[i].from]))
            last++;
        size_t count = list_leaves(some, &leaf, last, list);
        some->rc = change_list(some, i, last, list, count);
        i = last + 1;
    }
    struct db_call calls[LEAF_CALLS];
    size_t count = leaf_writes_calls(&some->writes, calls);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(some->arena, some->calls, some->call_count, some->call_cap, calls[i]);
}

AWAITS static int
run_some(struct task *task, struct some *some, struct db *tx, size_t from, size_t *ret_rest)
{
    some->stretches = ARENA_ARRAY(some->arena, some->stretches, STRETCHES);
    some->idx = some->changes->batch->parts[some->changes->items[from].part].idx;
    *ret_rest = take_some(some, from);
    TRY(read_leaves(task, some, tx));
    leaf_writes_init(&some->writes, some->arena, some->idx);
    work_beside(task, change_some, some);
    TRY(some->rc);
    if (some->call_count == 0)
        return 0;
    TRY(db_batch(task, tx, some->calls, some->call_count, NULL));
    size_t written = 0;
    for (size_t i = 0; i < some->call_count; i++)
        written += (size_t)some->calls[i].rows.affected;
    return written == some->writes.rows ? 0 : INDEX_STALE; /* somebody else has moved one */
}

int leaf_changes_run(struct task *task,
                     struct leaf_changes *changes,
                     struct db *tx,
                     size_t *ret_broken)
{
    struct arena *own = task->arena;
    int rc = 0;

    for (size_t at = 0; at < changes->count && rc == 0;) {
        struct some some = {.changes = changes, .arena = arena_new(0)};
        *ret_broken = changes->items[at].part;
        task->arena = some.arena;
        rc = run_some(task, &some, tx, at, &at);
        task->arena = own;
        arena_free(some.arena);
    }
    return rc;
}
