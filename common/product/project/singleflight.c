/* Singleflight: background work that several tasks wait for. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "project/project_private.h"

struct waiter {
    struct await await;
    struct list link;
};

struct singleflight *singleflight_new(struct directory *directory, int64_t limit_ms)
{
    struct singleflight *singleflight = calloc(1, sizeof(*singleflight));

    if (singleflight == NULL)
        PANIC("out of memory");
    singleflight->directory = directory;
    singleflight->task.arena = arena_new(0);
    singleflight->task.deadline_ms = clock_mono_ms() + limit_ms;
    singleflight->task.cancelled = directory->closing;
    list_init(&singleflight->waiters);
    list_append(&directory->singleflights, &singleflight->link);
    return singleflight;
}

/* Runs at the end of a tick of the loop: by then the coroutine has ended. */
static void singleflight_free(void *arg)
{
    struct singleflight *singleflight = arg;
    struct directory *directory = singleflight->directory;

    arena_free(singleflight->task.arena);
    list_remove(&singleflight->link);
    free(singleflight);
    directory_close_when_idle(directory);
}

static void singleflight_main(struct task *task, void *arg)
{
    struct singleflight *singleflight = arg;
    struct list *node;

    int rc = singleflight->fn(task, singleflight->arg);
    if (rc < 0)
        rc = PROJECT_UNAVAILABLE;
    if (singleflight->end != NULL)
        singleflight->end(singleflight->arg);
    while ((node = list_shift(&singleflight->waiters)) != NULL)
        await_done(&LIST_ITEM(node, struct waiter, link)->await, rc);
    singleflight->hook = (struct loop_hook){.fn = singleflight_free, .arg = singleflight};
    loop_at_tick_end(&singleflight->hook);
}

void singleflight_run(struct singleflight *singleflight,
                      singleflight_fn fn,
                      singleflight_end_fn end,
                      void *arg)
{
    singleflight->fn = fn;
    singleflight->end = end;
    singleflight->arg = arg;
    task_start(&singleflight->task, singleflight_main, singleflight);
}

static void flight_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

int singleflight_join(struct task *task, struct singleflight *singleflight)
{
    struct waiter waiter;

    await_init(&waiter.await);
    waiter.await.abandon = flight_abandon;
    list_init(&waiter.link);
    list_append(&singleflight->waiters, &waiter.link);
    return await_wait(task, &waiter.await, 0);
}
