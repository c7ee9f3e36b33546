/* Blocking connections, for commands that block: one command at a time, on the node that owns the
 * key. */
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
    struct node *node;   /* the node to which the connection goes; NULL = none yet */
    unsigned generation; /* of the node, at the time of connecting */
    int64_t client_id;   /* of the connection, 0 = not known yet */
    bool busy;
};

static void on_client_id(redisAsyncContext *context, void *ptr, void *arg)
{
    const redisReply *reply = ptr;
    struct redis_blocking *blocking = arg;

    (void)context;
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        blocking->client_id = reply->integer;
}

/* Sends CLIENT ID before the command that already waits. */
static void blocking_on_up(struct link *link)
{
    struct redis_blocking *blocking = CONTAINER_OF(link, struct redis_blocking, link);

    (void)redisAsyncCommand(link->context, on_client_id, blocking, "CLIENT ID");
}

static void blocking_on_down(struct link *link)
{
    CONTAINER_OF(link, struct redis_blocking, link)->client_id = 0;
}

struct redis_blocking *redis_blocking_new(struct redis *redis)
{
    struct redis_blocking *blocking = calloc(1, sizeof(*blocking));

    MUST(blocking != NULL);
    blocking->redis = redis;
    link_init(&blocking->link, redis, NULL);
    return blocking;
}

void redis_blocking_free(struct redis_blocking *blocking)
{
    if (!blocking)
        return;
    MUST(!blocking->busy);
    link_close(&blocking->link);
    free(blocking);
}

static void blocking_connect_to(struct redis_blocking *blocking, struct node *node)
{
    if (blocking->node == node && blocking->generation == node->generation)
        return;
    link_close(&blocking->link);
    link_init(&blocking->link, blocking->redis, &node->address);
    blocking->link.on_up = blocking_on_up;
    blocking->link.on_down = blocking_on_down;
    blocking->client_id = 0;
    blocking->node = node;
    blocking->generation = node->generation;
    link_open(&blocking->link);
}

int redis_blocking_cmd(struct task *task,
                       struct redis_blocking *blocking,
                       int64_t limit_ms,
                       struct redis_reply *ret_reply,
                       size_t argc,
                       const struct str *argv)
{
    struct node *node = cluster_route(blocking->redis, argc, argv);
    bool asking = false;
    int rc = 0;

    MUST(!blocking->busy);
    blocking->busy = true;
    for (int i = 0; node && i <= REDIRECTS_MAX; i++) {
        static const struct str ask[] = {STR_INIT("ASKING")};
        struct redis_reply reply = {0};
        blocking_connect_to(blocking, node);
        if (asking)
            cmd_post(&blocking->link, CMD_MS, NULL, NULL, 1, ask);
        rc = cmd_run(task, &blocking->link, limit_ms, &reply, argc, argv);
        if ((rc == 0 || rc == REDIS_ERROR) && ret_reply)
            *ret_reply = reply;
        node =
            rc == REDIS_ERROR
                ? cluster_redirect(blocking->redis, &blocking->node->address, reply.text, &asking)
                : NULL;
    }
    blocking->busy = false;
    /* The task has left before the reply: drop the connection, so that the next command does not
     * wait for the abandoned command. */
    if (rc < 0 && blocking->link.context)
        link_drop(&blocking->link);
    return rc;
}

void redis_blocking_wake(struct redis_blocking *blocking)
{
    char id[20];

    if (!blocking->busy || blocking->client_id == 0)
        return;
    const struct str argv[] = {
        STR("CLIENT"), STR("UNBLOCK"), {id, num_print_i64(id, blocking->client_id)}};
    cmd_post(&blocking->node->commands, CMD_MS, NULL, NULL, ARRAY_LEN(argv), argv);
}
