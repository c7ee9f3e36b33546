#pragma once
/*
 * Blocking work off the loop, on libuv's thread pool (sized at start: cores + 4). Each kind has a
 * limit, so that hashing never starves files and DNS, and projects take turns, so that no project's
 * flood delays the others.
 */
#include "base/result.h"
#include "loop/task.h"

typedef void (*work_fn)(void *arg);

enum work_kind { WORK_FILE, WORK_HASH, WORK_PARSE, WORK_KINDS };

/* any: sets how many pieces of work of a kind run at a time, and how many of one project may wait.
 * Defaults: cores, 256. */
void work_limit(enum work_kind kind, unsigned running, unsigned waiting);
/* any: divides the cores for WORK_HASH between `processes` processes: together they run one hash a
 * core at a time, and each at least one. */
void work_divide_hashes(unsigned processes);
/* co: runs fn(arg) on a thread. The wait for a thread is interruptible, the run is not, so arg may
 * live in the task's arena. -EAGAIN when too much work of the project waits, -ECANCELED,
 * -ETIMEDOUT. */
AWAITS int work_run(struct task *task, enum work_kind kind, work_fn fn, void *arg) MUSTCHECK;
/*
 * co: work_run() as WORK_PARSE for a computation that must be done in any case. fn(arg) runs on a
 * thread, never on the loop, and has ended when this returns, even if the task is cancelled or
 * late, or more than the project's share of tasks wait.
 *
 * The wait for a turn is therefore uninterruptible, and its queue has no limit of its own: it is
 * bounded by the tasks of the process (requests in flight, job slots), each of which waits once.
 * The wait ends, because a thread that runs a computation waits for no task; a daemon that stops
 * waits for it as for work_run(). Projects take turns, so work of cancelled tasks delays only its
 * own project.
 *
 * Use this for bounded computations whose result the task needs in any case: to settle a step, to
 * write what was read, to free what it holds. Each takes at most a second of a thread by the limits
 * of the product (bodies, outputs of steps, batches of the index). For a computation that is
 * useless once its task has left (an import, a picture) use work_run(), which ends with -ECANCELED.
 */
AWAITS void work_off_thread(struct task *task, work_fn fn, void *arg);
/* any: runs fn(arg) on a thread at some later time, without a task that waits: for freeing large
 * memory. In a process without a loop fn(arg) runs at once. */
void work_post(work_fn fn, void *arg);
