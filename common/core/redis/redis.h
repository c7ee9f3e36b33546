#pragma once
/*
 * Redis on the loop (hiredis). For notifications and as a cache, never the truth: every call may
 * fail and the caller goes on without it.
 *
 * One connection for commands, which share it and its round trips; one more for subscriptions, when
 * there are any; in a Redis Cluster one for commands to each node. A command goes to the node that
 * owns its first key, and follows MOVED and ASK. Both reconnect by themselves (50 ms..1 s) and
 * forget what was in flight. While Redis is known to be away, commands fail at once. Loop thread
 * only.
 *
 * Results: 0, -ECANCELED, -ETIMEDOUT (the task's own deadline), REDIS_UNAVAILABLE, or
 * REDIS_ERROR.
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

/* any: redis://[user:password@]host[:port][/database], rediss is not known, or unix:/path. Several
 * are nodes of one Redis Cluster, of which one that answers is enough to find the others; user and
 * password hold for all. Of servers that are no cluster the first one that is up is used. Starts
 * connecting. Returns owned; NULL when a URL is none of these, or there is none. */
struct redis *redis_new(const struct str *urls, size_t count);
/* any but a subscription's callback: closes and frees; waiting commands end with REDIS_UNAVAILABLE.
 */
void redis_free(struct redis *redis);
/* any: connected; to every server that owns slots, when it is a cluster. */
bool redis_up(const struct redis *redis);
/* any: whether keys are spread over servers; then a command may name keys of one hash tag only. */
enum redis_mode {
    REDIS_MODE_UNKNOWN, /* no server has answered yet */
    REDIS_MODE_SINGLE,
    REDIS_MODE_CLUSTER,
};
enum redis_mode redis_mode(const struct redis *redis);

/* co: one command; the reply is copied to the task's arena. ret_reply may be NULL. Ends after a
 * second without an answer. */
AWAITS int redis_cmd(struct task *task,
                     struct redis *redis,
                     struct redis_reply *ret_reply,
                     size_t argc,
                     const struct str *argv) MUSTCHECK;
/* co: the same with another time limit, for commands that block (XREADGROUP .. BLOCK): these hold
 * up everything behind them: they belong on a lane. */
AWAITS int redis_cmd_within(struct task *task,
                            struct redis *redis,
                            int64_t limit_ms,
                            struct redis_reply *ret_reply,
                            size_t argc,
                            const struct str *argv) MUSTCHECK;
/* any: fire and forget; dropped when there is no connection. */
void redis_post(struct redis *redis, size_t argc, const struct str *argv);
/* any: the same, and fn(rc, arg) is called with how it ended: 0, REDIS_ERROR or REDIS_UNAVAILABLE.
 * Once, maybe before the call returns. It must not await, nor free `redis`. */
typedef void (*redis_posted_fn)(int rc, void *arg);
void redis_post_with(
    struct redis *redis, redis_posted_fn fn, void *arg, size_t argc, const struct str *argv);

/*
 * A lane: a connection of its own for commands that block (XREADGROUP .. BLOCK), one at a time.
 */
struct redis_lane;
/* any: starts connecting. Returns owned; freed before `redis`. */
struct redis_lane *redis_lane_new(struct redis *redis);
/* any: no command may be running. */
void redis_lane_free(struct redis_lane *lane);
/* co: one command, limit_ms beyond the time that it may block. Results as of redis_cmd(). */
AWAITS int redis_lane_cmd(struct task *task,
                          struct redis_lane *lane,
                          int64_t limit_ms,
                          struct redis_reply *ret_reply,
                          size_t argc,
                          const struct str *argv) MUSTCHECK;
/* any: the command that blocks now ends as if its time were over. It may come too early to be of
 * use (the command has not arrived yet): only an end of blocking time is sure. */
void redis_lane_wake(struct redis_lane *lane);

/* Arguments for the calls above: expands to the count and the array.
 * redis_post(redis, REDIS_ARGS(STR("PUBLISH"), channel, text)) */
#define REDIS_ARGS(...)                                                                            \
    (sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)), (const struct str[])         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* loop: a message on the channel, borrowed; {NULL, 0} each time the subscription (again) holds:
 * messages before it may have been missed. Must not await; task_start() what takes longer. */
typedef void (*redis_message_fn)(struct str payload, void *arg);
/* any: for the life of `redis`; subscribes again after every reconnect. A connection without
 * answers is noticed within 15 s. */
void redis_subscribe(struct redis *redis, const char *channel, redis_message_fn fn, void *arg);
