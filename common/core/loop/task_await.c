/* Awaits: the one place where a coroutine waits, and where cancel, deadline and result are
 * ranked. */
#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "loop/co_private.h"
#include "loop/task.h"
#include "loop/watch.h"

#define YIELD_US 1000

static void await_on_due(void *arg)
{
    struct await *await = arg;

    co_ready(await->task->co);
}

void await_init(struct await *await)
{
    *await = (struct await){0};
    loop_timer_init(&await->timer, await_on_due, await);
}

void await_done(struct await *await, int rc)
{
    MUST(!await->done);
    await->done = true;
    await->rc = rc;
    if (await->task != NULL)
        co_ready(await->task->co);
}

/* The earlier of the task's deadline and the limit; 0 = none. */
static int64_t wait_due_ms(const struct task *task, int64_t limit_ms)
{
    if (limit_ms <= 0)
        return task->deadline_ms;
    int64_t due_ms = clock_mono_ms() + limit_ms;
    return task->deadline_ms != 0 && task->deadline_ms < due_ms ? task->deadline_ms : due_ms;
}

/* 0, -ECANCELED or -ETIMEDOUT. */
static int wait_early_rc(const struct task *task, int64_t due_ms)
{
    if (task->cancelled)
        return -ECANCELED;
    return due_ms != 0 && clock_mono_ms() >= due_ms ? -ETIMEDOUT : 0;
}

int await_wait(struct task *task, struct await *await, int64_t limit_ms)
{
    MUST(task == task_current() && await->task == NULL);
    int64_t due_ms = wait_due_ms(task, limit_ms);
    bool interruptible = await->abandon != NULL;

    await->task = task;
    task->waiting = await;
    if (!await->done && interruptible && due_ms != 0)
        loop_timer_start(&await->timer, due_ms - clock_mono_ms());
    while (!await->done && !(interruptible && wait_early_rc(task, due_ms) != 0))
        co_suspend();
    loop_timer_stop(&await->timer);
    task->waiting = NULL;
    await->task = NULL;
    int rc = wait_early_rc(task, due_ms);
    if (!await->done && interruptible)
        await->abandon(await);
    return rc != 0 ? rc : await->rc;
}

/* --- sleep --- */

static void on_slept(void *arg)
{
    await_done(arg, 0);
}

/* task_sleep() stops its own timer on every way out. */
static void sleep_abandon(struct await *await)
{
    (void)await;
}

int task_sleep(struct task *task, int64_t delay_ms)
{
    MUST(task == task_current());
    if (delay_ms <= 0) {
        co_yield ();
        return wait_early_rc(task, task->deadline_ms);
    }

    struct await await;
    struct loop_timer timer;
    await_init(&await);
    await.abandon = sleep_abandon;
    loop_timer_init(&timer, on_slept, &await);
    loop_timer_start(&timer, delay_ms);
    int rc = await_wait(task, &await, 0);
    loop_timer_stop(&timer);
    return rc;
}

int task_yield_if_due(struct task *task)
{
    return clock_mono_us() - watch_since_us() < YIELD_US ? 0 : task_sleep(task, 0);
}

void task_pause_if_due(struct task *task)
{
    if (task_yield_if_due(task) != 0)
        return;
}
