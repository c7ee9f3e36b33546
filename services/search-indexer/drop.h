#pragma once
/* Generations that nobody reads any more, and words that nobody has. */
#include "index.h"

/* co: some of it. *ret_more: there is more to do. As batch_run(). */
AWAITS int
drop_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
