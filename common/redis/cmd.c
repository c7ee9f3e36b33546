/*
 * Commands: sent on the shared connection, each with a timer of its own (hiredis 0.14 has none). A
 * command's memory belongs to the connection until its reply came or the connection went; who waits
 * for it may have left long before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "redis/link.h"

enum { CMD_MS = 1000, ARGS_MAX = 4096 };

struct cmd_wait {
    struct await await;
    struct cmd *cmd; /* NULL once answered */
    struct arena *arena;
    struct redis_reply *reply; /* may be NULL */
};

struct cmd {
    struct list link; /* in redis->queue until sent */
    struct redis *redis;
    struct cmd_wait *wait; /* NULL = nobody waits */
    struct loop_timer timer;
    int64_t sent_ms;
    char *text; /* queued ones: as it goes on the wire */
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
    list_remove(&cmd->link);
    redisFreeCommand(cmd->text);
    free(cmd);
}

static void cmd_answer(struct cmd *cmd, int rc)
{
    struct cmd_wait *wait = cmd->wait;

    cmd->wait = NULL;
    loop_timer_stop(&cmd->timer);
    if (!wait)
        return;
    wait->cmd = NULL;
    await_done(&wait->await, rc);
}

static void on_reply(redisAsyncContext *context, void *ptr, void *arg)
{
    const redisReply *reply = ptr;
    struct cmd *cmd = arg;
    int rc = REDIS_UNAVAILABLE;

    (void)context;
    if (reply) {
        cmd->redis->commands.heard_ms = clock_mono_ms();
        rc = reply->type == REDIS_REPLY_ERROR ? REDIS_ERROR : 0;
        if (cmd->wait && cmd->wait->reply)
            *cmd->wait->reply = copy_reply(cmd->wait->arena, reply);
    }
    cmd_answer(cmd, rc);
    cmd_free(cmd);
}

static void on_timeout(void *arg)
{
    struct cmd *cmd = arg;
    struct redis *redis = cmd->redis;
    bool queued = !list_empty(&cmd->link);
    /* Nothing at all was heard since: the connection may be dead without knowing. */
    bool silent = !queued && redis->commands.heard_ms <= cmd->sent_ms;

    cmd_answer(cmd, REDIS_UNAVAILABLE);
    if (queued)
        cmd_free(cmd);
    else if (silent && redis->commands.context)
        link_drop(&redis->commands);
}

static void send_queued(struct link *link)
{
    struct redis *redis = link->redis;
    struct list *node;

    while (link->context && (node = list_shift(&redis->queue))) {
        struct cmd *cmd = LIST_ITEM(node, struct cmd, link);
        cmd->sent_ms = clock_mono_ms();
        if (redisAsyncFormattedCommand(link->context, on_reply, cmd, cmd->text, cmd->len) !=
            REDIS_OK) {
            cmd_answer(cmd, REDIS_UNAVAILABLE);
            cmd_free(cmd);
        }
    }
}

static void fail_queued(struct link *link)
{
    struct list *node;

    while ((node = list_shift(&link->redis->queue))) {
        struct cmd *cmd = LIST_ITEM(node, struct cmd, link);
        cmd_answer(cmd, REDIS_UNAVAILABLE);
        cmd_free(cmd);
    }
}

/* The command as it goes on the wire, to be freed with redisFreeCommand(). */
static char *format(size_t argc, const struct str *argv, size_t *ret_len)
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

/* Sends or queues; NULL when there is no connection to hope for. */
static struct cmd *
cmd_start(struct redis *redis, int64_t limit_ms, size_t argc, const struct str *argv)
{
    struct link *link = &redis->commands;

    if (link->state != LINK_UP && link->failing)
        return NULL;
    struct cmd *cmd = calloc(1, sizeof(*cmd));
    MUST(cmd != NULL);
    list_init(&cmd->link);
    cmd->redis = redis;
    cmd->text = format(argc, argv, &cmd->len);
    loop_timer_init(&cmd->timer, on_timeout, cmd);
    loop_timer_start(&cmd->timer, limit_ms);
    list_append(&redis->queue, &cmd->link);
    if (link->state != LINK_UP)
        return cmd;
    send_queued(link);
    redisFreeCommand(cmd->text);
    cmd->text = NULL;
    return cmd;
}

/* --- calls --- */

