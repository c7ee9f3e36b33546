/* Flights: background work that several tasks may wait for. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "project/project_private.h"

struct waiter {
    struct await await;
    struct list link;
};

struct flight *flight_new(struct directory *directory, int64_t limit_ms)
{
    struct flight *flight = calloc(1, sizeof(*flight));

    if (flight == NULL)
        PANIC("out of memory");
    flight->directory = directory;
    flight->task.arena = arena_new(0);
    flight->task.deadline_ms = clock_mono_ms() + limit_ms;
    flight->task.cancelled = directory->closing;
    list_init(&flight->waiters);
    list_append(&directory->flights, &flight->link);
    return flight;
}

/* At the end of the turn: the coroutine has left the task for good. */
static void flight_free(void *arg)
{
    struct flight *flight = arg;
    struct directory *directory = flight->directory;

    arena_free(flight->task.arena);
    list_remove(&flight->link);
    free(flight);
    directory_close_when_idle(directory);
}

static void flight_main(struct task *task, void *arg)
{
    struct flight *flight = arg;
    struct list *node;

    int rc = flight->fn(task, flight->arg);
    if (rc < 0)
        rc = PROJECT_UNAVAILABLE;
    if (flight->end != NULL)
        flight->end(flight->arg);
    while ((node = list_shift(&flight->waiters)) != NULL)
        await_done(&LIST_ITEM(node, struct waiter, link)->await, rc);
    flight->hook = (struct loop_hook){.fn = flight_free, .arg = flight};
    loop_at_turn_end(&flight->hook);
}

void flight_run(struct flight *flight, flight_fn fn, flight_end_fn end, void *arg)
{
    flight->fn = fn;
    flight->end = end;
    flight->arg = arg;
    task_start(&flight->task, flight_main, flight);
}

static void flight_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

int flight_join(struct task *task, struct flight *flight)
{
    struct waiter waiter;

    await_init(&waiter.await);
    waiter.await.abandon = flight_abandon;
    list_init(&waiter.link);
    list_append(&flight->waiters, &waiter.link);
    return await_wait(task, &waiter.await, 0);
}
