#pragma once
/* Deletes the rows of a generation past its cursor, which a process left when it died. */
#include "index.h"

/* co: Removes the leaves and forward lists of `of` past its cursor, some rows at a time. Results as
 * batch_run(). */
AWAITS int build_clean(struct task *task, struct index *index, const struct generation *of)
    MUSTCHECK;
