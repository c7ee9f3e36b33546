/*
 * Commands on a link. Each has a timer of its own, because hiredis 0.14 has none. The connection
 * owns the memory of a command until the reply arrives or the connection is lost; the task that
 * waited may have left long before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "redis/cluster_private.h"
#include "redis/cmd_private.h"
#include "redis/link_private.h"

enum { REDIRECTS_MAX = 5, ARGS_MAX = 4096 };

struct cmd {
    struct list queued; /* in link->queue until sent */
    struct link *link;
    cmd_done_fn done; /* NULL once called, or when no caller wants the result */
    void *arg;
    struct loop_timer timer;
    int64_t sent_ms;
    unsigned redirects;
    bool asking;       /* sent after an ASKING */
    bool is_abandoned; /* timed out, or the task that waited has left */
    char *text;        /* encoded for the wire */
    size_t len;
};

/* --- replies --- */

/* NOLINTNEXTLINE(misc-no-recursion): hiredis nests at most nine deep */
static struct redis_reply copy_reply(struct arena *arena, const redisReply *from)
{
    struct redis_reply reply = {.kind = REDIS_KIND_NIL};

    switch (from->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        reply.kind = from->type == REDIS_REPLY_ERROR ? REDIS_KIND_ERROR : REDIS_KIND_TEXT;
        reply.text = arena_dup(arena, (struct str){from->str, from->len});
        break;
    case REDIS_REPLY_INTEGER:
        reply.kind = REDIS_KIND_INT;
        reply.number = from->integer;
        break;
    case REDIS_REPLY_ARRAY:
        reply.kind = REDIS_KIND_ARRAY;
        reply.count = from->elements;
        reply.items = ARENA_ARRAY(arena, reply.items, from->elements);
        for (size_t i = 0; i < from->elements; i++)
            reply.items[i] = copy_reply(arena, from->element[i]);
        break;
    default:
        break;
    }
    return reply;
}

/* --- life of a command --- */

static void cmd_free(struct cmd *cmd)
{
    loop_timer_stop(&cmd->timer);
    list_remove(&cmd->queued);
    redisFreeCommand(cmd->text);
    free(cmd);
}

static void cmd_finish(struct cmd *cmd, int rc, const redisReply *reply)
{
    cmd_done_fn done = cmd->done;

    cmd->done = NULL;
    loop_timer_stop(&cmd->timer);
    if (done)
        done(rc, reply, cmd->arg);
}

/* Sends a refused command to the node that the error names. Returns false when it names none, or
 * after REDIRECTS_MAX redirects. */
static bool cmd_redirect(struct cmd *cmd, const redisReply *reply)
{
    struct link *from = cmd->link;

    if (!from->follows_redirects || reply->type != REDIS_REPLY_ERROR)
        return false;
    struct node *node = cluster_redirect(
        from->redis, from->address, (struct str){reply->str, reply->len}, &cmd->asking);
    if (!node || cmd->is_abandoned || ++cmd->redirects > REDIRECTS_MAX ||
        (node->commands.state != LINK_UP && node->commands.failing))
        return false;
    cmd->link = &node->commands;
    list_append(&cmd->link->queue, &cmd->queued);
    if (cmd->link->state == LINK_UP)
        cmd_send_queued(cmd->link);
    return true;
}

static void on_reply(redisAsyncContext *context, void *ptr, void *arg)
{
    const redisReply *reply = ptr;
    struct cmd *cmd = arg;
    int rc = REDIS_UNAVAILABLE;

    (void)context;
    if (reply) {
        cmd->link->last_reply_ms = clock_mono_ms();
        rc = reply->type == REDIS_REPLY_ERROR ? REDIS_ERROR : 0;
        if (cmd_redirect(cmd, reply))
            return;
    }
    cmd_finish(cmd, rc, reply);
    cmd_free(cmd);
}

static void on_timeout(void *arg)
{
    struct cmd *cmd = arg;
    struct link *link = cmd->link;
    bool queued = !list_empty(&cmd->queued);
    /* No reply at all since the command was sent: the connection may be dead without an error. */
    bool no_reply = !queued && link->last_reply_ms <= cmd->sent_ms;

    cmd->is_abandoned = true;
    cmd_finish(cmd, REDIS_UNAVAILABLE, NULL);
    if (queued)
        cmd_free(cmd);
    else if (no_reply && link->context)
        link_drop(link);
}

