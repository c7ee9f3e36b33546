#pragma once
/* What the statements of a task hold of its share (answer.h), as their rows come and go. */
#include "db/answer.h"

/* any: counts bytes of a row; 0, DB_TOO_LARGE or DB_BUSY. Not `bounded`: counts as far as it goes.
 */
int answer_take(struct task *task, uint64_t bytes, bool bounded) MUSTCHECK;
void answer_give(struct task *task, uint64_t bytes);
/* co: after DB_BUSY and with its rows given back: waits until the project's share has room for a
 * whole answer, which is then the task's: many that each hold a part would wait for each other for
 * ever. 0, DB_BUSY, -ECANCELED, -ETIMEDOUT. */
AWAITS int answer_wait(struct task *task, int64_t limit_ms) MUSTCHECK;
/* any: frees `result` with fn when the arena ends, or at db_answer_settle() if it is large. */
void answer_keep(struct task *task, void *result, uint64_t bytes, arena_fn fn);
