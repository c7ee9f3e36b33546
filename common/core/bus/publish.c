/*
 * Publishing. The notifications of a turn of the event loop are collected, those without id of one
 * topic, project and kind are merged, and all are sent in one write at the end of the turn. When
 * the previous write was less than FLUSH_INTERVAL_MS ago, the notifications wait until that time
 * has passed: under constant load they are sent in batches, and a single notification is not
 * delayed. Only groups create streams (NOMKSTREAM), so Redis drops notifications of a topic that no
 * service reads.
 */
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "bus/bus_private.h"
#include "bus/wire_private.h"

#define FLUSH_INTERVAL_MS 3

static struct list *bucket_of(struct bus *bus, enum bus_topic topic, int64_t project)
{
    uint64_t hash = ((uint64_t)project * BUS_TOPICS + topic) * 0x9e3779b97f4a7c15ULL;

    return &bus->buckets[(hash >> 32) % BUS_NOTIFICATION_BUCKETS];
}

/* Returns the waiting notification without id of this topic, project and kind, or NULL. */
static struct notification *notification_find_equal(struct list *bucket,
                                                    enum bus_topic topic,
                                                    const struct bus_notification *notification)
{
    LIST_FOR (node, bucket) {
        struct notification *other = LIST_ITEM(node, struct notification, bucket_link);
        if (other->topic == topic && other->notification.project == notification->project &&
            other->notification.id.len == 0 &&
            strcmp(other->notification.kind, notification->kind) == 0)
            return other;
    }
    return NULL;
}

void bus_notify(struct bus *bus, enum bus_topic topic, const struct bus_notification *notification)
{
    if (!bus)
        return;
    MUST(topic < BUS_TOPICS && notification->kind != NULL && notification->project > 0);
    MUST(notification->partition >= 0 && notification->partition < BUS_PARTITIONS);
    bus->stats.notified++;
    struct list *bucket = bucket_of(bus, topic, notification->project);
    struct notification *same =
        notification->id.len == 0 ? notification_find_equal(bucket, topic, notification) : NULL;
    if (same) {
        bus->stats.coalesced++;
        if (same->notification.depth < notification->depth)
            same->notification.depth = notification->depth;
        return;
    }
    if (bus->notification_count == BUS_NOTIFICATIONS_MAX) {
        bus->stats.dropped++;
        return;
    }
    struct notification *copy = ARENA_NEW(bus->notification_arena, copy);
    copy->topic = topic;
    copy->notification = *notification;
    copy->notification.kind = arena_strdup(bus->notification_arena, notification->kind);
    copy->notification.id = arena_dup(bus->notification_arena, notification->id);
    copy->notification.traceparent = arena_dup(bus->notification_arena, notification->traceparent);
    list_append(&bus->notifications, &copy->link);
    list_append(bucket, &copy->bucket_link);
    bus->notification_count++;
    loop_at_tick_end(&bus->flush);
}

static void on_sent(int rc, void *arg)
{
    struct bus *bus = arg;

    if (rc != 0)
        bus->stats.dropped++;
    bus->in_flight--;
    bus_release(bus);
}

static void send_notifications(void *arg)
{
    struct bus *bus = arg;
    int64_t now_ms = clock_wall_ms();
    struct list *node;

    bus->flushed_ms = clock_mono_ms();
    bus->in_flight++; /* keeps the bus until this function ends */
    while ((node = list_shift(&bus->notifications))) {
        struct notification *notification = LIST_ITEM(node, struct notification, link);
        char stream[BUS_NAME_BYTES];

        list_remove(&notification->bucket_link);
        bus_stream_name(stream, notification->topic, notification->notification.partition, false);
        struct str bytes = wire_pack(
            bus->notification_arena, notification->topic, &notification->notification, now_ms);
        bus->in_flight++;
        redis_post_with(
            bus->redis,
            on_sent,
            bus,
            REDIS_ARGS(
                STR("XADD"), str_from(stream), STR("NOMKSTREAM"), STR("*"), STR("e"), bytes));
    }
    bus->notification_count = 0;
    if (!bus->is_freed)
        arena_reset(bus->notification_arena);
    bus->in_flight--;
    bus_release(bus);
}

static void publish_flush(void *arg)
{
    struct bus *bus = arg;
    int64_t wait_ms = bus->flushed_ms + FLUSH_INTERVAL_MS - clock_mono_ms();

    if (wait_ms > 0 && !bus->is_freed)
        loop_timer_start(&bus->flush_timer, wait_ms);
    else
        send_notifications(bus);
}

void publish_init(struct bus *bus)
{
    loop_timer_init(&bus->flush_timer, send_notifications, bus);
    list_init(&bus->notifications);
    for (size_t i = 0; i < BUS_NOTIFICATION_BUCKETS; i++)
        list_init(&bus->buckets[i]);
    bus->notification_arena = arena_new(0);
    bus->flush = (struct loop_hook){.fn = publish_flush, .arg = bus};
}

void publish_done(struct bus *bus)
{
    loop_timer_stop(&bus->flush_timer);
    send_notifications(bus);
    arena_free(bus->notification_arena);
}
