/*
 * libcurl on libuv. Four rules, each of which prevents a known crash or hang.
 *
 * curl_multi_socket_action() runs only from a poll or timer callback, never from one of libcurl's
 * own callbacks. A libcurl timeout of 0 therefore means the next tick.
 *
 * A socket's poll handle stops before libcurl closes the descriptor (CLOSESOCKETFUNCTION), because
 * the next socket may get the same number.
 *
 * A REMOVE for a socket that we do not watch is normal.
 *
 * libuv stops a poll handle when it reports an error. We notify libcurl of the error, or the
 * transfer would hang.
 */
#include "fetch/fetch_loop_private.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/panic.h"

enum { POOLED_CONNECTIONS = 64 };

/* A pool of connections. Transfers to FCM (max_host_connections > 0) have the pool `push`, because
 * connections to hosts that projects choose must not evict the few connections to FCM, which carry
 * many streams each. A fetch_stream (is_stream) has the pool `streams`. */
struct fetch_pool {
    CURLM *multi;
    struct loop_timer timer;
};

struct watch {
    struct fetch_pool *pool;
    uv_poll_t poll;
    struct list link;
    int fd;
};

static struct {
    struct fetch_pool shared, push, streams;
    const char *roots;
    struct list transfers;
    struct list watches;
} curl;

static struct fetch_pool *fetch_pool_of(const struct fetch_transfer *transfer)
{
    if (transfer->is_stream)
        return &curl.streams;
    return transfer->max_host_connections > 0 ? &curl.push : &curl.shared;
}

/* --- ends of transfers --- */

static void transfer_finish(struct fetch_transfer *transfer, CURLcode code)
{
    MUST(curl_multi_remove_handle(fetch_pool_of(transfer)->multi, transfer->easy) == CURLM_OK);
    list_remove(&transfer->link);
    transfer->code = code;
    if (transfer->on_end)
        transfer->on_end(transfer);
    else
        await_done(&transfer->await, 0);
}

static void finished_collect(struct fetch_pool *pool)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
        struct fetch_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* invalid after curl_multi_remove_handle() */
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer_finish(transfer, code);
    }
}

static void pool_action(struct fetch_pool *pool, int fd, int events)
{
    int running;
    CURLMcode code = curl_multi_socket_action(pool->multi, fd, events, &running);
    if (code != CURLM_OK && code != CURLM_BAD_SOCKET)
        PANIC("libcurl: %s", curl_multi_strerror(code));
    finished_collect(pool);
}

/* --- sockets --- */

static struct watch *watch_find(int fd)
{
    LIST_FOR (node, &curl.watches) {
        struct watch *watch = LIST_ITEM(node, struct watch, link);
        if (watch->fd == fd)
            return watch;
    }
    return NULL;
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct watch, poll));
}

/* Stops watching the descriptor at once. The memory is freed in the close callback. */
static void fetch_watch_end(struct watch *watch)
{
    list_remove(&watch->link);
    (void)uv_poll_stop(&watch->poll);
    uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

static struct watch *watch_begin(struct fetch_pool *pool, int fd)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    MUST(watch != NULL);
    watch->pool = pool;
    watch->fd = fd;
    int rc = uv_poll_init_socket(loop_uv(), &watch->poll, fd);
    if (rc != 0)
        PANIC("uv_poll_init: %s", uv_strerror(rc));
    list_append(&curl.watches, &watch->link);
    return watch;
}

static void fetch_on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = CONTAINER_OF(poll, struct watch, poll);
    int curl_events = 0;
    if (status < 0)
        curl_events = CURL_CSELECT_ERR;
    if (events & UV_READABLE)
        curl_events |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        curl_events |= CURL_CSELECT_OUT;
    pool_action(watch->pool, watch->fd, curl_events);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy, (void)socket_arg;
    struct watch *watch = watch_find(fd);
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            fetch_watch_end(watch);
        return 0;
    }
    int events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= UV_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= UV_WRITABLE;
    if (!watch)
        watch = watch_begin(arg, fd);
    MUST(uv_poll_start(&watch->poll, events, fetch_on_poll) == 0);
    return 0;
}

