#pragma once
/*
 * Finds coroutines and callbacks that hold the loop for long. All work of a process takes turns on
 * one thread, so a coroutine that computes for 20 ms makes every other request 20 ms late. A run
 * (from the resume of a coroutine to its next wait) and a batch of callbacks between two polls are
 * measured in processor time of this thread, so a busy machine does not make a run long. The
 * precision is a millisecond; the cost is one clock read for each run and one more each
 * millisecond.
 */
#include "loop/task.h"

/* A run of this length is long. Sanitizers make everything slower. */
#if defined(GW_SANITIZE)
#define WATCH_LONG_US 50000
#else
#define WATCH_LONG_US 5000
#endif

/* Called after a long run. `task` has run for cpu_us; NULL: callbacks of sockets and timers, and
 * hooks at a turn's end. Called on the loop's own stack; the task may have ended, but its memory is
 * still valid. */
typedef void (*watch_fn)(const struct task *task, int64_t cpu_us);

/* any: sets the function that is called after a long run; NULL = none. */
void watch_on_long_run(watch_fn fn);
/* When the current run began, in monotonic microseconds. */
int64_t watch_since_us(void);
