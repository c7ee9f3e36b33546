/* Connections to Redis: name lookup off the loop, hiredis on a uv_poll handle, reconnecting. */
#include "redis/cmd_private.h"
#include "redis/link_private.h"
#include "redis/url_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"

enum { CONNECT_MS = 1000 };

struct link_poll {
    uv_poll_t handle;
    redisAsyncContext *context; /* NULL once hiredis has freed it */
    struct link *link;
    int events;
};

struct link_lookup {
    uv_getaddrinfo_t req;
    struct link *link; /* NULL = the link no longer waits */
};

static void link_handle_loss(struct link *link);

/* --- hiredis on uv_poll --- */

static void link_on_poll(uv_poll_t *handle, int status, int events)
{
    struct link_poll *poll = CONTAINER_OF(handle, struct link_poll, handle);

    if (status < 0) {
        /* libuv has stopped the handle: no further event would ever come. */
        poll->events = 0;
        if (poll->context)
            redisAsyncHandleRead(poll->context);
        if (poll->context)
            link_drop(poll->link);
        return;
    }
    /* Each step may free the context. */
    if (poll->context && (events & UV_READABLE))
        redisAsyncHandleRead(poll->context);
    if (poll->context && (events & UV_WRITABLE))
        redisAsyncHandleWrite(poll->context);
}

static void poll_update(struct link_poll *poll, int events)
{
    if (poll->events == events)
        return;
    poll->events = events;
    if (events)
        (void)uv_poll_start(&poll->handle, events, link_on_poll);
    else
        (void)uv_poll_stop(&poll->handle);
}

static void add_read(void *arg)
{
    struct link_poll *poll = arg;
    poll_update(poll, poll->events | UV_READABLE);
}

static void del_read(void *arg)
{
    struct link_poll *poll = arg;
    poll_update(poll, poll->events & ~UV_READABLE);
}

static void add_write(void *arg)
{
    struct link_poll *poll = arg;
    poll_update(poll, poll->events | UV_WRITABLE);
}

static void del_write(void *arg)
{
    struct link_poll *poll = arg;
    poll_update(poll, poll->events & ~UV_WRITABLE);
}

static void link_on_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct link_poll, handle));
}

/* Called before hiredis closes the socket. */
static void poll_cleanup(void *arg)
{
    struct link_poll *poll = arg;

    poll->context = NULL;
    (void)uv_poll_stop(&poll->handle);
    uv_close((uv_handle_t *)&poll->handle, link_on_closed);
}

static bool link_attach(struct link *link, redisAsyncContext *context)
{
    struct link_poll *poll = calloc(1, sizeof(*poll));

    MUST(poll != NULL);
    if (uv_poll_init(loop_uv(), &poll->handle, context->c.fd) != 0) {
        free(poll);
        return false;
    }
    poll->context = context;
    poll->link = link;
    context->data = link;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = poll_cleanup;
    context->ev.data = poll;
    return true;
}

/* --- connecting --- */

static void ignore_reply(redisAsyncContext *context, void *reply, void *arg)
{
    (void)context;
    (void)reply;
    (void)arg;
}

/* Sends AUTH and SELECT before every other command on the connection. */
static void link_authenticate(struct link *link)
{
    const struct redis *redis = link->redis;

    if (redis->password && redis->user[0])
        (void)redisAsyncCommand(
            link->context, ignore_reply, NULL, "AUTH %s %s", redis->user, redis->password);
    else if (redis->password)
        (void)redisAsyncCommand(link->context, ignore_reply, NULL, "AUTH %s", redis->password);
    if (redis->database != 0)
        (void)redisAsyncCommand(link->context, ignore_reply, NULL, "SELECT %d", redis->database);
}