static int on_socket_close(void *arg, curl_socket_t fd)
{
    (void)arg;
    struct watch *watch = watch_find(fd);
    if (watch)
        fetch_watch_end(watch);
    return close(fd);
}

/* --- time --- */

static void fetch_on_due(void *arg)
{
    pool_action(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int fetch_on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct fetch_pool *pool = arg;
    if (timeout_ms < 0)
        loop_timer_stop(&pool->timer);
    else
        loop_timer_start(&pool->timer, timeout_ms);
    return 0;
}

/* --- lifetime --- */

static void fetch_pool_init(struct fetch_pool *pool)
{
    loop_timer_init(&pool->timer, fetch_on_due, pool);
    pool->multi = curl_multi_init();
    MUST(pool->multi != NULL);
    (void)curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    (void)curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, fetch_on_timer);
    (void)curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    (void)curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)POOLED_CONNECTIONS);
}

static void fetch_pool_done(struct fetch_pool *pool)
{
    (void)curl_multi_cleanup(pool->multi);
    pool->multi = NULL;
    loop_timer_stop(&pool->timer);
}

const char *fetch_loop_ca_file(void)
{
    return curl.roots;
}

void fetch_loop_init(const char *roots)
{
    MUST(curl.shared.multi == NULL);
    /* Never undone: callers that wake up after fetch_loop_done() still free their easy handles. */
    MUST(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    list_init(&curl.transfers);
    list_init(&curl.watches);
    fetch_pool_init(&curl.shared);
    fetch_pool_init(&curl.push);
    fetch_pool_init(&curl.streams);
    curl.roots = roots;
}

void fetch_loop_done(void)
{
    LIST_FOR (node, &curl.transfers)
        transfer_finish(LIST_ITEM(node, struct fetch_transfer, link), CURLE_COULDNT_CONNECT);
    fetch_pool_done(&curl.shared);
    fetch_pool_done(&curl.push);
    fetch_pool_done(&curl.streams);
    curl.roots = NULL;
    LIST_FOR (node, &curl.watches)
        fetch_watch_end(LIST_ITEM(node, struct watch, link));
}

void fetch_loop_stop(struct fetch_transfer *transfer)
{
    MUST(curl_multi_remove_handle(fetch_pool_of(transfer)->multi, transfer->easy) == CURLM_OK);
    list_remove(&transfer->link);
}

static void transfer_abandon(struct await *await)
{
    fetch_loop_stop(CONTAINER_OF(await, struct fetch_transfer, await));
}

static void transfer_add(struct fetch_pool *pool, struct fetch_transfer *transfer)
{
    (void)curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_close);
    if (transfer->max_host_connections > 0)
        (void)curl_multi_setopt(
            pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, transfer->max_host_connections);
    list_append(&curl.transfers, &transfer->link);
    MUST(curl_multi_add_handle(pool->multi, transfer->easy) == CURLM_OK);
}

void fetch_loop_start(struct fetch_transfer *transfer)
{
    struct fetch_pool *pool = fetch_pool_of(transfer);

    if (pool->multi) {
        transfer_add(pool, transfer);
        return;
    }
    transfer->code = CURLE_COULDNT_CONNECT;
    transfer->on_end(transfer);
}

int fetch_loop_run(struct task *task, struct fetch_transfer *transfer)
{
    struct fetch_pool *pool = fetch_pool_of(transfer);

    if (!pool->multi) {
        transfer->code = CURLE_COULDNT_CONNECT;
        return 0;
    }
    await_init(&transfer->await);
    transfer->await.abandon = transfer_abandon;
    transfer_add(pool, transfer);
    return await_wait(task, &transfer->await, 0);
}
