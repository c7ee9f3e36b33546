/* Sockets of HTTP/2 connections: dialling, sending, receiving, timeouts. */
#include "fetch/fetch_h2_conn_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/panic.h"
#include "fetch/fetch_address_private.h"
#include "fetch/fetch_h2_session_private.h"

enum {
    ADDRESS_MS = 3000, /* to connect to an address that is not the last address */
    OPEN_MS = 10000,   /* until a new connection is usable, including TLS and the peer's SETTINGS */
    CHECK_MS = 5000,   /* interval of the checks of an open connection */
    SILENT_MS = 10000, /* without data while streams are open: send a PING */
    PING_MS = 5000,    /* without an answer to the PING: the connection is dead */
    PING_FIRST_MS = 30000, /* after this silence a PING accompanies the first request */
    IDLE_MS = 90000,       /* without data and streams: close the connection */
    READS_PER_EVENT = 4,   /* recv() calls per poll event */
};

/* The poll handle. It outlives its connection until libuv has closed the handle. */
struct fetch_h2_watch {
    uv_poll_t poll;
    struct fetch_h2_conn *conn;
};

static void h2_on_poll(uv_poll_t *poll, int status, int events);

/* --- the socket --- */

static void on_h2_watch_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct fetch_h2_watch, poll));
}

static void socket_close(struct fetch_h2_conn *conn)
{
    if (conn->watch != NULL) {
        (void)uv_poll_stop(&conn->watch->poll);
        uv_close((uv_handle_t *)&conn->watch->poll, on_h2_watch_closed);
        conn->watch = NULL;
        conn->watched_events = 0;
    }
    if (conn->fd >= 0)
        (void)close(conn->fd);
    conn->fd = -1;
}

static void watch_set_events(struct fetch_h2_conn *conn, int events)
{
    if (conn->watched_events == events)
        return;
    conn->watched_events = events;
    MUST(uv_poll_start(&conn->watch->poll, events, h2_on_poll) == 0);
}

static void socket_watch(struct fetch_h2_conn *conn)
{
    conn->watch = calloc(1, sizeof(*conn->watch));
    MUST(conn->watch != NULL);
    conn->watch->conn = conn;
    int rc = uv_poll_init_socket(loop_uv(), &conn->watch->poll, conn->fd);
    if (rc != 0)
        PANIC("uv_poll_init: %s", uv_strerror(rc));
    watch_set_events(conn, UV_WRITABLE);
}

/* Parses "1.2.3.4" or "[::1]". Returns the size of the address, 0 when the text is no address. */
static socklen_t h2_address_read(struct str text, long port, struct sockaddr_storage *ret)
{
    char plain[INET6_ADDRSTRLEN];
    bool v6 = text.len > 1 && text.ptr[0] == '[';
    struct str inside = v6 ? (struct str){text.ptr + 1, text.len - 2} : text;
    struct sockaddr_in *in4 = (struct sockaddr_in *)(void *)ret;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)ret;

    *ret = (struct sockaddr_storage){0};
    if (inside.len >= sizeof(plain))
        return 0;
    memcpy(plain, inside.ptr, inside.len);
    plain[inside.len] = '\0';
    ret->ss_family = v6 ? AF_INET6 : AF_INET;
    if (inet_pton(ret->ss_family, plain, v6 ? (void *)&in6->sin6_addr : (void *)&in4->sin_addr) !=
        1)
        return 0;
    if (v6)
        in6->sin6_port = htons((uint16_t)port);
    else
        in4->sin_port = htons((uint16_t)port);
    return v6 ? sizeof(*in6) : sizeof(*in4);
}

static bool socket_connect(struct fetch_h2_conn *conn, struct str text)
{
    struct sockaddr_storage address;
    socklen_t bytes = h2_address_read(text, conn->port, &address);
    const int on = 1;

    if (bytes == 0)
        return false;
    conn->address_public = fetch_address_is_public((const struct sockaddr *)&address);
    if (!conn->any_address && !conn->address_public) {
        conn->address_refused = true;
        return false;
    }
    conn->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (conn->fd < 0)
        return false;
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(conn->fd, (const struct sockaddr *)&address, bytes) == 0 || errno == EINPROGRESS)
        return true;
    socket_close(conn);
    return false;
}

/* Starts to connect to the next address for which this is possible. False: no address is left. */
static bool conn_dial(struct fetch_h2_conn *conn)
{
    socket_close(conn);
    while (conn->addresses_left.len > 0) {
        struct str text = str_split(&conn->addresses_left, ',');
        if (!socket_connect(conn, text))
            continue;
        int64_t left_ms = conn->open_deadline_ms - clock_mono_ms();
        conn->state = H2_CONNECTING;
        socket_watch(conn);
        loop_timer_start(&conn->timer,
                         conn->addresses_left.len > 0 && left_ms > ADDRESS_MS ? ADDRESS_MS
                                                                              : left_ms);
        return true;
    }
    return false;
}

