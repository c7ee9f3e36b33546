#pragma once
/*
 * Compares generations with the model. Drops generations of entities that are gone or no longer
 * searched. A searched entity with a generation in the state 'purged' is skipped. For any other
 * searched entity a build of another shape than shape_wanted() is dropped. Then a generation is
 * requested if none is being built, and
 *  - the live generation has another shape, or
 *  - there is no live generation, and no build of the wanted shape has failed.
 */
#include "index.h"

/* co: Compares the generations `all` with index->model and stores the model's version. Call it
 * after each change of the model. Results as batch_run(). */
AWAITS int reconcile_run(struct task *task, struct index *index, const struct generations *all)
    MUSTCHECK;
/* any: Whether a live generation was made with another TOKENS_VERSION, as after an update of the
 * program, and its entity has no generation in the state 'building', 'failed' or 'purged'. */
bool reconcile_has_old_tokens(const struct generations *all);
