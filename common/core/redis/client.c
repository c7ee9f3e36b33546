/* A Redis client: its servers, and the server that each command is sent to. */
#include <stdlib.h>

#include "base/panic.h"
#include "redis/cluster_private.h"
#include "redis/cmd_private.h"
#include "redis/link_private.h"
#include "redis/subscribe_private.h"
#include "redis/url_private.h"

enum { CMD_MS = 1000 };

/* --- commands --- */

static struct link *client_route(struct redis *redis, size_t argc, const struct str *argv)
{
    return &cluster_route(redis, argc, argv)->commands;
}

int redis_cmd_within(struct task *task,
                     struct redis *redis,
                     int64_t limit_ms,
                     struct redis_reply *ret_reply,
                     size_t argc,
                     const struct str *argv)
{
    return cmd_run(task, client_route(redis, argc, argv), limit_ms, ret_reply, argc, argv);
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
    redis_post_with(redis, NULL, NULL, argc, argv);
}

struct post {
    redis_posted_fn fn;
    void *arg;
};

static void client_posted(int rc, const redisReply *reply, void *arg)
{
    struct post post = *(struct post *)arg;

    (void)reply;
    free(arg);
    post.fn(rc, post.arg);
}

void redis_post_with(
    struct redis *redis, redis_posted_fn fn, void *arg, size_t argc, const struct str *argv)
{
    struct post *post = NULL;

    if (fn) {
        post = malloc(sizeof(*post));
        MUST(post != NULL);
        *post = (struct post){fn, arg};
    }
    cmd_post(client_route(redis, argc, argv), CMD_MS, fn ? client_posted : NULL, post, argc, argv);
}

/* --- life --- */

static void client_release(struct redis *redis)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        address_done(&redis->nodes[i]->address);
        free(redis->nodes[i]);
    }
    free(redis->nodes);
    free(redis->slots);
    free(redis->user);
    free(redis->password);
    free(redis);
}

static bool add_seed(struct redis *redis, struct str url)
{
    struct address address;

    if (!url_parse(redis, url, &address)) {
        address_done(&address);
        return false;
    }
    struct node *node = cluster_add(redis, &address);
    if (node)
        node->seed = true;
    return node != NULL;
}

struct redis *redis_new(const struct str *urls, size_t count)
{
    struct redis *redis = calloc(1, sizeof(*redis));
    bool good = count > 0;

    MUST(redis != NULL);
    cluster_init(redis);
    for (size_t i = 0; good && i < count; i++)
        good = add_seed(redis, urls[i]);
    if (!good) {
        client_release(redis);
        return NULL;
    }
    subscribe_init(redis);
    for (size_t i = 0; i < redis->node_count; i++)
        link_open(&redis->nodes[i]->commands);
    return redis;
}

void redis_free(struct redis *redis)
{
    if (!redis)
        return;
    redis->freeing = true;
    cluster_done(redis);
    subscribe_done(redis);
    client_release(redis);
}
