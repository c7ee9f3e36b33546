#pragma once
/* Counts the rows of a task's statements in its project's share (answer.h). */
#include "db/answer.h"

/* any: counts `bytes` of a row. 0, DB_TOO_LARGE or DB_BUSY. Not `bounded`: counts them in any case
 * and returns 0. */
int answer_count_rows(struct task *task, uint64_t bytes, bool bounded) MUSTCHECK;
/* any: `bytes` of rows are no longer counted. */
void answer_uncount_rows(struct task *task, uint64_t bytes);
/* co: for a task that had DB_BUSY and has freed its rows: waits until the project's share has room
 * for a whole answer, and takes this room. Tasks that each held a part of an answer would wait for
 * each other for ever. 0, DB_BUSY, -ECANCELED, -ETIMEDOUT. */
AWAITS int answer_wait(struct task *task, int64_t limit_ms) MUSTCHECK;
/* any: frees `result` with fn when the arena ends, or in db_answer_settle() if it is large. */
void answer_defer_free(struct task *task, void *result, uint64_t bytes, arena_fn fn);
