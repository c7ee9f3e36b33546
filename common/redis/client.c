/* A client of Redis: its servers, and which of them a command goes to. */
#include <stdlib.h>

#include "base/num.h"
#include "base/panic.h"
#include "redis/link.h"

enum { CMD_MS = 1000 };

/* --- commands --- */

static struct link *route(struct redis *redis, size_t argc, const struct str *argv)
{
    (void)argc;
    (void)argv;
    return &redis->node->commands;
}

int redis_cmd_within(struct task *task,
                     struct redis *redis,
                     int64_t limit_ms,
                     struct redis_reply *ret_reply,
                     size_t argc,
                     const struct str *argv)
{
    return cmd_run(task, route(redis, argc, argv), limit_ms, ret_reply, argc, argv);
}

int redis_cmd(struct task *task,
              struct redis *redis,
              struct redis_reply *ret_reply,
              size_t argc,
              const struct str *argv)
{
    return redis_cmd_within(task, redis, CMD_MS, ret_reply, argc, argv);
}

void redis_post(struct redis *redis, size_t argc, const struct str *argv)
{
    redis_post_told(redis, NULL, NULL, argc, argv);
}

struct told {
    redis_told_fn fn;
    void *arg;
};

static void tell(int rc, const redisReply *reply, void *arg)
{
    struct told told = *(struct told *)arg;

    (void)reply;
    free(arg);
    told.fn(rc, told.arg);
}

void redis_post_told(
    struct redis *redis, redis_told_fn fn, void *arg, size_t argc, const struct str *argv)
{
    struct told *told = NULL;

    if (fn) {
        told = malloc(sizeof(*told));
        MUST(told != NULL);
        *told = (struct told){fn, arg};
    }
    cmd_post(route(redis, argc, argv), CMD_MS, fn ? tell : NULL, told, argc, argv);
}

/* --- lanes --- */

struct redis_lane {
    struct redis *redis;
    struct link link;
    int64_t client_id; /* of the connection, 0 = not known yet */
    bool busy;
};

static void on_client_id(int rc, const redisReply *reply, void *arg)
{
    struct redis_lane *lane = arg;

    if (rc == 0 && reply->type == REDIS_REPLY_INTEGER)
        lane->client_id = reply->integer;
}

static void lane_up(struct link *link)
{
    struct redis_lane *lane = CONTAINER_OF(link, struct redis_lane, link);
    const struct str argv[] = {STR("CLIENT"), STR("ID")};

    cmd_post(link, CMD_MS, on_client_id, lane, ARRAY_LEN(argv), argv);
}

static void lane_down(struct link *link)
{
    CONTAINER_OF(link, struct redis_lane, link)->client_id = 0;
}

struct redis_lane *redis_lane_new(struct redis *redis)
{
    struct redis_lane *lane = calloc(1, sizeof(*lane));

    MUST(lane != NULL);
    lane->redis = redis;
    link_init(&lane->link, redis, &redis->node->address);
    lane->link.on_up = lane_up;
    lane->link.on_down = lane_down;
    link_open(&lane->link);
    return lane;
}

void redis_lane_free(struct redis_lane *lane)
{
    if (!lane)
        return;
    link_close(&lane->link);
    free(lane);
}

int redis_lane_cmd(struct task *task,
                   struct redis_lane *lane,
                   int64_t limit_ms,
                   struct redis_reply *ret_reply,
                   size_t argc,
                   const struct str *argv)
{
    MUST(!lane->busy);
    lane->busy = true;
    int rc = cmd_run(task, &lane->link, limit_ms, ret_reply, argc, argv);
    lane->busy = false;
    /* Whoever left early must not have the next command wait behind this one. */
    if (rc < 0 && lane->link.context)
        link_drop(&lane->link);
    return rc;
}

void redis_lane_wake(struct redis_lane *lane)
{
    char id[20];

    if (!lane->busy || lane->client_id == 0)
        return;
    const struct str argv[] = {
        STR("CLIENT"), STR("UNBLOCK"), {id, num_print_i64(id, lane->client_id)}};
    cmd_post(&lane->redis->node->commands, CMD_MS, NULL, NULL, ARRAY_LEN(argv), argv);
}

/* --- life --- */

static void release(struct redis *redis)
{
    address_done(&redis->node->address);
    free(redis->node);
    free(redis->user);
    free(redis->password);
    free(redis);
}

static void nothing(struct link *link)
{
    (void)link;
}

struct redis *redis_new(const char *url)
{
    struct redis *redis = calloc(1, sizeof(*redis));

    MUST(redis != NULL);
    redis->node = calloc(1, sizeof(*redis->node));
    MUST(redis->node != NULL);
    if (!url_parse(redis, str_from(url), &redis->node->address)) {
        release(redis);
        return NULL;
    }
    link_init(&redis->node->commands, redis, &redis->node->address);
    redis->node->commands.on_up = nothing;
    redis->node->commands.on_down = nothing;
    subscribe_init(redis);
    link_open(&redis->node->commands);
    return redis;
}

void redis_free(struct redis *redis)
{
    if (!redis)
        return;
    redis->freeing = true;
    link_close(&redis->node->commands);
    subscribe_done(redis);
    release(redis);
}

bool redis_up(const struct redis *redis)
{
    return redis->node->commands.state == LINK_UP;
}
