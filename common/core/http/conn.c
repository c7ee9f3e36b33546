/* Connections: reading, pipelined input, writing, closing, timeouts. */
#include "http/bounds_private.h"

#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/panic.h"
#include "http/exchange_private.h"
#include "http/feed_private.h"
#include "http/req_body_private.h"
#include "http/server_private.h"

#define CONN_MAGIC       0x6e6e6f63U
#define READ_BYTES       65536U
#define HEAD_READ_BYTES  16384U
#define PENDING_MAX      4096U
#define LINGER_MS        2000
#define RATE_WINDOW_MS   5000
#define WRITE_CHUNKS_MAX 4U

/* One read buffer for the process: every byte is consumed or copied before the callback returns. */
static char read_buffer[READ_BYTES];

static struct http_conn *conn_of(void *handle)
{
    struct http_conn *conn = handle;
    MUST(conn->magic == CONN_MAGIC);
    return conn;
}

int conn_fd(const struct http_conn *conn)
{
    uv_os_fd_t fd;
    MUST(uv_fileno((const uv_handle_t *)&conn->tcp, &fd) == 0);
    return fd;
}

static void conn_set_state(struct http_conn *conn, enum http_conn_state state)
{
    list_remove(&conn->link);
    list_append(&conn->server->conns[state], &conn->link);
    conn->state = state;
    conn->since_ms = (int64_t)uv_now(loop_uv());
}

static void http_on_closed(uv_handle_t *handle)
{
    struct http_conn *conn = conn_of(handle);
    struct http_server *server = conn->server;

    list_remove(&conn->link);
    bounds_disconnect(conn);
    conn->magic = 0;
    free(conn->pending);
    free(conn);
    server->stats.connections_open--;
    server_accept_more(server);
    server_end_if_idle(server);
}

static void http_conn_close(struct http_conn *conn)
{
    if (conn->state == CONN_CLOSING)
        return;
    conn_set_state(conn, CONN_CLOSING);
    uv_close((uv_handle_t *)&conn->tcp, http_on_closed);
}

void conn_abort(struct http_conn *conn)
{
    struct exchange *ex = conn->exchange;

    if (conn->state == CONN_CLOSING)
        return;
    http_conn_close(conn);
    feed_on_conn_end(conn);
    /* A response that is still being written is ended by its write callback. */
    if (!ex || (ex->phase == EXCHANGE_WRITING && !ex->req.streaming))
        return;
    conn->exchange = NULL;
    exchange_detach_conn(ex);
}

/* --- input --- */

static void pending_append(struct http_conn *conn, const char *data, size_t len)
{
    if (len == 0)
        return;
    if (conn->pending_cap - conn->pending_len < len) {
        conn->pending_cap = conn->pending_len + len;
        conn->pending = realloc(conn->pending, conn->pending_cap);
        if (!conn->pending)
            PANIC("out of memory");
    }
    memcpy(conn->pending + conn->pending_len, data, len);
    conn->pending_len += len;
}

static void pending_drop(struct http_conn *conn, size_t len)
{
    conn->pending_len -= len;
    if (conn->pending_len > 0) {
        memmove(conn->pending, conn->pending + len, conn->pending_len);
        return;
    }
    free(conn->pending);
    conn->pending = NULL;
    conn->pending_cap = 0;
}

/* Passes input to its current consumer. Returns how many bytes were consumed. */
static size_t conn_consume(struct http_conn *conn, const char *data, size_t len)
{
    size_t used = 0;

    while (used < len && conn->state != CONN_CLOSING) {
        struct exchange *ex = conn->exchange;
        size_t bytes;
        if (conn->is_discarding || conn->state == CONN_LINGER)
            return len;
        if (conn->drain_left > 0) {
            bytes = len - used < conn->drain_left ? len - used : conn->drain_left;
            conn->drain_left -= (uint32_t)bytes;
        } else if (!ex) {
            conn->exchange = exchange_new(conn);
            conn_set_state(conn, CONN_HEAD);
            continue;
        } else if (ex->phase == EXCHANGE_HEAD) {
            bytes = exchange_take_head(ex, data + used, len - used);
            if (ex->phase != EXCHANGE_HEAD)
                conn_set_state(conn, CONN_BUSY);
        } else {
            bytes = body_feed(ex, data + used, len - used);
            if (bytes == 0)
                break;
        }
        used += bytes;
    }
    return used;
}

