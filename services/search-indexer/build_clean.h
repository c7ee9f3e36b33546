#pragma once
/* What a process that did not come to its end has left of a generation behind its cursor. */
#include "index.h"

/* co: it goes, some rows at a time. As batch_run(). */
AWAITS int build_clean(struct task *task, struct index *index, const struct generation *of)
    MUSTCHECK;
