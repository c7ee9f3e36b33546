#pragma once
/* Indexes records that changed: rows of the outbox with the bit of search. Step 2 of a round
 * (app.h). */
#include "index.h"

/* co: Indexes one batch of changed records. *ret_more: there may be more changed records. Results
 * as batch_run(). */
AWAITS int
live_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
/* any: Adds records of an entity to a batch: all of them for its live generation, and the records
 * up to the cursor for a generation that is being built. The build notes the records past the
 * cursor (build_changed()). Ids ascend, each once. */
struct index_batch;
void live_add_parts(struct index_batch *batch,
                    const struct generations *all,
                    const struct entity *entity,
                    struct sql_i64s ids);