/* While a request is being answered, at most PENDING_MAX bytes of further input are read, and the
 * rest stays in the kernel. Reading a little is how we notice that the client has gone. Only bodies
 * are read in large chunks. */
static void http_on_alloc(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *buf)
{
    const struct http_conn *conn = conn_of(handle);
    const struct exchange *ex = conn->exchange;
    size_t bytes = HEAD_READ_BYTES;

    if (ex && ex->phase != EXCHANGE_HEAD)
        bytes = ex->body_complete ? PENDING_MAX - conn->pending_len : READ_BYTES;
    *buf = uv_buf_init(read_buffer, conn->is_discarding ? READ_BYTES : (unsigned)bytes);
}

static void http_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf);

/* Stops reading when no more can be buffered, which is the backpressure on the client. */
static void conn_update_reading(struct http_conn *conn)
{
    const struct exchange *ex = conn->exchange;
    bool want = !conn->eof && conn->state != CONN_CLOSING;

    if (ex && ex->phase != EXCHANGE_HEAD && !ex->body_complete && conn->pending_len > 0)
        want = false;
    if (conn->pending_len >= PENDING_MAX)
        want = false;
    if (want == conn->reading)
        return;
    conn->reading = want;
    if (!want)
        (void)uv_read_stop((uv_stream_t *)&conn->tcp);
    else if (uv_read_start((uv_stream_t *)&conn->tcp, http_on_alloc, http_on_read) != 0)
        conn_abort(conn);
}

/* The client has closed its side: complete requests are still answered (half-close). */
static void conn_check_eof(struct http_conn *conn)
{
    const struct exchange *ex = conn->exchange;

    if (!conn->eof || conn->state == CONN_CLOSING || conn->pending_len > 0)
        return;
    if (!ex || ex->phase == EXCHANGE_HEAD || (!ex->body_complete && ex->phase == EXCHANGE_RUNNING))
        conn_abort(conn);
}

static void conn_feed_pending(struct http_conn *conn)
{
    if (conn->pending_len > 0)
        pending_drop(conn, conn_consume(conn, conn->pending, conn->pending_len));
}

static void http_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct http_conn *conn = conn_of(stream);

    if (nread > 0) {
        size_t len = (size_t)nread;
        size_t used = 0;
        conn->server->stats.bytes_in += len;
        if (conn->pending_len == 0)
            used = conn_consume(conn, buf->base, len);
        pending_append(conn, buf->base + used, len - used);
    } else if (nread == UV_EOF) {
        conn->eof = true;
        conn->reading = false;
        conn_check_eof(conn);
    } else if (nread < 0) {
        conn->reading = false;
        conn_abort(conn);
        return;
    }
    conn_update_reading(conn);
}

void conn_resume_input(struct http_conn *conn)
{
    if (conn->state == CONN_CLOSING)
        return;
    conn_feed_pending(conn);
    conn_check_eof(conn);
    conn_update_reading(conn);
}

/* Closes so that the client can still read the response. Closing a socket that has unread input
 * would reset the connection and lose the response (RFC 9112 section 9.6). */
static void conn_linger(struct http_conn *conn)
{
    conn->is_discarding = true;
    pending_drop(conn, conn->pending_len);
    if (conn->eof || shutdown(conn_fd(conn), SHUT_WR) != 0) {
        http_conn_close(conn);
        return;
    }
    conn_set_state(conn, CONN_LINGER);
    conn_update_reading(conn);
}

