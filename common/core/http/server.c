/* The server: listening, accepting within limits, sweeping, draining, stopping. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "base/panic.h"
#include "http/bounds_private.h"
#include "http/exchange_private.h"
#include "http/server_private.h"

#define BACKLOG           1024
#define ACCEPTS_PER_EVENT 64
#define ACCEPT_PAUSE_MS   100
#define ARENA_BYTES       8192U
#define SWEEP_MIN_MS      10
#define SWEEP_MAX_MS      500

const struct http_limits http_limits_default = {
    .header_bytes = 32768,
    .target_bytes = 16384,
    .header_count = 100,
    .json_body_bytes = 1U << 20,
    .header_time_ms = 10000,
    .idle_ms = 60000,
    .body_min_rate = 1024,
    .requests_max = 4096,
    .connections_max = 20000,
    .bodies_per_address = 256,
    .body_bytes = 32U << 20,
};

/* --- cached arenas --- */

struct arena *server_arena_take(struct http_server *server)
{
    if (server->arena_count > 0)
        return server->arenas[--server->arena_count];
    return arena_new(ARENA_BYTES);
}

void server_arena_give(struct http_server *server, struct arena *arena)
{
    if (server->arena_count == ARRAY_LEN(server->arenas)) {
        arena_free(arena);
        return;
    }
    arena_reset(arena);
    server->arenas[server->arena_count++] = arena;
}

/* A client with one IPv6 address has its whole network of 2^64 addresses. */
struct share_owner http_address_owner(const char *text)
{
    struct in6_addr address = {0};
    struct share_owner owner;

    if (inet_pton(AF_INET6, text, &address) == 1) {
        memset(&address.s6_addr[8], 0, 8);
    } else {
        address.s6_addr[10] = address.s6_addr[11] = 0xff;
        (void)inet_pton(AF_INET, text, &address.s6_addr[12]);
    }
    memcpy(&owner.project, &address.s6_addr[0], sizeof(owner.project));
    memcpy(&owner.part, &address.s6_addr[8], sizeof(owner.part));
    return owner;
}

/* --- listening --- */

/* Uses system calls, because libuv 1.44 cannot set SO_REUSEPORT. */
static int listen_on(const struct addrinfo *address, bool reuse_port)
{
    const int on = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc;

    if (fd < 0)
        return -errno;
    rc = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (rc == 0 && reuse_port)
        rc = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (rc == 0)
        rc = bind(fd, address->ai_addr, address->ai_addrlen);
    if (rc == 0)
        rc = listen(fd, BACKLOG);
    if (rc == 0)
        return fd;
    rc = -errno;
    (void)close(fd);
    return rc;
}

/* Blocks while it resolves `host`, so it is only used at start. */
static int open_listener(const char *host, int port, bool reuse_port)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *addresses;
    char service[12];
    int rc = -EADDRNOTAVAIL;

    (void)snprintf(service, sizeof(service), "%d", port);
    if (getaddrinfo(host, service, &hints, &addresses) != 0)
        return -EADDRNOTAVAIL;
    for (const struct addrinfo *it = addresses; it && rc < 0; it = it->ai_next)
        rc = listen_on(it, reuse_port);
    freeaddrinfo(addresses);
    return rc;
}

int http_listen(const char *host, int port)
{
    return open_listener(host, port, true);
}

