#pragma once
/* Tasks of a daemon itself: claims, sweeps, rounds of housekeeping. Each has its own arena and
 * deadline and is freed when it has ended. */
#include "loop/task.h"

/* any: runs fn(task, arg) in a coroutine; its awaits fail with -ETIMEDOUT after limit_ms. */
#define background_run(limit_ms, fn, arg) background_start(background_new(limit_ms), fn, arg)
/* any: a task that has not started yet, with an arena for its argument: background_new(), fill the
 * argument in background_arena(), background_start(). */
struct background *background_new(int64_t limit_ms);
struct arena *background_arena(struct background *background);
#define background_start(background, fn, arg) background_start_as(background, #fn, fn, arg)
/* any: background_start() with another name, borrowed until the task has ended. */
void background_start_as(struct background *background, const char *name, task_fn fn, void *arg);
/* any: cancels all of these tasks that run: their awaits end with -ECANCELED. */
void background_cancel(void);
/* any: calls done(arg) when no such task is alive, perhaps before it returns. */
void background_wait(loop_fn done, void *arg);
