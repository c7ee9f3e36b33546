#pragma once
/* Indexes records that changed: rows of the outbox with the bit of search. Step 2 of a round
 * (app.h). */
#include "index.h"

/* co: Indexes one batch of them. *ret_more: there may be others. Results as batch_run(). */
AWAITS int
live_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
/* any: Adds records of an entity to a batch: all of them for its live generation, and those up to
 * the cursor for one that is being built. The build notes the others (build_changed()). Ids ascend,
 * each once. */
struct index_batch;
void live_add_parts(struct index_batch *batch,
                    const struct generations *all,
                    const struct entity *entity,
                    struct sql_i64s ids);