int http_address_check(const char *host, int port)
{
    int fd = open_listener(host, port, false);

    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

unsigned http_connections_limit(unsigned wanted, unsigned others)
{
    rlim_t files = (rlim_t)wanted + others;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    if (limit.rlim_cur < files && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < files ? limit.rlim_max : files;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
            return wanted;
    }
    if (limit.rlim_cur >= files)
        return wanted;
    /* At least half of the limit: with fewer files something else will fail anyway. */
    return (unsigned)(limit.rlim_cur > 2UL * others ? limit.rlim_cur - others : limit.rlim_cur / 2);
}

union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

int http_listen_port(int fd)
{
    union socket_address address = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t len = sizeof(address);

    if (fd < 0 || getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

int http_server_port(const struct http_server *server)
{
    return http_listen_port(server->fd);
}

const struct http_limits *http_server_limits(const struct http_server *server)
{
    return &server->config.limits;
}

int64_t http_body_wait_ms(const struct http_server *server)
{
    return server->config.request_timeout_ms / 3;
}

const struct http_stats *http_server_stats(const struct http_server *server)
{
    return &server->stats;
}

/* --- accepting --- */

/* Formats a peer's address. IPv4 clients of an IPv6 socket are shown as IPv4. */
static void peer_text(const union socket_address *address, char text[46])
{
    const struct in6_addr *six = &address->six.sin6_addr;
    const char *done;

    if (address->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six))
        done = inet_ntop(AF_INET, &six->s6_addr[12], text, 46);
    else if (address->any.sa_family == AF_INET6)
        done = inet_ntop(AF_INET6, six, text, 46);
    else
        done = inet_ntop(AF_INET, &address->four.sin_addr, text, 46);
    if (!done)
        text[0] = '\0';
}

static void on_accept_timer(void *arg)
{
    struct http_server *server = arg;
    server->accept_paused = false;
    server_accept_more(server);
}

/* Clients then wait in the kernel's queue. Polling it would spin. */
static void pause_accepting(struct http_server *server)
{
    if (!server->accepting)
        return;
    server->accepting = false;
    (void)uv_poll_stop(&server->listener);
}

static void on_acceptable(uv_poll_t *listener, int status, int events UNUSED)
{
    struct http_server *server = CONTAINER_OF(listener, struct http_server, listener);

    if (status < 0) { /* libuv has stopped the handle */
        server->accepting = false;
        server->accept_paused = true;
        loop_timer_start(&server->accept_timer, ACCEPT_PAUSE_MS);
        return;
    }
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        union socket_address address = {.any = {.sa_family = AF_UNSPEC}};
        socklen_t len = sizeof(address);
        char peer[46];
        int fd;
        if (server->stats.connections_open >= server->config.limits.connections_max) {
            pause_accepting(server);
            return;
        }
        fd = accept4(server->fd, &address.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            peer_text(&address, peer);
            conn_open(server, fd, peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
            server->accept_paused = true;
            loop_timer_start(&server->accept_timer, ACCEPT_PAUSE_MS);
            return;
        } else if (errno == EAGAIN) {
            return;
        } /* else: that client is gone already */
    }
}

void server_accept_more(struct http_server *server)
{
    if (server->accepting || server->accept_paused || server->draining || server->stopping ||
        server->stats.connections_open >= server->config.limits.connections_max)
        return;
    MUST(uv_poll_start(&server->listener, UV_READABLE, on_acceptable) == 0);
    server->accepting = true;
}

static void http_on_sweep(void *arg)
{
    struct http_server *server = arg;
    loop_timer_start(&server->sweep_timer, server->sweep_ms);
    conn_sweep(server, (int64_t)uv_now(loop_uv()));
}

/* An eighth of the shortest limit: cheap, and no timeout is late by more than that. */
static int64_t sweep_interval(const struct http_limits *limits)
{
    int64_t shortest =
        limits->header_time_ms < limits->idle_ms ? limits->header_time_ms : limits->idle_ms;
    int64_t interval = shortest / 8;

    if (interval < SWEEP_MIN_MS)
        return SWEEP_MIN_MS;
    return interval > SWEEP_MAX_MS ? SWEEP_MAX_MS : interval;
}

int http_server_start(const struct http_config *config, struct http_server **ret_server)
{
    struct http_server *server;
    int fd = config->listen_fd;

    if (fd == 0)
        fd = open_listener(config->host, config->port, false);
    if (fd < 0)
        return fd;
    server = calloc(1, sizeof(*server));
    if (!server)
        PANIC("out of memory");
    server->config = *config;
    server->fd = fd;
    for (size_t i = 0; i < CONN_STATES; i++)
        list_init(&server->conns[i]);
    list_init(&server->done);
    bounds_init(server);
    server->done_hook = (struct loop_hook){.fn = exchange_flush_done, .arg = server};
    loop_timer_init(&server->accept_timer, on_accept_timer, server);
    loop_timer_init(&server->sweep_timer, http_on_sweep, server);
    MUST(uv_poll_init(loop_uv(), &server->listener, fd) == 0);
    server->listener_open = true;
    server_accept_more(server);
    server->sweep_ms = sweep_interval(&config->limits);
    loop_timer_start(&server->sweep_timer, server->sweep_ms);
    *ret_server = server;
    return 0;
}

/* --- ending --- */

static void on_listener_closed(uv_handle_t *handle)
{
    struct http_server *server = CONTAINER_OF((uv_poll_t *)handle, struct http_server, listener);

    server->listener_open = false;
    server_end_if_idle(server);
}

static void close_listener(struct http_server *server)
{
    if (server->fd < 0)
        return;
    server->accepting = false;
    loop_timer_stop(&server->accept_timer);
    uv_close((uv_handle_t *)&server->listener, on_listener_closed);
    (void)close(server->fd);
    server->fd = -1;
}

static void close_all(struct http_server *server, enum http_conn_state state)
{
    LIST_FOR (link, &server->conns[state])
        conn_abort(LIST_ITEM(link, struct http_conn, link));
}

static void drain_report(struct http_server *server)
{
    loop_fn drained = server->drained;

    server->drained = NULL;
    loop_timer_stop(&server->drain_timer);
    if (drained)
        drained(server->drained_arg);
}

static void on_drain_timer(void *arg)
{
    drain_report(arg);
}

void server_end_if_idle(struct http_server *server)
{
    bool idle = server->stats.connections_open == 0 && server->exchanges == 0;

    if (!idle)
        return;
    if (server->draining && !server->stopping) {
        drain_report(server); /* may stop the server; then this is called again */
        return;
    }
    if (!server->stopping || server->listener_open || server->done_hook.queued)
        return;
    for (size_t i = 0; i < server->arena_count; i++)
        arena_free(server->arenas[i]);
    bounds_done(server);
    free(server);
}

void http_server_drain(struct http_server *server, int64_t limit_ms, loop_fn done, void *arg)
{
    server->draining = true;
    server->drained = done;
    server->drained_arg = arg;
    loop_timer_init(&server->drain_timer, on_drain_timer, server);
    loop_timer_start(&server->drain_timer, limit_ms);
    close_listener(server);
    close_all(server, CONN_IDLE);
    close_all(server, CONN_FEED);
    server_end_if_idle(server);
}

void http_server_stop(struct http_server *server)
{
    server->stopping = true;
    server->drained = NULL;
    loop_timer_stop(&server->drain_timer);
    loop_timer_stop(&server->sweep_timer);
    close_listener(server);
    for (size_t state = 0; state < CONN_CLOSING; state++)
        close_all(server, (enum http_conn_state)state);
    server_end_if_idle(server);
}
