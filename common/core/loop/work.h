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
/* co: the same for a computation that has to be done whatever happens, as WORK_PARSE: fn(arg) runs
 * on a thread, never on the loop, and has ended when this returns, also for a task that has been
 * cancelled or is late, and also when more than the project's share of tasks wait.
 *
 * The wait for a turn is therefore uninterruptible and its queue has no limit of its own: it is
 * bounded by the tasks of the process (requests in flight, job slots), each of which waits once.
 * It ends, because a thread that runs a computation waits for no task; a daemon that stops waits
 * for it as for work_run(). Projects take turns, so work of cancelled tasks delays its own project
 * alone.
 *
 * For bounded computations whose result the task needs in any case: to settle a step, to write what
 * was read, to free what it holds. At most a second of a thread by the limits of the product
 * (bodies, outputs of steps, batches of the index). A computation that nobody needs when its waiter
 * has gone (an import, a picture) is work_run(), which ends with -ECANCELED. */
AWAITS void work_beside(struct task *task, work_fn fn, void *arg);
/* any: fn(arg) on a thread, some time, for nobody to wait for: to free what is large. At once, in a
 * process that runs no loop. */
void work_later(work_fn fn, void *arg);