/* --- lifetime --- */

/* Ends the connection and its exchanges. If the flush hook is queued, the hook frees the memory. */
static void conn_end(struct fetch_h2_conn *conn)
{
    conn->state = H2_CLOSED;
    list_remove(&conn->link);
    loop_timer_stop(&conn->timer);
    LIST_FOR (node, &conn->exchanges) {
        struct fetch_exchange *exchange = LIST_ITEM(node, struct fetch_exchange, link);
        list_remove(&exchange->link);
        exchange->conn = NULL;
        if (exchange->is_sent)
            await_done(&exchange->await, FETCH_UNREACHABLE);
        else
            fetch_exchange_requeue(exchange);
    }
    nghttp2_session_del(conn->session);
    conn->session = NULL;
    fetch_tls_close(&conn->tls);
    socket_close(conn);
    if (!conn->flush.queued)
        free(conn);
}

/* Ends a connection that failed or is finished, and reports this to its host. */
static void h2_conn_lost(struct fetch_h2_conn *conn)
{
    struct fetch_h2_host *host = conn->host;
    int rc = 0;

    if (fetch_h2_conn_is_opening(conn))
        rc = conn->address_refused ? FETCH_REFUSED : FETCH_UNREACHABLE;
    bool fruitless = !conn->has_response && (conn->has_sent_request || conn->state == H2_LEAVING);
    conn_end(conn);
    fetch_h2_host_on_conn_end(host, rc, fruitless);
}

void fetch_h2_conn_free(struct fetch_h2_conn *conn)
{
    LIST_FOR (node, &conn->exchanges)
        LIST_ITEM(node, struct fetch_exchange, link)->is_sent = true;
    conn_end(conn);
}

bool fetch_h2_conn_is_opening(const struct fetch_h2_conn *conn)
{
    return conn->state < H2_OPEN;
}

/* --- sending --- */

