#pragma once
/*
 * Builds a generation from all records of its entity, a page of records at a time: step 4 of a
 * round (app.h).
 *
 * Words and forward lists of a page are written with the page. Posting lists stay in memory until
 * they take GROUNDWORK_INDEX_BYTES. Then they are written, and after them the generation's
 * cursor: all records up to this id are in the tables. After a crash the rows past the cursor are
 * removed (build_clean.h), and the records past the cursor are read again. A process builds one
 * generation at a time. The old generation answers queries until the new one is complete.
 */
#include "index.h"

/* co: Does one step of a build: begins it, writes a page, or finishes it. *ret_more: this process
 * has more to do for the build. `quiet`: no changed record waits, which the last step needs.
 * Results as batch_run(). */
AWAITS int build_run(struct task *task,
                     struct index *index,
                     const struct generations *all,
                     bool quiet,
                     bool *ret_more) MUSTCHECK;
/* any: Whether this writer has passed its turn to build to another project. Its run ends, and it
 * claims the project again later. */
bool build_has_yielded(const struct index *index);
/* any: Ends the build of this writer, if it has one here, and frees its memory. A later run resumes
 * it from the cursor. */
void build_end(const struct index *index);
/* any: Notes records that were changed, ids ascending. Records whose postings are in memory are
 * indexed again after the postings have been written. */
void build_changed(const struct index *index, int64_t idx, struct sql_i64s ids);
/* co: Marks a generation that has malformed rows as failed and requests a new one. Results as
 * batch_run(). */
AWAITS int generation_replace(struct task *task, struct index *index, int64_t idx) MUSTCHECK;