void cmd_send_queued(struct link *link)
{
    struct list *node;

    while (link->context && (node = list_shift(&link->queue))) {
        struct cmd *cmd = LIST_ITEM(node, struct cmd, queued);
        cmd->sent_ms = clock_mono_ms();
        if (cmd->asking)
            (void)redisAsyncCommand(link->context, NULL, NULL, "ASKING");
        cmd->asking = false;
        if (redisAsyncFormattedCommand(link->context, on_reply, cmd, cmd->text, cmd->len) !=
            REDIS_OK) {
            cmd_finish(cmd, REDIS_UNAVAILABLE, NULL);
            cmd_free(cmd);
        }
    }
}

void cmd_fail_queued(struct link *link)
{
    struct list *node;

    while ((node = list_shift(&link->queue))) {
        struct cmd *cmd = LIST_ITEM(node, struct cmd, queued);
        cmd_finish(cmd, REDIS_UNAVAILABLE, NULL);
        cmd_free(cmd);
    }
}

/* Encodes a command for the wire; free the text with redisFreeCommand(). */
static char *cmd_format(size_t argc, const struct str *argv, size_t *ret_len)
{
    MUST(argc > 0 && argc <= ARGS_MAX);
    const char **texts = calloc(argc, sizeof(*texts));
    size_t *lens = calloc(argc, sizeof(*lens));
    char *text = NULL;

    MUST(texts != NULL && lens != NULL);
    for (size_t i = 0; i < argc; i++) {
        texts[i] = argv[i].ptr ? argv[i].ptr : "";
        lens[i] = argv[i].len;
    }
    int len = redisFormatCommandArgv(&text, (int)argc, texts, lens);
    MUST(len > 0);
    free(texts);
    free(lens);
    *ret_len = (size_t)len;
    return text;
}

/* Queues a command. NULL when the link is down: its connection was lost, or its last attempt to
 * connect failed. */
static struct cmd *cmd_start(struct link *link,
                             int64_t limit_ms,
                             cmd_done_fn done,
                             void *arg,
                             size_t argc,
                             const struct str *argv)
{
    if (link->state != LINK_UP && link->failing)
        return NULL;
    struct cmd *cmd = calloc(1, sizeof(*cmd));
    MUST(cmd != NULL);
    list_init(&cmd->queued);
    cmd->link = link;
    cmd->done = done;
    cmd->arg = arg;
    cmd->text = cmd_format(argc, argv, &cmd->len);
    loop_timer_init(&cmd->timer, on_timeout, cmd);
    loop_timer_start(&cmd->timer, limit_ms);
    list_append(&link->queue, &cmd->queued);
    return cmd;
}

void cmd_post(struct link *link,
              int64_t limit_ms,
              cmd_done_fn done,
              void *arg,
              size_t argc,
              const struct str *argv)
{
    if (!cmd_start(link, limit_ms, done, arg, argc, argv)) {
        if (done)
            done(REDIS_UNAVAILABLE, NULL, arg);
        return;
    }
    if (link->state == LINK_UP)
        cmd_send_queued(link);
}

struct cmd_wait {
    struct await await;
    struct cmd *cmd; /* NULL once answered */
    struct arena *arena;
    struct redis_reply *reply; /* may be NULL */
};

static void cmd_wake(int rc, const redisReply *reply, void *arg)
{
    struct cmd_wait *wait = arg;

    wait->cmd = NULL;
    if (reply && wait->reply)
        *wait->reply = copy_reply(wait->arena, reply);
    await_done(&wait->await, rc);
}

static void cmd_abandon(struct await *await)
{
    struct cmd_wait *wait = CONTAINER_OF(await, struct cmd_wait, await);

    wait->cmd->done = NULL;
    wait->cmd->is_abandoned = true;
    wait->cmd = NULL;
}

int cmd_run(struct task *task,
            struct link *link,
            int64_t limit_ms,
            struct redis_reply *ret_reply,
            size_t argc,
            const struct str *argv)
{
    struct cmd_wait wait = {.arena = task->arena, .reply = ret_reply};

    if (task->cancelled)
        return -ECANCELED;
    await_init(&wait.await);
    wait.await.abandon = cmd_abandon;
    wait.cmd = cmd_start(link, limit_ms, cmd_wake, &wait, argc, argv);
    if (!wait.cmd)
        return REDIS_UNAVAILABLE;
    if (link->state == LINK_UP)
        cmd_send_queued(link);
    return await_wait(task, &wait.await, 0);
}
