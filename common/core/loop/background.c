/* Tasks of the daemon itself. */
#include "loop/background.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/panic.h"

struct background {
    struct task task;
    struct list link; /* in the list of running tasks */
    task_fn fn;
    void *arg;
    struct loop_hook hook;
};

static struct list running = {&running, &running};
static size_t alive;
static loop_fn wait_done_fn;
static void *waiting_arg;

struct background *background_new(int64_t limit_ms)
{
    struct background *background = calloc(1, sizeof(*background));

    MUST(background != NULL);
    background->task.arena = arena_new(0);
    background->task.deadline_ms = clock_mono_ms() + limit_ms;
    alive++;
    return background;
}

struct arena *background_arena(struct background *background)
{
    return background->task.arena;
}

static void wake_waiting(void)
{
    loop_fn done = wait_done_fn;

    if (alive > 0 || done == NULL)
        return;
    wait_done_fn = NULL;
    done(waiting_arg);
}

/* Called at the end of the turn, when the coroutine no longer uses the task. */
static void background_free(void *arg)
{
    struct background *background = arg;

    arena_free(background->task.arena);
    free(background);
    alive--;
    wake_waiting();
}

static void background_main(struct task *task, void *arg)
{
    struct background *background = arg;

    background->fn(task, background->arg);
    list_remove(&background->link);
    background->hook = (struct loop_hook){.fn = background_free, .arg = background};
    loop_at_tick_end(&background->hook);
}

void background_start_as(struct background *background, const char *name, task_fn fn, void *arg)
{
    background->fn = fn;
    background->arg = arg;
    list_append(&running, &background->link);
    task_start_as(&background->task, name, background_main, background);
}

void background_cancel(void)
{
    LIST_FOR (node, &running)
        task_cancel(&LIST_ITEM(node, struct background, link)->task);
}

void background_wait(loop_fn done, void *arg)
{
    wait_done_fn = done;
    waiting_arg = arg;
    wake_waiting();
}
