#pragma once
/*
 * What requests hold. Every row is counted while it arrives, for the arena of the task that asked
 * for it: a task (a request with all that it expands) may hold so many bytes, and all tasks of a
 * project a share of what the process has for requests. A row counts twice, for itself and for the
 * text that will be made of it: so nobody waits for room with rows in hand. Rows beyond are dropped
 * as they come: DB_TOO_LARGE, or DB_BUSY when others of the same project hold its share. Results of
 * writes are counted and never refused, because what they did is done; the process's own tasks
 * (tenant 0) are not counted.
 *
 * The same share counts answers that are not made of rows while their client does not read (http).
 */
#include <stddef.h>
#include <stdint.h>

#include "loop/shares.h"

struct answers_config {
    uint64_t per_answer;  /* bytes that one arena's results may hold */
    uint64_t per_process; /* of all; see db_answers_least() */
};

/* any: once in a process, before its first statement; without it nothing is bounded. */
void db_answers_init(const struct answers_config *config);
/* any: nothing is held any more. */
void db_answers_done(void);
/* any: what a process has for requests at least, for one answer of this size: half of it, which is
 * what one project may hold alone, is its rows and its text. */
static inline uint64_t db_answers_least(uint64_t per_answer)
{
    return 4 * per_answer;
}
/* any: the share of what requests hold, in bytes. */
struct shares *db_answers_shares(void);
/* any: what the task wanted to know of its rows is written down: large results are freed now, and
 * `bytes` of text are counted in their place until the arena ends. 0 or DB_BUSY: the project's
 * share is full, nothing is counted. */
int db_answer_settle(struct task *task, size_t bytes) MUSTCHECK;
/* any: what a task holds besides results is counted, and not any more; never refused. */
void db_answer_hold(struct task *task, uint64_t bytes);
void db_answer_release(struct task *task, uint64_t bytes);
/* any: bytes counted for an arena (metrics, tests). */
uint64_t db_answer_held(struct arena *arena);