void conn_begin_feed(struct http_conn *conn)
{
    conn->exchange = NULL;
    if (conn->state == CONN_CLOSING)
        return;
    conn->is_discarding = true; /* a client of a feed sends no more requests */
    pending_drop(conn, conn->pending_len);
    conn_set_state(conn, CONN_FEED);
    if (!conn->feed)
        conn_close_after_writes(conn);
    else if (conn->server->draining)
        conn_abort(conn);
    else
        conn_resume_input(conn);
}

void conn_close_after_writes(struct http_conn *conn)
{
    conn->is_finishing = true;
    conn_on_written(conn);
}

void conn_on_written(struct http_conn *conn)
{
    if (conn->is_finishing && conn->state == CONN_FEED && conn_queued_bytes(conn) == 0)
        conn_linger(conn);
}

void conn_end_exchange(struct http_conn *conn, bool keep_alive)
{
    conn->exchange = NULL;
    if (conn->state == CONN_CLOSING)
        return;
    if (!keep_alive) {
        conn_linger(conn);
        return;
    }
    conn_set_state(conn, CONN_IDLE);
    if (conn->pending_len > 0 || conn->eof)
        conn_resume_input(conn);
    else
        conn_update_reading(conn);
}

void conn_open(struct http_server *server, int fd, const char *peer)
{
    struct http_conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        PANIC("out of memory");
    conn->magic = CONN_MAGIC;
    conn->server = server;
    (void)snprintf(conn->peer, sizeof(conn->peer), "%s", peer);
    list_init(&conn->link);
    MUST(uv_tcp_init(loop_uv(), &conn->tcp) == 0);
    server->stats.connections_accepted++;
    server->stats.connections_open++;
    conn_set_state(conn, CONN_IDLE);
    if (!bounds_connect(conn) || uv_tcp_open(&conn->tcp, fd) != 0) {
        (void)close(fd);
        http_conn_close(conn);
        return;
    }
    (void)uv_tcp_nodelay(&conn->tcp, 1);
    conn_update_reading(conn);
}

/* --- output --- */

/* Bytes that the socket did not take at once. */
struct queued_write {
    uv_write_t write;
    char data[];
};

size_t conn_queued_bytes(const struct http_conn *conn)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
}

static void on_queued_written(uv_write_t *write, int status)
{
    struct http_conn *conn = conn_of(write->handle);
    struct exchange *ex = conn->exchange;

    free(CONTAINER_OF(write, struct queued_write, write));
    if (status < 0) {
        conn_abort(conn);
        return;
    }
    if (!ex) {
        conn_on_written(conn);
        return;
    }
    if (ex->phase == EXCHANGE_WRITING && ex->req.streaming && conn_queued_bytes(conn) == 0) {
        exchange_on_written(ex);
    } else if (ex->waiting == WAIT_WRITE && conn_queued_bytes(conn) <= ex->queue_wanted) {
        ex->waiting = WAIT_NONE;
        await_done(&ex->await, 0);
    }
}

void conn_write(struct http_conn *conn, const struct str *chunks, size_t count)
{
    uv_buf_t bufs[WRITE_CHUNKS_MAX];
    struct queued_write *queued;
    uv_buf_t rest;
    size_t total = 0;
    size_t sent = 0;
    size_t at = 0;
    int rc;

    MUST(count <= WRITE_CHUNKS_MAX);
    for (size_t i = 0; i < count; i++) {
        bufs[i] = uv_buf_init((char *)chunks[i].ptr, (unsigned)chunks[i].len);
        total += chunks[i].len;
    }
    conn->server->stats.bytes_out += total;
    conn->out_total += total;
    if (conn_queued_bytes(conn) == 0) {
        rc = uv_try_write((uv_stream_t *)&conn->tcp, bufs, (unsigned)count);
        if (rc < 0 && rc != UV_EAGAIN) {
            conn_abort(conn);
            return;
        }
        sent = rc > 0 ? (size_t)rc : 0;
    }
    if (sent == total)
        return;

    queued = malloc(sizeof(*queued) + total - sent);
    if (!queued)
        PANIC("out of memory");
    rest = uv_buf_init(queued->data, (unsigned)(total - sent));
    for (size_t i = 0; i < count; i++) {
        size_t skip = sent < chunks[i].len ? sent : chunks[i].len;
        memcpy(queued->data + at, chunks[i].ptr + skip, chunks[i].len - skip);
        at += chunks[i].len - skip;
        sent -= skip;
    }
    if (uv_write(&queued->write, (uv_stream_t *)&conn->tcp, &rest, 1, on_queued_written) != 0) {
        free(queued);
        conn_abort(conn);
    }
}