static void on_connect(const redisAsyncContext *context, int status)
{
    struct link *link = context->data;

    if (link->context != context)
        return;
    if (status != REDIS_OK) {
        link->context = NULL; /* hiredis frees the context after this */
        link_handle_loss(link);
        return;
    }
    loop_timer_stop(&link->timer);
    link->state = LINK_UP;
    link->failing = false;
    link->backoff.tries = 0;
    link->last_reply_ms = clock_mono_ms();
    link_authenticate(link);
    if (link->on_up)
        link->on_up(link);
    cmd_send_queued(link);
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct link *link = context->data;

    (void)status;
    if (link->context != context)
        return;
    link->context = NULL;
    link_handle_loss(link);
}

static void link_connect_to(struct link *link, const char *address)
{
    redisAsyncContext *context = address ? redisAsyncConnect(address, link->address->port)
                                         : redisAsyncConnectUnix(link->address->path);

    MUST(context != NULL);
    if (context->err != 0 || !link_attach(link, context)) {
        redisAsyncFree(context);
        link_handle_loss(link);
        return;
    }
    link->context = context;
    if (address)
        (void)redisEnableKeepAlive(&context->c);
    (void)redisAsyncSetDisconnectCallback(context, on_disconnect);
    (void)redisAsyncSetConnectCallback(context, on_connect);
}

static void on_looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct link_lookup *lookup = CONTAINER_OF(req, struct link_lookup, req);
    struct link *link = lookup->link;
    char address[ADDRESS_TEXT_BYTES] = "";

    if (link && status == 0)
        address_pick(found, link->failed, address);
    uv_freeaddrinfo(found);
    free(lookup);
    if (!link)
        return;
    link->lookup = NULL;
    if (address[0])
        link_connect_to(link, address);
    else
        link_handle_loss(link);
}

static void link_look_up(struct link *link)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct link_lookup *lookup = calloc(1, sizeof(*lookup));

    MUST(lookup != NULL);
    lookup->link = link;
    if (uv_getaddrinfo(loop_uv(), &lookup->req, on_looked_up, link->address->host, NULL, &hints) !=
        0) {
        free(lookup);
        link_handle_loss(link);
        return;
    }
    link->lookup = lookup;
}

void link_open(struct link *link)
{
    MUST(!link->context && !link->lookup);
    link->state = LINK_CONNECTING;
    loop_timer_start(&link->timer, CONNECT_MS);
    if (link->address->host)
        link_look_up(link);
    else
        link_connect_to(link, NULL);
}

/* --- loss --- */

/* Handles a lost context: connects again after a pause. */
static void link_handle_loss(struct link *link)
{
    if (link->redis->freeing)
        return;
    if (link->state == LINK_CONNECTING)
        link->failed++;
    link->failing = true;
    link->state = LINK_WAITING;
    loop_timer_start(&link->timer, backoff_next(&link->backoff));
    cmd_fail_queued(link);
    if (link->on_down)
        link->on_down(link);
}

static void link_release(struct link *link)
{
    redisAsyncContext *context = link->context;

    link->context = NULL;
    if (link->lookup)
        link->lookup->link = NULL;
    link->lookup = NULL;
    /* redisAsyncFree() ends every command in flight, without a reply. */
    if (context)
        redisAsyncFree(context);
}

void link_drop(struct link *link)
{
    link_release(link);
    link_handle_loss(link);
}

static void link_on_timer(void *arg)
{
    struct link *link = arg;

    if (link->state == LINK_CONNECTING)
        link_drop(link);
    else
        link_open(link);
}

void link_init(struct link *link, struct redis *redis, const struct address *address)
{
    *link = (struct link){
        .redis = redis,
        .address = address,
        .backoff = {.first_ms = 50, .most_ms = 1000},
    };
    list_init(&link->queue);
    loop_timer_init(&link->timer, link_on_timer, link);
}

void link_close(struct link *link)
{
    loop_timer_stop(&link->timer);
    link->state = LINK_WAITING;
    link_release(link);
    cmd_fail_queued(link);
}
