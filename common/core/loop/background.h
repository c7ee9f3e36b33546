#pragma once
/* Tasks of a daemon itself: claims, sweeps, rounds of housekeeping. Each has its own arena and
 * deadline and is freed when it ended. */
#include "loop/task.h"

/* any: runs fn(task, arg) in a coroutine; its awaits fail with -ETIMEDOUT after limit_ms. */
#define background_run(limit_ms, fn, arg) background_start(background_new(limit_ms), fn, arg)
/* any: memory for the argument of a task that is about to run: background_new(), fill,
 * background_start(). */
struct background *background_new(int64_t limit_ms);
struct arena *background_arena(struct background *background);
#define background_start(background, fn, arg) background_start_as(background, #fn, fn, arg)
void background_start_as(struct background *background, const char *name, task_fn fn, void *arg);
/* any: cancels all that run: whatever they wait for ends with -ECANCELED. */
void background_cancel(void);
/* any: calls done(arg) when no task is alive (any more). */
void background_wait(loop_fn done, void *arg);
