#pragma once
/* Removes generations that are no longer used, and words that no record has: the last step of a
 * round (app.h). */
#include "index.h"

/* co: Removes some rows of one such generation. *ret_more: there is more to do. Results as
 * batch_run(). */
AWAITS int
drop_run(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
