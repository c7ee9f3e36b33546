#pragma once
/*
 * Blocking work off the loop, on libuv's thread pool (sized at start: cores + 4), with a limit per
 * kind so that hashing never starves files and DNS, and turns by project so that nobody's flood
 * holds up the others.
 */
#include "base/result.h"
#include "loop/task.h"

typedef void (*work_fn)(void *arg);

enum work_kind { WORK_FILE, WORK_HASH, WORK_PARSE, WORK_KINDS };

/* How many of a kind run at once and how many of one project's may wait. Defaults: cores, 256. */
void work_limit(enum work_kind kind, unsigned running, unsigned waiting);
/* So many processes hash beside each other: together one at a time a core, each at least one. */
void work_divide_hashes(unsigned processes);
/* co: runs fn(arg) on a thread. Waiting for a thread is interruptible; once running it is not, so
 * arg may live in the task's arena. -EAGAIN when too many of the project's wait, -ECANCELED,
 * -ETIMEDOUT. */
AWAITS int work_run(struct task *task, enum work_kind kind, work_fn fn, void *arg) MUSTCHECK;
/* co: the same for a computation that has to be done whatever happens: here when no thread can be
 * had, or the task has been cancelled or is late. */
AWAITS void work_beside(struct task *task, work_fn fn, void *arg);
/* any: fn(arg) on a thread, some time, for nobody to wait for: to free what is large. At once, in a
 * process that runs no loop. */
void work_later(work_fn fn, void *arg);
