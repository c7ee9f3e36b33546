#pragma once
/*
 * Memory that requests hold.
 *
 * Each row is counted as it arrives, for the arena of the task that runs the statement. A task (a
 * request with all that it expands) may hold `per_answer` bytes, and all tasks of a project may
 * hold the project's share of what the process has for requests. In the share a row counts twice,
 * for itself and for the text that will be made of it, so no task waits for room while it holds
 * rows. Rows beyond a limit are dropped as they arrive: the result is DB_TOO_LARGE, or DB_BUSY when
 * other tasks of the same project hold the share.
 *
 * Results of writes outside of a transaction, and of statements sent together with COMMIT, are
 * counted and never refused, because the write has happened. Tasks of the process itself (tenant 0)
 * are not counted.
 *
 * The share also counts answers that are not made of rows, until their clients have read them
 * (http/bounds).
 */
#include <stddef.h>
#include <stdint.h>

#include "loop/shares.h"

struct answers_config {
    uint64_t per_answer;  /* bytes that the results of one arena may hold */
    uint64_t per_process; /* bytes of all arenas; at least db_answers_least() */
};

/* any: call once in a process, before its first statement. Without this call nothing is bounded. */
void db_answers_init(const struct answers_config *config);
/* any: frees the shares, of which nothing may be held. */
void db_answers_done(void);
/* any: the smallest per_process for answers of this size. One project alone may hold half of it:
 * the rows of one answer and their text. */
static inline uint64_t db_answers_least(uint64_t per_answer)
{
    return 4 * per_answer;
}
/* any: the projects' shares of the bytes that requests hold. Borrowed. */
struct shares *db_answers_shares(void);
/* any: call when the task has read its rows. Large results are freed now, and `bytes` of text are
 * counted until the arena ends. 0, or DB_BUSY when the project's share is full; the text is then
 * not counted. */
int db_answer_settle(struct task *task, size_t bytes) MUSTCHECK;
/* any: db_answer_hold() counts bytes that a task holds in addition to results, and is never
 * refused. db_answer_release() ends the count of `bytes` of them. */
void db_answer_hold(struct task *task, uint64_t bytes);
void db_answer_release(struct task *task, uint64_t bytes);
/* any: bytes counted for an arena (metrics, tests). */
uint64_t db_answer_held(struct arena *arena);
