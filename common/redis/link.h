#pragma once
/*
 * One connection to Redis and its reconnecting. Private to redis/.
 *
 * hiredis frees its context by itself on any error, inside its own callbacks: `context` is NULL
 * from the first sign of that, and nobody keeps a copy of the pointer.
 */
#include <hiredis/async.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "loop/loop.h"
#include "redis/redis.h"

struct link_lookup;

enum link_state { LINK_WAITING, LINK_CONNECTING, LINK_UP };

struct link {
    struct redis *redis;
    enum link_state state;
    redisAsyncContext *context;
    struct link_lookup *lookup; /* the host's name being looked up */
    struct loop_timer timer;    /* waiting: next try; connecting: limit */
    int64_t backoff_ms;
    int64_t heard_ms; /* monotonic: last reply */
    bool failing;     /* the last try failed: nobody waits for the next */
    /* Told when the connection is up, and when it is gone (also after a failed try). */
    void (*on_up)(struct link *link);
    void (*on_down)(struct link *link);
};

struct redis {
    char *host; /* NULL = unix socket */
    char *path;
    int port;
    char *user;
    char *password;
    int database;
    bool freeing;
    struct link commands;
    struct list queue; /* struct cmd waiting for the first connection */
    struct link messages;
    struct list subscriptions;
    struct loop_timer heartbeat;
    char heartbeat_channel[48];
    int64_t heartbeat_heard_ms;
};

void link_init(struct link *link, struct redis *redis);
/* Connects, now; again after every loss until link_close(). */
void link_open(struct link *link);
/* Gives the present connection up; its commands are told, a new try follows. */
void link_drop(struct link *link);
void link_close(struct link *link);

/* Subscriptions (subscribe.c). */
void subscribe_init(struct redis *redis);
void subscribe_done(struct redis *redis);
