#pragma once
/*
 * One connection to Redis and its reconnecting, and the commands on it.
 *
 * hiredis frees its context by itself on any error, inside its own callbacks: `context` is NULL
 * from the first sign of that, and nobody keeps a copy of the pointer.
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
    struct link_lookup *lookup; /* the host's name being looked up */
    struct loop_timer timer;    /* waiting: next try; connecting: limit */
    struct list queue;          /* struct cmd waiting for the connection */
    uint8_t failed;             /* tries: each goes to the next of the host's addresses */
    struct backoff backoff;
    int64_t heard_ms; /* monotonic: last reply */
    bool failing;     /* the last try failed: nobody waits for the next */
    bool follows;     /* its commands may be sent on to another node (cluster.c) */
    /* Both may be NULL. Told when the connection is up, before what waited is sent, and when it is
     * gone (also after a failed try). */
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
    unsigned generation; /* how often its memory was used for another server */
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
    size_t learn_next; /* which node is asked next */
    char *user;
    char *password;
    int database;
    bool freeing;
    struct link messages;
    struct list subscriptions;
    struct loop_timer heartbeat;
    char heartbeat_channel[48];
    int64_t heartbeat_heard_ms;
};

void link_init(struct link *link, struct redis *redis, const struct address *address);
/* Connects, now; again after every loss until link_close(). */
void link_open(struct link *link);
/* Gives the present connection up; its commands are told, a new try follows. */
void link_drop(struct link *link);
/* Gives the connection up for good, or until link_open(). */
void link_close(struct link *link);

/* --- commands on a link (cmd.c) --- */

/* any: sends or queues. `done` (may be NULL) is told once: 0, REDIS_ERROR or REDIS_UNAVAILABLE, and
 * the reply (NULL without one). */
typedef void (*cmd_done_fn)(int rc, const redisReply *reply, void *arg);
void cmd_post(struct link *link,
              int64_t limit_ms,
              cmd_done_fn done,
              void *arg,
              size_t argc,
              const struct str *argv);
/* co: the same, waiting. */
AWAITS int cmd_run(struct task *task,
                   struct link *link,
                   int64_t limit_ms,
                   struct redis_reply *ret_reply,
                   size_t argc,
                   const struct str *argv) MUSTCHECK;
void cmd_send_queued(struct link *link);
void cmd_fail_queued(struct link *link);

/* --- the servers and who owns which slot (cluster.c) --- */

void cluster_init(struct redis *redis);
void cluster_done(struct redis *redis);
/* any: one more server, not connected yet; takes the address over. NULL when there are too many. */
struct node *cluster_add(struct redis *redis, struct address *address);
/* any: the node that a command goes to; never NULL. */
struct node *cluster_route(struct redis *redis, size_t argc, const struct str *argv);
/* any: understands "MOVED slot host:port" and "ASK slot host:port" from `from`: the node to go to,
 * NULL when the text is neither. What else it tells about the cluster is noted as well. */
struct node *cluster_redirect(struct redis *redis,
                              const struct address *from,
                              struct str error,
                              bool *ret_asking);

/* --- addresses (url.c) --- */

/* any: fills user, password and database of `redis` and *ret_address, owned. False when `url` is
 * none that redis_new() knows. */
bool url_parse(struct redis *redis, struct str url, struct address *ret_address);
void address_done(struct address *address);
#define ADDRESS_TEXT_BYTES 64
/* any: the n-th of what a name stands for, round and round, as text: "localhost" may be ::1 first
 * where Redis listens on 127.0.0.1 alone, so that each failed try has to lead to the next one. */
void address_pick(const struct addrinfo *found, unsigned n, char ret_text[ADDRESS_TEXT_BYTES]);

/* --- subscriptions (subscribe.c) --- */

void subscribe_init(struct redis *redis);
void subscribe_done(struct redis *redis);
