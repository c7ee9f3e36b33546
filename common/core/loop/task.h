#pragma once
/*
 * Task: a coroutine with an arena, a deadline, a cancel flag and a log context. An HTTP request
 * embeds one, a workflow job embeds one, so db/ and fetch/ never know HTTP.
 *
 * Awaiting. An operation embeds a struct await on its own (arena) memory, starts, then calls
 * await_wait(), which suspends the coroutine until await_done(), the task's deadline or its
 * cancellation. Completion never resumes directly: it pushes to a ready queue that is drained once
 * per turn, so await_done() may be called from any libuv, libpq, curl or llhttp callback.
 * Precedence of results: -ECANCELED, then -ETIMEDOUT, then the operation's own.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/result.h"
#include "log/log.h"
#include "loop/loop.h"

struct co;
struct await;
struct task;
typedef void (*task_fn)(struct task *task, void *arg);

struct task {
    struct arena *arena; /* borrowed; outlives the task */
    struct co *co;
    int64_t deadline_ms; /* monotonic, 0 = none */
    bool cancelled;
    struct log_ctx log;
    struct result_site site; /* where its last unexpected error arose: ERROR() */
    const char *name;        /* of what it runs, for the watch; task_start() sets it */
    int64_t tenant;          /* number of the project whose work it is; 0 = the process's own */
    int64_t db_us;           /* time spent waiting for the database (access log) */
    unsigned
        lasting; /* commits, writes and calls to others so far: what a repetition would repeat */
    struct await *waiting; /* what it is suspended on */
    struct list children;  /* tasks of task_all() */
    struct list sibling;
    struct task *parent;
};

struct await {
    struct task *task; /* who waits, NULL when nobody does (yet or any more) */
    int rc;
    bool done;
    /* Called when the waiter leaves early (deadline, cancel): the operation must forget this await
     * before it returns. NULL makes the wait uninterruptible (thread-pool work, commits). */
    void (*abandon)(struct await *await);
    struct loop_timer timer;
};

/* any: starts fn(task, arg) in a coroutine of its own at the next drain of the ready queue. The
 * caller zeroes the task and fills arena, deadline_ms and log first; the task's memory outlives fn.
 * A task cancelled before it runs still runs: its first await returns -ECANCELED. */
#define task_start(task, fn, arg) task_start_as(task, #fn, fn, arg)
void task_start_as(struct task *task, const char *name, task_fn fn, void *arg);
/* any: sets the flag and wakes the task from an interruptible await with -ECANCELED, and so for the
 * children of its task_all(). Never frees; nothing happens to a task that has ended. */
void task_cancel(struct task *task);
/* any: notes that the task, and those that wait for it, did something that outlasts a rollback. */
void task_lasts(struct task *task);
/* The task whose coroutine runs now; NULL on the loop's own stack. */
struct task *task_current(void);
/* Coroutines alive, stacks held (metrics). */
size_t task_count(void);
size_t task_stack_count(void);

/* any: prepares an await before its operation starts. */
void await_init(struct await *await);
/* co: suspends until done; returns the operation's rc, -ECANCELED or -ETIMEDOUT. Returns at once
 * when already done. `limit_ms` > 0 shortens the task's own deadline for this wait (0 = none).
 * On an early leave abandon() is called once, before the return. An operation that hands something
 * over looks at await->done and await->rc: it may have completed though the wait reports a cancel.
 */
AWAITS int await_wait(struct task *task, struct await *await, int64_t limit_ms) MUSTCHECK;
/* any: completes; a second call is a broken invariant. */
void await_done(struct await *await, int rc);

/* co: lets others run; 0 ms continues in the next turn, after a look at I/O. 0, -ECANCELED or
 * -ETIMEDOUT (the task's deadline passed). */
AWAITS int task_sleep(struct task *task, int64_t delay_ms) MUSTCHECK;
/* co: for a computation that goes on, between its rows or every few kilobytes: lets others run when
 * this one has lasted for a millisecond, else costs a look at the clock. Results as of
 * task_sleep(). Like every await: what another task can change is looked up again. */
AWAITS int task_yield_if_due(struct task *task) MUSTCHECK;
/* co: the same where what follows happens anyway: who was cancelled or is late notices at the
 * next wait. */
AWAITS void task_pause_if_due(struct task *task);

/* One of several calls that run together. */
struct task_call {
    int (*fn)(struct task *task, void *arg); /* AWAITS */
    void *arg;
    int rc; /* result */
};
/* co: runs all calls in coroutines of their own, sharing the parent's arena, deadline and log;
 * returns when all ended: -ECANCELED or -ETIMEDOUT of the parent, else the first non-zero rc in
 * order, else 0. Cancelling the parent cancels all. */
AWAITS int task_all(struct task *task, struct task_call *calls, size_t count) MUSTCHECK;
