#pragma once
/*
 * Who holds the loop for long. All work of a process takes turns on one thread, so a coroutine that
 * computes for 20 ms makes every other request 20 ms late. A run, from the resume of a coroutine to
 * its next wait, and a batch of callbacks between two polls are measured in time of this thread's
 * processor: a busy machine does not make a run long. Precise to a millisecond; one clock read a
 * run, one more a millisecond.
 */
#include "loop/task.h"

/* What counts as long. Sanitizers make everything slower. */
#if defined(GW_SANITIZE)
#define WATCH_LONG_US 50000
#else
#define WATCH_LONG_US 5000
#endif

/* `task` has run for cpu_us; NULL: callbacks of sockets and timers, and what runs at a turn's end.
 * Called on the loop's own stack; the task has not gone yet, but may have ended. */
typedef void (*watch_fn)(const struct task *task, int64_t cpu_us);

/* any: what is called after a long run; NULL = nothing. */
void watch_on_long_run(watch_fn fn);
/* Since when the current run lasts, monotonic microseconds. */
int64_t watch_since_us(void);
