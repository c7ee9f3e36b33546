/*
 * Subscriptions on a connection of their own, which may die without an error. So the client
 * publishes a heartbeat to itself on the connection for commands, and reconnects when none arrives
 * for HEARTBEAT_TIMEOUT_MS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/rand.h"
#include "redis/cluster_private.h"
#include "redis/link_private.h"
#include "redis/subscribe_private.h"

enum { BEAT_MS = 4000, HEARTBEAT_TIMEOUT_MS = 11000 };

struct redis_subscription {
    struct list link;
    char *channel;
    redis_message_fn fn;
    void *arg;
};

static void on_message(redisAsyncContext *context, void *ptr, void *arg);

static void send_subscribe(struct redis *redis, const char *channel)
{
    if (redis->messages.context)
        (void)redisAsyncCommand(
            redis->messages.context, on_message, redis, "SUBSCRIBE %s", channel);
}

/* `payload` NULL: the subscription is established. */
static void
subscribe_deliver(struct redis *redis, const redisReply *channel, const redisReply *payload)
{
    struct str name = {channel->str, channel->len};

    if (str_is(name, redis->heartbeat_channel)) {
        redis->heartbeat_received_ms = clock_mono_ms();
        return;
    }
    LIST_FOR (it, &redis->subscriptions) {
        struct redis_subscription *sub = LIST_ITEM(it, struct redis_subscription, link);
        if (str_is(name, sub->channel))
            sub->fn(payload ? (struct str){payload->str, payload->len} : STR_NONE, sub->arg);
    }
}

static void on_message(redisAsyncContext *context, void *ptr, void *arg)
{
    const redisReply *reply = ptr;
    struct redis *redis = arg;

    (void)context;
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return;
    if (strcmp(reply->element[0]->str, "subscribe") == 0)
        subscribe_deliver(redis, reply->element[1], NULL);
    else if (strcmp(reply->element[0]->str, "message") == 0 &&
             reply->element[2]->type == REDIS_REPLY_STRING)
        subscribe_deliver(redis, reply->element[1], reply->element[2]);
}

static bool is_first_of_channel(struct redis *redis, const struct redis_subscription *sub)
{
    LIST_FOR (it, &redis->subscriptions) {
        struct redis_subscription *other = LIST_ITEM(it, struct redis_subscription, link);
        if (strcmp(other->channel, sub->channel) == 0)
            return other == sub;
    }
    return true;
}

static void subscribe_all(struct link *link)
{
    struct redis *redis = link->redis;

    redis->heartbeat_received_ms = clock_mono_ms();
    send_subscribe(redis, redis->heartbeat_channel);
    LIST_FOR (it, &redis->subscriptions) {
        struct redis_subscription *sub = LIST_ITEM(it, struct redis_subscription, link);
        if (is_first_of_channel(redis, sub))
            send_subscribe(redis, sub->channel);
    }
}

static void on_beat(void *arg)
{
    struct redis *redis = arg;

    loop_timer_start(&redis->heartbeat, BEAT_MS);
    if (redis->messages.state == LINK_UP &&
        clock_mono_ms() - redis->heartbeat_received_ms > HEARTBEAT_TIMEOUT_MS)
        link_drop(&redis->messages);
    redis_post(redis, REDIS_ARGS(STR("PUBLISH"), str_from(redis->heartbeat_channel), STR("1")));
}

/* The next on_up() subscribes again, perhaps elsewhere: all nodes of a cluster pass messages on. */
static void subscribe_on_down(struct link *link)
{
    static const struct str ping[] = {STR_INIT("PING")};

    link->address = &cluster_route(link->redis, ARRAY_LEN(ping), ping)->address;
}

void subscribe_init(struct redis *redis)
{
    list_init(&redis->subscriptions);
    link_init(&redis->messages, redis, &redis->nodes[0]->address);
    redis->messages.on_up = subscribe_all;
    redis->messages.on_down = subscribe_on_down;
    loop_timer_init(&redis->heartbeat, on_beat, redis);
    snprintf(redis->heartbeat_channel,
             sizeof(redis->heartbeat_channel),
             "groundwork:heartbeat:%016llx",
             (unsigned long long)rand_u64());
}

void subscribe_done(struct redis *redis)
{
    struct list *node;

    loop_timer_stop(&redis->heartbeat);
    link_close(&redis->messages);
    while ((node = list_shift(&redis->subscriptions))) {
        struct redis_subscription *sub = LIST_ITEM(node, struct redis_subscription, link);
        free(sub->channel);
        free(sub);
    }
}

void redis_subscribe(struct redis *redis, const char *channel, redis_message_fn fn, void *arg)
{
    struct redis_subscription *sub = calloc(1, sizeof(*sub));

    MUST(sub != NULL);
    sub->channel = strdup(channel);
    MUST(sub->channel != NULL);
    sub->fn = fn;
    sub->arg = arg;
    bool first = list_empty(&redis->subscriptions);
    list_append(&redis->subscriptions, &sub->link);
    if (first) {
        loop_timer_start(&redis->heartbeat, BEAT_MS);
        link_open(&redis->messages);
    } else if (redis->messages.state == LINK_UP) {
        /* Subscribes again to a channel that has a subscription, so that the new callback learns
         * that it is established. */
        send_subscribe(redis, channel);
    }
}
