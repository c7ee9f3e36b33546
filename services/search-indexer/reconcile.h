#pragma once
/* Compares generations with the model: requests a new generation for each entity whose index has
 * the wrong shape, and drops generations that are no longer wanted. */
#include "index.h"

/* co: Compares the generations `all` with index->model and stores the model's version. Call it
 * after each change of the model. Results as batch_run(). */
AWAITS int reconcile_run(struct task *task, struct index *index, const struct generations *all)
    MUSTCHECK;
/* any: Whether a live generation was made with another TOKENS_VERSION, as after an update of the
 * program, and its entity has no generation in the state 'building', 'failed' or 'purged'. */
bool reconcile_has_old_tokens(const struct generations *all);
