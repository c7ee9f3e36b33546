#pragma once
/*
 * A batch indexes some records as they are now, together with statements of the caller. Changed
 * records (live.c), records that depend on a change (fan_out.c) and records that are verified
 * (verify.c) are indexed by batches.
 *
 * A batch has one part per generation. batch_run() reads the records and their forward lists, finds
 * the differences, and writes posting lists, forward lists and words in one transaction under the
 * lease. A batch that has too many words is split into several transactions, and the caller's
 * statements are in the last one. Because records are read as they are now, the order of changes
 * and repetitions do no harm.
 */
#include "db/db.h"
#include "index.h"
#include "source.h"

#define BATCH_BYTES ((size_t)256 * 1024 * 1024) /* limit of a statement's data, never reached */

/* Records of one generation. */
struct batch_part {
    int64_t idx;
    const struct index_shape *shape;
    bool live;           /* the generation answers queries: its records count in the df of words */
    struct sql_i64s ids; /* ascending, each once */
    size_t changed;      /* records whose forward list differs */
    /* The members below belong to the records of one transaction: */
    struct docs docs; /* the records as they are now */
    struct forward_list *before;
    bool *had_forward;     /* the record had a forward list */
    bool *differs;         /* the forward list is new, changed or gone */
    size_t added, removed; /* records that enter and leave the index */
};

struct index_batch {
    struct index *index;
    struct arena *arena;
    struct index_terms terms;
    struct batch_part *parts;
    size_t part_count, part_cap;
    struct db_call *calls; /* statements at the end of the last transaction */
    size_t call_count, call_cap;
    size_t pairs;          /* pairs of term and field that were read, old and new */
    int64_t malformed_idx; /* INDEX_MALFORMED: the generation that has a malformed leaf or forward
                              list */
};

/* any: batch_init() begins an empty batch whose memory is `arena`. batch_add() adds a part: the
 * records `ids` (ascending, each once) of the generation `of`; `fields` and `ids` are borrowed, and
 * an empty `ids` adds nothing. batch_call() adds a statement to the end of the last transaction. */
void batch_init(struct index_batch *batch, struct arena *arena, struct index *index);
void batch_add(struct index_batch *batch,
               const struct generation *of,
               const struct index_shape *fields,
               struct sql_i64s ids);
void batch_call(struct index_batch *batch, struct db_call call);
/* co: Runs the batch. INDEX_LOST: another process has the lease, and the transaction that found
 * this wrote nothing. INDEX_STALE: a generation is gone, or a leaf has moved; read the generations
 * again (index_read_state()) and repeat. INDEX_MALFORMED: the generation batch->malformed_idx has a
 * malformed leaf or forward list. Otherwise 0 or a DB_*. */
AWAITS int batch_run(struct task *task, struct index_batch *batch) MUSTCHECK;

/* co: Opens a transaction of the writer, arena-owned. No other process can take the lease until the
 * transaction ends. INDEX_LOST, or a DB_*. */
AWAITS int batch_begin(struct task *task, struct index *index, struct db **ret_tx) MUSTCHECK;
/* any: Adds the statement that sets the lease's count of attempts back to 1, unless it is 1: a
 * committed batch is progress, so earlier crashes no longer count. */
void batch_reset_attempts(struct index_batch *batch);
/* co: Runs `calls` alone in a transaction of the writer. INDEX_LOST, or a DB_*. */
AWAITS int batch_exec(struct task *task, struct index *index, struct db_call *calls, size_t count)
    MUSTCHECK;