void conn_write_head(struct http_conn *conn, struct str head)
{
    ssize_t sent = 0;

    if (conn_queued_bytes(conn) == 0)
        sent = send(conn_fd(conn), head.ptr, head.len, MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) /* conn_write() will report the error */
        sent = 0;
    conn->server->stats.bytes_out += (uint64_t)sent;
    conn->out_total += (uint64_t)sent;
    const struct str rest = {head.ptr + sent, head.len - (size_t)sent};
    if (rest.len > 0)
        conn_write(conn, &rest, 1);
}

/* --- timeouts --- */

/* Detects slow readers by the bytes that the peer acknowledges per window while something is
 * queued. Bytes in the kernel's buffer count as queued, or the buffer's size would distort the
 * rate. */
static bool write_is_stalled(struct http_conn *conn, int64_t now_ms)
{
    uint64_t least = conn->server->config.limits.body_min_rate * RATE_WINDOW_MS / 1000;
    uint64_t acknowledged;
    bool stalled;
    int in_kernel = 0;

    if (conn_queued_bytes(conn) == 0) {
        conn->stall_since_ms = 0;
        return false;
    }
    if (conn->stall_since_ms != 0 && now_ms - conn->stall_since_ms < RATE_WINDOW_MS)
        return false;
    (void)ioctl(conn_fd(conn), SIOCOUTQ, &in_kernel);
    acknowledged = conn->out_total - conn_queued_bytes(conn) - (uint64_t)in_kernel;
    stalled = conn->stall_since_ms != 0 && acknowledged - conn->stall_mark < least;
    conn->stall_mark = acknowledged;
    conn->stall_since_ms = now_ms;
    return stalled;
}

/* After a plain close the kernel would keep its buffered bytes for a client that does not read. */
void conn_reset(struct http_conn *conn)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(conn_fd(conn), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    conn_abort(conn);
}

static const struct http_fault fault_slow_head = {
    408, PROBLEM_REQUEST_TIMEOUT, "The request head did not arrive in time."};

static void sweep_old(struct http_server *server, enum http_conn_state state, int64_t before_ms)
{
    LIST_FOR (link, &server->conns[state]) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, link);
        if (conn->since_ms > before_ms)
            break;
        if (state == CONN_HEAD &&
            conn->exchange->scan.line_bytes + conn->exchange->scan.lines > 0) {
            exchange_fail(conn->exchange, &fault_slow_head, true);
            conn_set_state(conn, CONN_BUSY);
        } else {
            conn_abort(conn);
        }
    }
}

void conn_sweep(struct http_server *server, int64_t now_ms)
{
    const struct http_limits *limits = &server->config.limits;

    sweep_old(server, CONN_IDLE, now_ms - limits->idle_ms);
    sweep_old(server, CONN_HEAD, now_ms - limits->header_time_ms);
    sweep_old(server, CONN_LINGER, now_ms - LINGER_MS);
    LIST_FOR (link, &server->conns[CONN_BUSY]) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, link);
        struct exchange *ex = conn->exchange;
        if (write_is_stalled(conn, now_ms))
            conn_reset(conn);
        else if (body_too_slow(ex, now_ms))
            body_fail(ex, REQ_BODY_TIMEOUT);
    }
    LIST_FOR (link, &server->conns[CONN_FEED]) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, link);
        if (write_is_stalled(conn, now_ms))
            conn_reset(conn);
    }
}
