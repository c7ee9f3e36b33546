/*
 * Ringing: bells of a turn are collected, those that say the same become one, and at the turn's end
 * all leave in one write. When the last ones left a moment ago they wait for that moment to pass:
 * who is rung all the time does more at a time, and a lone bell is not held up. Groups make their
 * streams (NOMKSTREAM): a bell that no service has ever listened to leaves nothing behind.
 */
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "bus/bus_private.h"
#include "bus/wire_private.h"

#define BELL_PACE_MS 3

static struct list *bucket_of(struct bus *bus, enum bus_topic topic, int64_t project)
{
    uint64_t hash = ((uint64_t)project * BUS_TOPICS + topic) * 0x9e3779b97f4a7c15ULL;

    return &bus->buckets[(hash >> 32) % BUS_BELL_BUCKETS];
}

/* A bell of this turn that says as much, NULL = none. */
static struct bell *
find_same(struct list *bucket, enum bus_topic topic, const struct bus_bell *bell)
{
    LIST_FOR (node, bucket) {
        struct bell *other = LIST_ITEM(node, struct bell, same);
        if (other->topic == topic && other->bell.project == bell->project &&
            other->bell.id.len == 0 && strcmp(other->bell.kind, bell->kind) == 0)
            return other;
    }
    return NULL;
}

void bus_ring(struct bus *bus, enum bus_topic topic, const struct bus_bell *bell)
{
    if (!bus)
        return;
    MUST(topic < BUS_TOPICS && bell->kind != NULL && bell->project > 0);
    MUST(bell->partition >= 0 && bell->partition < BUS_PARTITIONS);
    bus->stats.rung++;
    struct list *bucket = bucket_of(bus, topic, bell->project);
    struct bell *same = bell->id.len == 0 ? find_same(bucket, topic, bell) : NULL;
    if (same) {
        bus->stats.coalesced++;
        if (same->bell.depth < bell->depth)
            same->bell.depth = bell->depth;
        return;
    }
    if (bus->bell_count == BUS_BELLS_MAX) {
        bus->stats.dropped++;
        return;
    }
    struct bell *copy = ARENA_NEW(bus->bell_arena, copy);
    copy->topic = topic;
    copy->bell = *bell;
    copy->bell.kind = arena_strdup(bus->bell_arena, bell->kind);
    copy->bell.id = arena_dup(bus->bell_arena, bell->id);
    copy->bell.traceparent = arena_dup(bus->bell_arena, bell->traceparent);
    list_append(&bus->bells, &copy->link);
    list_append(bucket, &copy->same);
    bus->bell_count++;
    loop_at_turn_end(&bus->flush);
}

static void on_sent(int rc, void *arg)
{
    struct bus *bus = arg;

    if (rc != 0)
        bus->stats.dropped++;
    bus->in_flight--;
    bus_release(bus);
}

static void send_bells(void *arg)
{
    struct bus *bus = arg;
    int64_t now_ms = clock_wall_ms();
    struct list *node;

    bus->flushed_ms = clock_mono_ms();
    bus->in_flight++; /* stays until the end of this */
    while ((node = list_shift(&bus->bells))) {
        struct bell *bell = LIST_ITEM(node, struct bell, link);
        char stream[BUS_NAME_BYTES];

        list_remove(&bell->same);
        bus_stream_name(stream, bell->topic, bell->bell.partition, false);
        struct str bytes = wire_pack(bus->bell_arena, bell->topic, &bell->bell, now_ms);
        bus->in_flight++;
        redis_post_told(
            bus->redis,
            on_sent,
            bus,
            REDIS_ARGS(
                STR("XADD"), str_from(stream), STR("NOMKSTREAM"), STR("*"), STR("e"), bytes));
    }
    bus->bell_count = 0;
    if (!bus->freed)
        arena_reset(bus->bell_arena);
    bus->in_flight--;
    bus_release(bus);
}

static void publish_flush(void *arg)
{
    struct bus *bus = arg;
    int64_t wait_ms = bus->flushed_ms + BELL_PACE_MS - clock_mono_ms();

    if (wait_ms > 0 && !bus->freed)
        loop_timer_start(&bus->pace, wait_ms);
    else
        send_bells(bus);
}

void publish_init(struct bus *bus)
{
    loop_timer_init(&bus->pace, send_bells, bus);
    list_init(&bus->bells);
    for (size_t i = 0; i < BUS_BELL_BUCKETS; i++)
        list_init(&bus->buckets[i]);
    bus->bell_arena = arena_new(0);
    bus->flush = (struct loop_hook){.fn = publish_flush, .arg = bus};
}

void publish_done(struct bus *bus)
{
    loop_timer_stop(&bus->pace);
    send_bells(bus);
    arena_free(bus->bell_arena);
}
