#pragma once
/* Tests of bus/: a task on a loop of its own, with the test's own Redis and a bus on it. */
#include "deadline.h"

#include <errno.h>

#include "bus/bus.h"
#include "pg.h"
#include "redis/redis.h"

static const char *bus_url;

struct bus_world {
    struct task task;
    struct redis *redis;
    void (*fn)(struct task *task, struct redis *redis);
};

UNUSED static void pause_ms(struct task *task, int64_t ms)
{
    assert_int_equal(task_sleep(task, ms), 0);
}

static void run_bus_world(struct task *task, void *arg)
{
    struct bus_world *world = arg;

    world->redis = redis_new(&(const struct str){bus_url, strlen(bus_url)}, 1);
    assert_non_null(world->redis);
    WAIT_FOR(task, redis_up(world->redis));
    world->fn(task, world->redis);
    redis_free(world->redis);
    loop_stop();
}

UNUSED static void run(void (*fn)(struct task *task, struct redis *redis))
{
    struct bus_world world = {.fn = fn};

    loop_init();
    world.task.arena = arena_new(0);
    task_start(&world.task, run_bus_world, &world);
    loop_run();
    arena_free(world.task.arena);
    assert_int_equal(task_count(), 0);
}

UNUSED static int with_redis(void **state UNUSED)
{
    bus_url = redis_start();
    return 0;
}

UNUSED static int without_redis(void **state UNUSED)
{
    redis_stop();
    return 0;
}

/* --- direct commands to Redis --- */

/* Sends a command, its words separated by single spaces; returns its number, or the length of its
 * array. */
UNUSED static int64_t ask(struct task *task, struct redis *redis, const char *words)
{
    struct str rest = str_from(words);
    struct str argv[32];
    struct redis_reply reply = {0};
    size_t argc = 0;

    while (rest.ptr)
        argv[argc++] = str_split(&rest, ' ');
    int rc;
    WAIT_FOR(task, (rc = redis_cmd(task, redis, &reply, argc, argv)) != REDIS_UNAVAILABLE);
    if (rc == REDIS_ERROR)
        fail_msg("%s: %.*s", words, STR_ARG(reply.text));
    assert_int_equal(rc, 0);
    return reply.kind == REDIS_KIND_ARRAY ? (int64_t)reply.count : reply.number;
}

/* Returns the number of entries in the topic's sixteen streams. */
UNUSED static int64_t
entries_left(struct task *task, struct redis *redis, const char *topic, bool dead)
{
    int64_t left = 0;

    for (int i = 0; i < BUS_PARTITIONS; i++)
        left +=
            ask(task,
                redis,
                arena_printf(task->arena, "XLEN %s:%s{p%d}", topic, dead ? "dead:" : "", i).ptr);
    return left;
}

UNUSED static void
make_groups(struct task *task, struct redis *redis, const char *topic, const char *group)
{
    for (int i = 0; i < BUS_PARTITIONS; i++)
        (void)ask(
            task,
            redis,
            arena_printf(task->arena, "XGROUP CREATE %s:{p%d} %s 0 MKSTREAM", topic, i, group).ptr);
}

/* --- a consumer that records --- */

#define RECEIVED_MAX 20000

struct subscriber {
    unsigned calls, received; /* received: entries of calls that returned 0 */
    int rc;                   /* result of the handler */
    unsigned fail_first;      /* number of first calls that fail */
    int64_t delay_ms;         /* duration of each call */
    bool hold;                /* calls do not end */
    int64_t last_us;          /* when the last call began */
    unsigned most_deliveries;
    unsigned running, most_running;
    uint8_t seen[RECEIVED_MAX]; /* by row_id: how often received */
    struct bus_entry last;      /* without its texts */
    char kind[32], id[32], traceparent[64];
};

UNUSED static int
on_entries(struct task *task, const struct bus_entry *entries, size_t count, void *arg)
{
    struct subscriber *subscriber = arg;

    subscriber->last_us = clock_mono_us();
    subscriber->calls++;
    subscriber->last = entries[count - 1];
    (void)snprintf(
        subscriber->kind, sizeof(subscriber->kind), "%.*s", STR_ARG(subscriber->last.kind));
    (void)snprintf(subscriber->id, sizeof(subscriber->id), "%.*s", STR_ARG(subscriber->last.id));
    (void)snprintf(subscriber->traceparent,
                   sizeof(subscriber->traceparent),
                   "%.*s",
                   STR_ARG(subscriber->last.traceparent));
    for (size_t i = 0; i < count; i++) {
        if (entries[i].deliveries > subscriber->most_deliveries)
            subscriber->most_deliveries = entries[i].deliveries;
        assert_in_range(entries[i].partition, 0, BUS_PARTITIONS - 1);
        assert_int_equal(entries[i].partition, entries[0].partition);
    }
    if (++subscriber->running > subscriber->most_running)
        subscriber->most_running = subscriber->running;
    int rc = subscriber->delay_ms > 0 ? task_sleep(task, subscriber->delay_ms) : 0;
    while (rc == 0 && subscriber->hold)
        rc = task_sleep(task, 1);
    subscriber->running--;
    if (rc == 0 && subscriber->fail_first > 0) {
        subscriber->fail_first--;
        rc = 1;
    }
    if (rc == 0)
        rc = subscriber->rc;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        subscriber->received++;
        if (entries[i].row_id < RECEIVED_MAX)
            subscriber->seen[entries[i].row_id]++;
    }
    return rc;
}

/* Returns a bus whose consumer of topic evt, group tests, calls `subscriber`; retry_ms 0 = the
 * default. */
UNUSED static struct bus *
start_bus(struct redis *redis, struct subscriber *subscriber, int64_t retry_ms)
{
    struct bus *bus = bus_new(redis);
    const struct bus_consumer consumer = {
        .topic = BUS_EVT,
        .group = "tests",
        .handle = on_entries,
        .arg = subscriber,
        .retry_ms = retry_ms,
        .max_deliveries = 4,
    };

    memset(subscriber, 0, sizeof(*subscriber));
    bus_consume(bus, &consumer);
    return bus;
}

UNUSED static void
wait_received(struct task *task, const struct subscriber *subscriber, unsigned least)
{
    WAIT_FOR(task, subscriber->received >= least);
}

UNUSED static void wait_up(struct task *task, const struct bus *bus, bool up)
{
    WAIT_FOR(task, bus_is_up(bus) == up);
}

static void on_bus_stopped(void *arg)
{
    *(bool *)arg = true;
}

/* Stops and frees the bus. */
UNUSED static void end_bus(struct task *task, struct bus *bus)
{
    bool stopped = false;

    bus_stop(bus, on_bus_stopped, &stopped);
    WAIT_FOR(task, stopped);
    bus_free(bus);
}

UNUSED static void notify(struct bus *bus, int64_t row_id)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "e%lld", (long long)row_id);
    bus_notify(bus,
               BUS_EVT,
               &(struct bus_notification){.project = 1 + row_id % 100,
                                          .partition = (int)(row_id % BUS_PARTITIONS),
                                          .kind = "event.pending",
                                          .id = str_from(id),
                                          .row_id = row_id});
}
