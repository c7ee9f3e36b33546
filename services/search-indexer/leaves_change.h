#pragma once
/* Changes posting lists: reads, changes and writes leaves in the transaction of a batch (batch.c),
 * some lists at a time. */
#include "batch.h"

/* A record's id that is added to a posting list or removed from it. */
struct posting_change {
    int64_t id;
    int32_t term;
    uint32_t part; /* index of the batch's part */
    int16_t field;
    bool add;
};

struct leaf_changes {
    const struct index_batch *batch;
    struct arena *arena;
    struct posting_change *items;
    size_t count, cap;
};

/* any: leaf_changes_init() begins an empty set of changes for a batch, which is borrowed.
 * leaf_changes_add() adds one. */
void leaf_changes_init(struct leaf_changes *changes,
                       struct arena *arena,
                       const struct index_batch *batch);
void leaf_changes_add(struct leaf_changes *changes, struct posting_change change);
/* any thread: Sorts the changes; once, after all have been added. */
void leaf_changes_sort(struct leaf_changes *changes);
/* co: Applies the changes in `tx`. INDEX_MALFORMED: *ret_malformed is the index of the part that
 * has a malformed leaf. INDEX_STALE: a leaf has moved. Otherwise 0 or a DB_*. */
AWAITS int leaf_changes_run(struct task *task,
                            struct leaf_changes *changes,
                            struct db *tx,
                            size_t *ret_malformed) MUSTCHECK;
