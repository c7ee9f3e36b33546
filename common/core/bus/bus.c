/* A bus: creation, stopping, freeing and statistics. */
#include "bus/bus.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/panic.h"
#include "bus/bus_private.h"

const char *bus_topic_name(enum bus_topic topic)
{
    static const char *const names[] = {
        [BUS_EVT] = "evt",
        [BUS_JOB] = "job",
        [BUS_PUSH] = "push",
        [BUS_SEARCH] = "search",
        [BUS_PAY] = "pay",
        [BUS_MAIL] = "mail",
    };

    MUST(topic < BUS_TOPICS);
    return names[topic];
}

void bus_stream_name(char buf[BUS_NAME_BYTES], enum bus_topic topic, int partition, bool dead)
{
    (void)snprintf(
        buf, BUS_NAME_BYTES, "%s:%s{p%d}", bus_topic_name(topic), dead ? "dead:" : "", partition);
}

/* --- life --- */

struct bus *bus_new(struct redis *redis)
{
    struct bus *bus = calloc(1, sizeof(*bus));

    MUST(bus != NULL);
    bus->redis = redis;
    list_init(&bus->consumers);
    publish_init(bus);
    return bus;
}

void bus_release(struct bus *bus)
{
    if (bus->is_freed && bus->in_flight == 0 && !bus->flush.queued)
        free(bus);
}

void bus_free(struct bus *bus)
{
    struct list *node;

    if (!bus)
        return;
    MUST(bus->running == 0);
    while ((node = list_shift(&bus->consumers)))
        consumer_free(LIST_ITEM(node, struct consumer, link));
    if (bus->closer_arena)
        arena_free(bus->closer_arena);
    publish_done(bus);
    bus->is_freed = true;
    bus_release(bus);
}

/* --- stopping --- */

void bus_coroutine_begin(struct bus *bus)
{
    bus->running++;
}

void bus_coroutine_end(struct bus *bus)
{
    MUST(bus->running > 0);
    if (--bus->running == 0 && bus->closer_await)
        await_done(bus->closer_await, 0);
}

static void bus_on_closed(void *arg)
{
    struct bus *bus = arg;

    bus->on_stopped(bus->on_stopped_arg);
}

/* Waits for the running coroutines. The wait has no limit, because handlers have deadlines. */
AWAITS static void bus_close(struct task *task, void *arg)
{
    struct bus *bus = arg;

    while (bus->running > 0) {
        struct await left;
        await_init(&left);
        bus->closer_await = &left;
        int rc = await_wait(task, &left, 0); /* cannot be interrupted */
        MUST(rc == 0);
        bus->closer_await = NULL;
    }
    LIST_FOR (node, &bus->consumers)
        keeper_unregister(task, LIST_ITEM(node, struct consumer, link));
    loop_at_tick_end(&bus->close_hook);
}

void bus_stop(struct bus *bus, loop_fn done, void *arg)
{
    MUST(!bus->stopping);
    bus->stopping = true;
    bus->on_stopped = done;
    bus->on_stopped_arg = arg;
    bus->close_hook = (struct loop_hook){.fn = bus_on_closed, .arg = bus};
    LIST_FOR (node, &bus->consumers)
        consumer_stop(LIST_ITEM(node, struct consumer, link));
    bus->closer_arena = arena_new(0);
    bus->closer = (struct task){.arena = bus->closer_arena};
    task_start(&bus->closer, bus_close, bus);
}

/* --- statistics --- */

bool bus_is_up(const struct bus *bus)
{
    if (!redis_up(bus->redis))
        return false;
    LIST_FOR (node, &bus->consumers) {
        const struct consumer *consumer = LIST_ITEM(node, struct consumer, link);
        if (consumer->check_failed || consumer->reader_count == 0)
            return false;
        for (unsigned i = 0; i < consumer->reader_count; i++) {
            if (!consumer->readers[i].up)
                return false;
        }
        for (int i = 0; i < BUS_PARTITIONS; i++) {
            if (consumer->partitions[i].excluded_until > 0)
                return false;
        }
    }
    return true;
}

const struct bus_stats *bus_stats(struct bus *bus)
{
    struct bus_stats *stats = &bus->stats;

    stats->backlog = stats->pending = stats->oldest_ms = 0;
    LIST_FOR (node, &bus->consumers) {
        const struct consumer *consumer = LIST_ITEM(node, struct consumer, link);
        for (int i = 0; i < BUS_PARTITIONS; i++) {
            const struct partition *partition = &consumer->partitions[i];
            stats->backlog += partition->backlog;
            stats->pending += partition->pending;
            if (stats->oldest_ms < partition->oldest_ms)
                stats->oldest_ms = partition->oldest_ms;
        }
    }
    return stats;
}
