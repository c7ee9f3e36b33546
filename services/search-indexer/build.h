#pragma once
/*
 * A generation from nothing. Records are read page by page; of each page words and forward lists
 * are written at once, posting lists stay in memory until there are enough of them, and with them
 * goes the cursor: what a process leaves behind that dies is taken out behind the cursor and read
 * again. A process builds one at a time; the old generation answers meanwhile.
 */
#include "index.h"

/* co: one page, or one step at the end. *ret_more: there is more to do here. `quiet`: no changed
 * record waits. As batch_run(). */
AWAITS int build_run(struct task *task,
                     struct index *index,
                     const struct generations *all,
                     bool quiet,
                     bool *ret_more) MUSTCHECK;
/* any: this writer has passed its turn to build on to another project: it ends, and comes again. */
bool build_yields(const struct index *index);
/* any: this writer builds no more, and what is in memory goes. */
void build_end(const struct index *index);
/* any: these records were changed: those that stand in memory are read once more. Ids ascend. */
void build_changed(const struct index *index, int64_t idx, struct sql_i64s ids);
/* co: the generation cannot be read: it has failed, and another one is asked for. */
AWAITS int build_replace(struct task *task, struct index *index, int64_t idx) MUSTCHECK;
