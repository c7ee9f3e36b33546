#pragma once
/*
 * Task: a coroutine with an arena, a deadline, a cancel flag and a log context. An HTTP request
 * embeds one, a workflow job embeds one, so db/ and fetch/ never know HTTP.
 *
 * Awaiting. An operation embeds a struct await on its own (arena) memory, starts, then calls
 * await_wait(), which suspends the coroutine until await_done(), the task's deadline or its
 * cancellation. Completion never resumes directly: it pushes to a ready queue that is drained in
 * each turn, so await_done() may be called from any libuv, libpq, curl or llhttp callback.
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
    const char *name;        /* name of its function, for the watch; set by task_start() */
    int64_t project; /* number of the project that the task works for; 0 = the process itself */
    int64_t db_us;   /* time spent waiting for the database (access log) */
    unsigned lasting_count; /* commits, writes and outgoing calls so far, which a repetition would
                               repeat */
    struct await *waiting;  /* the await that it is suspended on */
    struct list children;   /* tasks of task_all() */
    struct list sibling;
    struct task *parent;
};

struct await {
    struct task *task; /* the task that waits; NULL before and after */
    int rc;
    bool done;
    /* Called when the waiter leaves early (at the deadline, or cancelled): the operation must
     * forget this await before it returns. NULL makes the wait uninterruptible (thread-pool work,
     * commits). */
    void (*abandon)(struct await *await);
    struct loop_timer timer;
};

/* any: starts fn(task, arg) in a coroutine of its own at the next drain of the ready queue. The
 * caller zeroes the task and fills arena, deadline_ms and log first; the task's memory outlives fn.
 * A task cancelled before it runs still runs: its first await returns -ECANCELED. */
#define task_start(task, fn, arg) task_start_as(task, #fn, fn, arg)
/* any: task_start() with another name, borrowed until the task has ended. */
void task_start_as(struct task *task, const char *name, task_fn fn, void *arg);
/* any: sets the flag and wakes the task from an interruptible await with -ECANCELED; does the same
 * for the children of its task_all(). Never frees; nothing happens to a task that has ended. */
void task_cancel(struct task *task);
/* any: records that the task, and the tasks that wait for it, did something that outlasts a
 * rollback. */
void task_mark_lasting(struct task *task);
/* The task whose coroutine runs now; NULL on the loop's own stack. */
struct task *task_current(void);
/* Coroutines alive, stacks held (metrics). */
size_t task_count(void);
size_t task_stack_count(void);

/* any: prepares an await before its operation starts. */
void await_init(struct await *await);
/* co: suspends until done; returns the operation's rc, -ECANCELED or -ETIMEDOUT. Returns at once
 * when already done. `limit_ms` > 0 shortens the task's own deadline for this wait (0 = none). When
 * the task leaves early, abandon() is called once, before the return. An operation that hands
 * something over must check await->done and await->rc: it may have completed even though the wait
 * reports a cancellation. */
AWAITS int await_wait(struct task *task, struct await *await, int64_t limit_ms) MUSTCHECK;
/* any: completes the await with `rc`; a second call panics. */
void await_done(struct await *await, int rc);

/* co: lets other coroutines run for delay_ms; with 0 ms the task continues in the next turn, after
 * a poll for I/O. 0, -ECANCELED or -ETIMEDOUT (the task's deadline passed). */
AWAITS int task_sleep(struct task *task, int64_t delay_ms) MUSTCHECK;
/* co: for long computations, to be called between rows or every few kilobytes. Lets other
 * coroutines run when this one has run for a millisecond; otherwise only reads the clock.
 * Results as of task_sleep(). As after every await, look up again everything that another task
 * can change. */
AWAITS int task_yield_if_due(struct task *task) MUSTCHECK;
/* co: task_yield_if_due() for work that continues in any case: a task that is cancelled or late
 * notices it at its next wait. */
AWAITS void task_pause_if_due(struct task *task);

/* A call for task_all(). */
struct task_call {
    int (*fn)(struct task *task, void *arg); /* AWAITS */
    void *arg;
    int rc; /* result */
};
/* co: runs all calls concurrently, each in a coroutine of its own that shares the parent's arena,
 * deadline and log. Returns when all have ended: -ECANCELED or -ETIMEDOUT of the parent, else the
 * first non-zero rc in order, else 0. Cancelling the parent cancels all. */
AWAITS int task_all(struct task *task, struct task_call *calls, size_t count) MUSTCHECK;
