/* Lanes: connections for commands that block, one at a time, on the node that owns the key. */
#include <stdlib.h>

#include "base/num.h"
#include "base/panic.h"
#include "redis/cluster_private.h"
#include "redis/cmd_private.h"
#include "redis/link_private.h"

enum { CMD_MS = 1000, REDIRECTS_MAX = 5 };

struct redis_blocking {
    struct redis *redis;
    struct link link;
    struct node *node;   /* the node that the lane is connected to; NULL = none yet */
    unsigned generation; /* of the node, when the lane connected */
    int64_t client_id;   /* of the connection, 0 = not known yet */
    bool busy;
};

static void on_client_id(redisAsyncContext *context, void *ptr, void *arg)
{
    const redisReply *reply = ptr;
    struct redis_blocking *lane = arg;

    (void)context;
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        lane->client_id = reply->integer;
}

/* Sends CLIENT ID before the command that already waits. */
static void blocking_on_up(struct link *link)
{
    struct redis_blocking *lane = CONTAINER_OF(link, struct redis_blocking, link);

    (void)redisAsyncCommand(link->context, on_client_id, lane, "CLIENT ID");
}

static void blocking_on_down(struct link *link)
{
    CONTAINER_OF(link, struct redis_blocking, link)->client_id = 0;
}

struct redis_blocking *redis_blocking_new(struct redis *redis)
{
    struct redis_blocking *lane = calloc(1, sizeof(*lane));

    MUST(lane != NULL);
    lane->redis = redis;
    link_init(&lane->link, redis, NULL);
    return lane;
}

void redis_blocking_free(struct redis_blocking *lane)
{
    if (!lane)
        return;
    MUST(!lane->busy);
    link_close(&lane->link);
    free(lane);
}

static void blocking_connect_to(struct redis_blocking *lane, struct node *node)
{
    if (lane->node == node && lane->generation == node->generation)
        return;
    link_close(&lane->link);
    link_init(&lane->link, lane->redis, &node->address);
    lane->link.on_up = blocking_on_up;
    lane->link.on_down = blocking_on_down;
    lane->client_id = 0;
    lane->node = node;
    lane->generation = node->generation;
    link_open(&lane->link);
}

int redis_blocking_cmd(struct task *task,
                       struct redis_blocking *lane,
                       int64_t limit_ms,
                       struct redis_reply *ret_reply,
                       size_t argc,
                       const struct str *argv)
{
    struct node *node = cluster_route(lane->redis, argc, argv);
    bool asking = false;
    int rc = 0;

    MUST(!lane->busy);
    lane->busy = true;
    for (int i = 0; node && i <= REDIRECTS_MAX; i++) {
        static const struct str ask[] = {STR_INIT("ASKING")};
        struct redis_reply reply = {0};
        blocking_connect_to(lane, node);
        if (asking)
            cmd_post(&lane->link, CMD_MS, NULL, NULL, 1, ask);
        rc = cmd_run(task, &lane->link, limit_ms, &reply, argc, argv);
        if ((rc == 0 || rc == REDIS_ERROR) && ret_reply)
            *ret_reply = reply;
        node = rc == REDIS_ERROR
                   ? cluster_redirect(lane->redis, &lane->node->address, reply.text, &asking)
                   : NULL;
    }
    lane->busy = false;
    /* The task has left before the reply: drop the connection, so that the next command does not
     * wait for this one. */
    if (rc < 0 && lane->link.context)
        link_drop(&lane->link);
    return rc;
}

void redis_blocking_wake(struct redis_blocking *lane)
{
    char id[20];

    if (!lane->busy || lane->client_id == 0)
        return;
    const struct str argv[] = {
        STR("CLIENT"), STR("UNBLOCK"), {id, num_print_i64(id, lane->client_id)}};
    cmd_post(&lane->node->commands, CMD_MS, NULL, NULL, ARRAY_LEN(argv), argv);
}
