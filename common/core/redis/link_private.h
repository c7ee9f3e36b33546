#pragma once
/*
 * One connection to Redis, the commands on it, and how it reconnects.
 *
 * hiredis frees its context on any error, inside its own callbacks. `context` is NULL from the
 * first sign of an error, and no other code keeps the pointer.
 */
#include <hiredis/async.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/backoff.h"
#include "base/list.h"
#include "loop/loop.h"
#include "redis/redis.h"

struct link_lookup;

/* Where a server listens. */
struct address {
    char *host; /* NULL = unix socket */
    char *path;
    int port;
};

enum link_state { LINK_WAITING, LINK_CONNECTING, LINK_UP };

struct link {
    struct redis *redis;
    const struct address *address;
    enum link_state state;
    redisAsyncContext *context;
    struct link_lookup *lookup; /* lookup of the host's name, while it runs */
    struct loop_timer timer;    /* LINK_WAITING: next attempt; LINK_CONNECTING: time limit */
    struct list queue;          /* struct cmd waiting for the connection */
    uint8_t failed;             /* failed attempts: each uses the next of the host's addresses */
    struct backoff backoff;
    int64_t last_reply_ms;  /* monotonic: last reply */
    bool failing;           /* lost, or not reached: until LINK_UP commands fail at once */
    bool follows_redirects; /* its commands may be redirected to another node (cluster.c) */
    /* Both may be NULL. on_up() is called when the connection is up, before the queued commands are
     * sent; on_down() when it is lost, and after a failed attempt. */
    void (*on_up)(struct link *link);
    void (*on_down)(struct link *link);
};

/* One server. */
struct node {
    struct redis *redis;
    struct address address;
    struct link commands;
    bool seed;           /* from the configuration: always kept connected */
    bool listed;         /* the cluster names it as owner of slots */
    unsigned generation; /* how often the memory was used for another server */
};

#define REDIS_SLOTS 16384
#define SLOT_NONE   UINT16_MAX

struct redis {
    struct node **nodes; /* the seeds first */
    size_t node_count;
    enum redis_mode mode;
    uint16_t *slots; /* slot -> index into nodes, or SLOT_NONE; NULL until it is a cluster */
    struct loop_timer learn_timer;
    bool learning;
    size_t learn_next; /* index of the node for the next CLUSTER SLOTS */
    char *user;
    char *password;
    int database;
    bool freeing;
    struct link messages;
    struct list subscriptions;
    struct loop_timer heartbeat;
    char heartbeat_channel[48];
    int64_t heartbeat_received_ms;
};

void link_init(struct link *link, struct redis *redis, const struct address *address);
/* Connects now, and again after every loss until link_close(). */
void link_open(struct link *link);
/* Closes the current connection; its commands fail, and a new attempt follows. */
void link_drop(struct link *link);
/* Closes the connection, until link_open(). */
void link_close(struct link *link);