/* Sends encrypted bytes until none is left or the socket is full. False: the connection failed. */
static bool wire_send(struct fetch_h2_conn *conn)
{
    char *data;
    size_t bytes;

    while ((bytes = fetch_tls_output(&conn->tls, &data)) > 0) {
        ssize_t sent = send(conn->fd, data, bytes, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        fetch_tls_output_commit(&conn->tls, (size_t)sent);
        if ((size_t)sent < bytes)
            return true;
    }
    return true;
}

/* Fills `out` with frames of the session, up to one TLS record. False: the session failed. */
static bool record_fill(struct fetch_h2_conn *conn)
{
    while (conn->out_bytes < sizeof(conn->out)) {
        if (conn->frame_bytes == 0) {
            ssize_t bytes = nghttp2_session_mem_send(conn->session, &conn->frame);
            if (bytes < 0)
                return false;
            if (bytes == 0)
                return true;
            conn->frame_bytes = (size_t)bytes;
        }
        size_t capacity = sizeof(conn->out) - conn->out_bytes;
        size_t bytes = conn->frame_bytes < capacity ? conn->frame_bytes : capacity;
        memcpy(conn->out + conn->out_bytes, conn->frame, bytes);
        conn->out_bytes += bytes;
        conn->frame += bytes;
        conn->frame_bytes -= bytes;
    }
    return true;
}

/* Encrypts and sends frames until none is left or the socket is full. False on failure. */
static bool session_send(struct fetch_h2_conn *conn)
{
    while (conn->session != NULL) {
        if (!conn->is_write_pending && !record_fill(conn))
            return false;
        if (conn->out_bytes == 0)
            return true;
        int written = fetch_tls_write(&conn->tls, conn->out, conn->out_bytes);
        if (written < 0)
            return false;
        conn->is_write_pending = written == 0;
        if (written > 0) {
            conn->out_bytes = 0;
            continue;
        }
        char *data;
        size_t before = fetch_tls_output(&conn->tls, &data);
        if (!wire_send(conn))
            return false;
        if (before == fetch_tls_output(&conn->tls, &data))
            return true; /* the socket is full */
    }
    return true;
}

/* Returns whether we must close the connection: it accepts no new requests and its requests have
 * ended. The peer may leave the closing to us. */
static bool is_finished(const struct fetch_h2_conn *conn)
{
    return conn->session != NULL && ((conn->state == H2_LEAVING && conn->streams == 0) ||
                                     !nghttp2_session_want_read(conn->session));
}

/* Sends pending output and updates the watched events. False: the connection has ended. */
static bool conn_send(struct fetch_h2_conn *conn)
{
    char *data;

    if (!session_send(conn) || !wire_send(conn))
        return false;
    if (is_finished(conn) && !nghttp2_session_want_write(conn->session))
        return false;
    bool more = fetch_tls_output(&conn->tls, &data) > 0;
    watch_set_events(conn, more ? UV_READABLE | UV_WRITABLE : UV_READABLE);
    return true;
}

/* Hook at the end of a tick. Its first call only queues the hook again, so that coroutines woken in
 * this tick run first and their requests go out in the same write. */
static void conn_on_flush(void *arg)
{
    struct fetch_h2_conn *conn = arg;

    if (conn->state == H2_CLOSED) {
        free(conn);
        return;
    }
    if (!conn->is_flush_deferred) {
        conn->is_flush_deferred = true;
        loop_at_tick_end(&conn->flush);
        return;
    }
    struct fetch_h2_host *host = conn->host;
    if (!conn_send(conn))
        h2_conn_lost(conn);
    else
        fetch_h2_host_dispatch(host); /* for exchanges that wait or were returned */
}

void fetch_h2_conn_flush(struct fetch_h2_conn *conn)
{
    if (conn->flush.queued)
        return;
    conn->is_flush_deferred = false;
    loop_at_tick_end(&conn->flush);
}

/* --- receiving --- */

static bool session_receive(struct fetch_h2_conn *conn)
{
    static uint8_t plain[FETCH_TLS_RECORD_BYTES];
    int bytes;

    while ((bytes = fetch_tls_read(&conn->tls, plain, sizeof(plain))) > 0) {
        if (nghttp2_session_mem_recv(conn->session, plain, (size_t)bytes) != bytes)
            return false;
    }
    if (nghttp2_session_want_write(conn->session) || is_finished(conn))
        fetch_h2_conn_flush(conn);
    return bytes == 0;
}

static bool handshake_continue(struct fetch_h2_conn *conn)
{
    int done = fetch_tls_handshake(&conn->tls);

    if (done < 0)
        return false;
    if (done == 0)
        return wire_send(conn);
    if (!fetch_tls_chose_h2(&conn->tls)) {
        fetch_h2_host_on_unsupported(conn->host);
        return false;
    }
    conn->session = fetch_h2_session_new(conn);
    conn->state = H2_SETTINGS_WAIT;
    fetch_h2_conn_flush(conn);
    return true;
}

/* Processes received bytes: the handshake, then HTTP/2. False: the connection has ended. */
static bool conn_process(struct fetch_h2_conn *conn)
{
    bool begun = fetch_h2_conn_is_opening(conn);

    if (conn->state == H2_HANDSHAKE && !handshake_continue(conn))
        return false;
    if (conn->session != NULL && !session_receive(conn))
        return false;
    if (begun && !fetch_h2_conn_is_opening(conn))
        loop_timer_start(&conn->timer, CHECK_MS);
    return true;
}

static bool conn_receive(struct fetch_h2_conn *conn)
{
    for (int i = 0; i < READS_PER_EVENT; i++) {
        char *data;
        size_t capacity = fetch_tls_input(&conn->tls, &data);
        ssize_t bytes = recv(conn->fd, data, capacity, 0);
        if (bytes < 0)
            return errno == EAGAIN || errno == EINTR;
        if (bytes == 0)
            return false;
        conn->received_ms = clock_mono_ms();
        fetch_tls_input_commit(&conn->tls, (size_t)bytes);
        if (!conn_process(conn))
            return false;
        if ((size_t)bytes < capacity)
            return true;
    }
    return true;
}

static bool socket_is_connected(struct fetch_h2_conn *conn)
{
    int error = 0;
    socklen_t bytes = sizeof(error);

    return getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

/* Begins TLS after a successful connect, else dials the next address. False on failure. */
static bool conn_on_connect(struct fetch_h2_conn *conn, int status)
{
    if (status < 0 || !socket_is_connected(conn))
        return conn_dial(conn);
    loop_timer_start(&conn->timer, conn->open_deadline_ms - clock_mono_ms());
    conn->state = H2_HANDSHAKE;
    return fetch_tls_open(&conn->tls, conn->name, conn->is_address) == 0 && conn_process(conn) &&
           conn_send(conn);
}

static void h2_on_poll(uv_poll_t *poll, int status, int events)
{
    struct fetch_h2_conn *conn = CONTAINER_OF(poll, struct fetch_h2_watch, poll)->conn;
    struct fetch_h2_host *host = conn->host;

    if (conn->state == H2_CONNECTING) {
        if (!conn_on_connect(conn, status))
            h2_conn_lost(conn);
        return;
    }
    bool is_broken = status < 0; /* still read the bytes that arrived before the error */
    bool stands = (!is_broken && (events & UV_READABLE) == 0) || conn_receive(conn);
    if (!stands || is_broken || ((events & UV_WRITABLE) != 0 && !conn_send(conn)))
        h2_conn_lost(conn);
    else
        fetch_h2_host_dispatch(host);
}

/* --- time --- */

static void conn_ping(struct fetch_h2_conn *conn, int64_t now_ms)
{
    MUST(nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL) == 0);
    conn->ping_ms = now_ms;
    fetch_h2_conn_flush(conn);
    loop_timer_start(&conn->timer, PING_MS);
}

/* Sends a PING after a long silence. False: the connection is dead, finished or idle too long. */
static bool conn_check(struct fetch_h2_conn *conn, int64_t now_ms)
{
    if (conn->ping_ms != 0 && now_ms - conn->ping_ms >= PING_MS)
        return false;
    if (conn->streams == 0)
        return !is_finished(conn) && now_ms - conn->received_ms < IDLE_MS;
    int64_t since_ms = conn->busy_ms > conn->received_ms ? conn->busy_ms : conn->received_ms;
    if (conn->ping_ms == 0 && now_ms - since_ms >= SILENT_MS)
        conn_ping(conn, now_ms);
    return true;
}

static void conn_on_due(void *arg)
{
    struct fetch_h2_conn *conn = arg;

    if (conn->state == H2_CONNECTING && conn->addresses_left.len > 0 && conn_dial(conn))
        return;
    if (fetch_h2_conn_is_opening(conn)) {
        h2_conn_lost(conn);
        return;
    }
    loop_timer_start(&conn->timer, CHECK_MS);
    if (conn_check(conn, clock_mono_ms()))
        return;
    if (conn->streams == 0) { /* send GOAWAY if the socket still accepts it */
        (void)nghttp2_session_terminate_session(conn->session, NGHTTP2_NO_ERROR);
        (void)conn_send(conn);
    }
    h2_conn_lost(conn);
}

/* --- called by the host --- */

struct fetch_h2_conn *fetch_h2_conn_new(struct fetch_h2_host *host,
                                        struct list *list,
                                        const struct fetch_exchange *exchange,
                                        int *ret_rc)
{
    const struct fetch_url *url = exchange->url;
    struct fetch_h2_conn *conn = calloc(1, sizeof(*conn));

    MUST(conn != NULL);
    conn->host = host;
    conn->fd = -1;
    conn->is_address = url->is_address;
    conn->any_address = url->any_address;
    conn->port = url->port;
    conn->received_ms = clock_mono_ms();
    conn->open_deadline_ms = conn->received_ms + OPEN_MS;
    conn->flush = (struct loop_hook){.fn = conn_on_flush, .arg = conn};
    MUST(strlen(url->host) < sizeof(conn->name));
    memcpy(conn->name, url->host, strlen(url->host) + 1);
    if (!url->is_address)
        conn->addresses = *exchange->addresses;
    conn->addresses_left = str_from(url->is_address ? conn->name : conn->addresses.list);
    list_init(&conn->link);
    list_init(&conn->exchanges);
    loop_timer_init(&conn->timer, conn_on_due, conn);
    if (conn_dial(conn)) {
        list_append(list, &conn->link);
        return conn;
    }
    *ret_rc = conn->address_refused ? FETCH_REFUSED : FETCH_UNREACHABLE;
    conn_end(conn);
    return NULL;
}

bool fetch_h2_conn_has_free_stream(struct fetch_h2_conn *conn, bool any_address)
{
    if (conn->state != H2_OPEN || (!any_address && !conn->address_public))
        return false;
    if (!nghttp2_session_check_request_allowed(conn->session)) {
        conn->state = H2_LEAVING;
        return false;
    }
    uint32_t allowed =
        nghttp2_session_get_remote_settings(conn->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return conn->streams < (allowed < FETCH_H2_STREAMS ? allowed : FETCH_H2_STREAMS);
}

void fetch_h2_conn_send(struct fetch_h2_conn *conn, struct fetch_exchange *exchange)
{
    if (conn->streams++ == 0) {
        conn->busy_ms = clock_mono_ms();
        if (conn->ping_ms == 0 && conn->busy_ms - conn->received_ms >= PING_FIRST_MS)
            conn_ping(conn, conn->busy_ms);
    }
    conn->has_sent_request = true;
    exchange->conn = conn;
    exchange->is_sent = false;
    exchange->body_sent = 0;
    list_append(&conn->exchanges, &exchange->link);
    fetch_h2_session_submit(conn, exchange);
    fetch_h2_conn_flush(conn);
}

void fetch_exchange_cancel(struct fetch_exchange *exchange)
{
    fetch_h2_session_cancel(exchange);
}
