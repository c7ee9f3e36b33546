#pragma once
/* What many records want because of one change: rows of search_work, some records at a time. */
#include "index.h"

/* co: the oldest row that is due, as far as a batch goes. *ret_more: there may be others. As
 * batch_run(). */
AWAITS int
spread_work(struct task *task, struct index *index, const struct generations *all, bool *ret_more)
    MUSTCHECK;
