#pragma once
/* Indexes the many records that depend on one change: rows of search_work. Step 3 of a round
 * (app.h). */
#include "index.h"

/* co: Does one step of the oldest row that is due, at most a batch of records. *ret_more: a row was
 * due, so there may be further work. Results as batch_run(). */
AWAITS int index_fan_out_run(struct task *task,
                             struct index *index,
                             const struct generations *all,
                             bool *ret_more) MUSTCHECK;
