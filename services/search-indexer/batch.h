#pragma once
/*
 * Changes of some records, in one transaction, or, where they have too many words for it, in
 * several: postings, forward lists, words and, in the last one, whatever the caller adds, under the
 * lease. Records are read as they are now, so that order and repetition do
 * no harm.
 */
#include "db/db.h"
#include "index.h"
#include "source.h"

#define BATCH_BYTES ((size_t)256 * 1024 * 1024) /* of one statement, far above what there is */

/* Records of one generation. */
struct batch_part {
    int64_t idx;
    const struct index_shape *shape;
    bool live;           /* its documents count for how common words are */
    struct sql_i64s ids; /* ascending, each once */
    size_t changed;      /* whose lists differ */
    /* Of those that one transaction takes: */
    struct docs docs; /* as they are now */
    struct forward_list *before;
    bool *had;          /* there was a forward list */
    bool *differs;      /* it is not as it was */
    size_t added, gone; /* documents */
};

struct index_batch {
    struct index *index;
    struct arena *arena;
    struct index_terms terms;
    struct batch_part *parts;
    size_t part_count, part_cap;
    struct db_call *calls; /* of the caller, in the same transaction, at its end */
    size_t call_count, call_cap;
    size_t pairs;   /* words of records that were read */
    int64_t broken; /* INDEX_BROKEN: the generation whose leaf or list cannot be read */
};

void batch_init(struct index_batch *batch, struct arena *arena, struct index *index);
void batch_add(struct index_batch *batch,
               const struct generation *of,
               const struct index_shape *shape,
               struct sql_i64s ids);
void batch_call(struct index_batch *batch, struct db_call call);
/* co: all of it. INDEX_LOST: the lease is another's, nothing was written; INDEX_STALE: a generation
 * has gone meanwhile, look again; INDEX_BROKEN: batch->broken cannot be read; or a DB_*. */
AWAITS int batch_run(struct task *task, struct index_batch *batch) MUSTCHECK;

/* co: opens the writer's transaction: the lease is ours until its end. INDEX_LOST, or a DB_*. */
AWAITS int batch_begin(struct task *task, struct index *index, struct db **ret_tx) MUSTCHECK;
/* any: the statement for a transaction that has got somewhere, added to the batch. */
void batch_progress(struct index_batch *batch);
/* co: a transaction of nothing but these; the same results. */
AWAITS int batch_exec(struct task *task, struct index *index, struct db_call *calls, size_t count)
    MUSTCHECK;
