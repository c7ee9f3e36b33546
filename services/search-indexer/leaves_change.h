#pragma once
/* What is put into lists and taken out of them: leaves read, changed and written, some lists at a
 * time, in the caller's transaction. */
#include "batch.h"

struct leaf_change_of {
    int64_t id;
    int32_t term;
    uint32_t part; /* of the batch */
    int16_t field;
    bool add;
};

struct leaf_changes {
    const struct index_batch *batch;
    struct arena *arena;
    struct leaf_change_of *items;
    size_t count, cap;
};

void leaf_changes_init(struct leaf_changes *changes,
                       struct arena *arena,
                       const struct index_batch *batch);
void leaf_changes_add(struct leaf_changes *changes, struct leaf_change_of change);
/* any thread: once, when all of them are there. */
void leaf_changes_sort(struct leaf_changes *changes);
/* co: INDEX_BROKEN with the number of the part that cannot be read. */
AWAITS int
leaf_changes_run(struct task *task, struct leaf_changes *changes, struct db *tx, size_t *ret_broken)
    MUSTCHECK;
