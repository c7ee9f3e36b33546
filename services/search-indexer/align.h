#pragma once
/* Generations compared with the model: what is not as it should be is built anew, or goes. */
#include "index.h"

/* co: after each change of the model. As batch_run(). */
AWAITS int align_run(struct task *task, struct index *index, const struct generations *all)
    MUSTCHECK;
/* any: whether a generation that answers is of another version of terms, as after an update of the
 * program, and another one of its entity is neither made nor has failed. */
bool align_has_other_terms(const struct generations *all);