static void cmd_abandon(struct await *await)
{
    struct cmd_wait *wait = CONTAINER_OF(await, struct cmd_wait, await);

    wait->cmd->wait = NULL;
    wait->cmd = NULL;
}

int redis_cmd_within(struct task *task,
                     struct redis *redis,
                     int64_t limit_ms,
                     struct redis_reply *ret_reply,
                     size_t argc,
                     const struct str *argv)
{
    struct cmd_wait wait = {.arena = task->arena, .reply = ret_reply};

    if (task->cancelled)
        return -ECANCELED;
    wait.cmd = cmd_start(redis, limit_ms, argc, argv);
    if (!wait.cmd)
        return REDIS_UNAVAILABLE;
    wait.cmd->wait = &wait;
    await_init(&wait.await);
    wait.await.abandon = cmd_abandon;
    return await_wait(task, &wait.await, 0);
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
    (void)cmd_start(redis, CMD_MS, argc, argv);
}

/* --- life --- */

static char *copy(struct str text)
{
    char *to = strndup(text.ptr ? text.ptr : "", text.len);
    MUST(to != NULL);
    return to;
}

/* "user:password@" off the front of the rest. */
static void parse_user(struct redis *redis, struct str *rest)
{
    const char *at = rest->ptr ? memrchr(rest->ptr, '@', rest->len) : NULL;

    if (!at)
        return;
    struct str both = {rest->ptr, (size_t)(at - rest->ptr)};
    redis->user = copy(str_split(&both, ':'));
    redis->password = copy(both);
    *rest = (struct str){at + 1, rest->len - (size_t)(at + 1 - rest->ptr)};
}

static bool parse_port(struct str text, int *ret_port)
{
    int64_t port;

    if (!num_parse_i64(text, &port) || port < 1 || port > 65535)
        return false;
    *ret_port = (int)port;
    return true;
}

/* host[:port][/database]; an IPv6 address stands in brackets. */
static bool parse_host(struct redis *redis, struct str rest)
{
    struct str authority = str_split(&rest, '/');
    int64_t database = 0;

    if (rest.len > 0 && (!num_parse_i64(rest, &database) || database < 0 || database > 65535))
        return false;
    redis->database = (int)database;
    redis->port = 6379;
    if (authority.len > 0 && authority.ptr[0] == '[') {
        const char *end = memchr(authority.ptr, ']', authority.len);
        if (!end)
            return false;
        redis->host = copy((struct str){authority.ptr + 1, (size_t)(end - authority.ptr) - 1});
        struct str port = {end + 1, authority.len - (size_t)(end + 1 - authority.ptr)};
        return port.len == 0 ||
               (port.ptr[0] == ':' &&
                parse_port((struct str){port.ptr + 1, port.len - 1}, &redis->port));
    }
    struct str host = str_split(&authority, ':');
    redis->host = copy(host);
    return host.len > 0 && (!authority.ptr || parse_port(authority, &redis->port));
}

static bool parse_url(struct redis *redis, const char *url)
{
    struct str rest = str_from(url);

    if (str_starts(rest, STR("unix:"))) {
        redis->path = copy((struct str){rest.ptr + 5, rest.len - 5});
        return redis->path[0] == '/';
    }
    if (!str_starts(rest, STR("redis://")))
        return false;
    rest = (struct str){rest.ptr + 8, rest.len - 8};
    parse_user(redis, &rest);
    return parse_host(redis, rest);
}

static void release(struct redis *redis)
{
    free(redis->host);
    free(redis->path);
    free(redis->user);
    free(redis->password);
    free(redis);
}

struct redis *redis_new(const char *url)
{
    struct redis *redis = calloc(1, sizeof(*redis));

    MUST(redis != NULL);
    list_init(&redis->queue);
    if (!parse_url(redis, url)) {
        release(redis);
        return NULL;
    }
    link_init(&redis->commands, redis);
    redis->commands.on_up = send_queued;
    redis->commands.on_down = fail_queued;
    subscribe_init(redis);
    link_open(&redis->commands);
    return redis;
}

void redis_free(struct redis *redis)
{
    if (!redis)
        return;
    redis->freeing = true;
    link_close(&redis->commands);
    fail_queued(&redis->commands);
    subscribe_done(redis);
    release(redis);
}

bool redis_up(const struct redis *redis)
{
    return redis->commands.state == LINK_UP;
}
