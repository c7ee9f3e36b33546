#pragma once
/* Records that changed: rows of the outbox with the bit of search. */
#include "index.h"

/* co: some of them, in one transaction. *ret_more: there may be others. As batch_run(). */
AWAITS int
live_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
/* any: the parts of a batch that these records of an entity are: of its live generation, and of one
 * that is being built those that are in it already; ids ascend, each once. */
struct index_batch;
void live_parts(struct index_batch *batch,
                const struct generations *all,
                const struct entity *entity,
                struct sql_i64s ids);
