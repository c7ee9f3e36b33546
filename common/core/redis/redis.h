#pragma once
/*
 * Redis on the loop (hiredis), for notifications and as a cache. Redis never has the only copy of
 * anything: every call may fail, and the caller then continues without it.
 *
 * One connection, or in a Redis Cluster one to each node, is for all commands, which share its
 * round trips. Another connection is for subscriptions, when there are any. A command is sent to
 * the node that owns its first key, and follows MOVED and ASK. A connection that is lost reconnects
 * (backoff 50 ms..1 s); commands in flight fail. While Redis is known to be down, commands fail at
 * once. Loop thread only.
 *
 * Results: 0, -ECANCELED, -ETIMEDOUT (the task's own deadline), REDIS_UNAVAILABLE, or REDIS_ERROR.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "loop/task.h"

struct redis;

enum redis_kind {
    REDIS_KIND_NIL,
    REDIS_KIND_TEXT, /* also status replies */
    REDIS_KIND_INT,
    REDIS_KIND_ARRAY,
    REDIS_KIND_ERROR, /* of a command inside MULTI */
};

struct redis_reply {
    enum redis_kind kind;
    struct str text;           /* TEXT, ERROR: NUL-terminated (not counted), arena-owned */
    int64_t number;            /* INT */
    struct redis_reply *items; /* ARRAY */
    size_t count;
};

/* any: makes a client, which starts connecting. A URL is
 * redis://[user:password@]host[:port][/database] or unix:/path; rediss is not supported. Several
 * URLs are nodes of one Redis Cluster, of which one node that answers is enough to find the others;
 * user and password apply to all. Of several servers that are no cluster, the first server that is
 * up is used. Returns owned; NULL when a URL has another form, or there is none. */
struct redis *redis_new(const struct str *urls, size_t count);
/* any, except in a subscription's callback: closes and frees; waiting commands end with
 * REDIS_UNAVAILABLE. NULL is allowed. */
void redis_free(struct redis *redis);
/* any: whether the client is connected; in a cluster, to every node that owns slots. */
bool redis_up(const struct redis *redis);
/* Result of redis_mode(): one server, or a cluster that distributes the keys over its servers. In a
 * cluster, all keys of a command must have the same hash tag. */
enum redis_mode {
    REDIS_MODE_UNKNOWN, /* no server has answered yet */
    REDIS_MODE_SINGLE,
    REDIS_MODE_CLUSTER,
};
enum redis_mode redis_mode(const struct redis *redis);

/* co: runs one command and copies the reply to the task's arena. ret_reply may be NULL.
 * REDIS_UNAVAILABLE after a second without an answer. */
AWAITS int redis_cmd(struct task *task,
                     struct redis *redis,
                     struct redis_reply *ret_reply,
                     size_t argc,
                     const struct str *argv) MUSTCHECK;
/* co: redis_cmd() with a time limit of limit_ms. A command that blocks (XREADGROUP .. BLOCK) delays
 * all commands after it on the connection, so it belongs on a blocking connection. */
AWAITS int redis_cmd_within(struct task *task,
                            struct redis *redis,
                            int64_t limit_ms,
                            struct redis_reply *ret_reply,
                            size_t argc,
                            const struct str *argv) MUSTCHECK;
/* any: sends a command without waiting for its result; it is dropped when there is no
 * connection. */
void redis_post(struct redis *redis, size_t argc, const struct str *argv);
/* any: redis_post() that calls fn(rc, arg) once with the result: 0, REDIS_ERROR or
 * REDIS_UNAVAILABLE, perhaps before the call returns. fn must not await, nor free `redis`. */
typedef void (*redis_posted_fn)(int rc, void *arg);
void redis_post_with(
    struct redis *redis, redis_posted_fn fn, void *arg, size_t argc, const struct str *argv);

/*
 * A blocking connection: a connection for commands that block (XREADGROUP .. BLOCK), one at a time.
 */
struct redis_blocking;
/* any: makes a blocking connection, which connects with its first command. Returns owned; must be
 * freed before `redis`. */
struct redis_blocking *redis_blocking_new(struct redis *redis);
/* any: frees a blocking connection, on which no command may be running. NULL is allowed. */
void redis_blocking_free(struct redis_blocking *blocking);
/* co: runs one command, like redis_cmd_within(). limit_ms must be longer than the time that the
 * command may block. */
AWAITS int redis_blocking_cmd(struct task *task,
                              struct redis_blocking *blocking,
                              int64_t limit_ms,
                              struct redis_reply *ret_reply,
                              size_t argc,
                              const struct str *argv) MUSTCHECK;
/* any: ends the command that blocks now, as if its time were over. The call has no effect when the
 * command has not arrived yet, so only the command's own time is sure to end it. */
void redis_blocking_wake(struct redis_blocking *blocking);

/* Arguments for the calls above: expands to the count and the array.
 * redis_post(redis, REDIS_ARGS(STR("PUBLISH"), channel, text)) */
#define REDIS_ARGS(...)                                                                            \
    (sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)), (const struct str[])         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* loop: called with a message on the channel, borrowed, or with {NULL, 0} each time the
 * subscription is established: messages before that may have been missed. Must not await; start a
 * task for anything longer. */
typedef void (*redis_message_fn)(struct str payload, void *arg);
/* any: subscribes for the life of `redis`, and again after every reconnect. `channel` is copied. A
 * connection without answers is noticed within 15 s. */
void redis_subscribe(struct redis *redis, const char *channel, redis_message_fn fn, void *arg);
