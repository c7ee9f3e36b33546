/* Feeds: responses without an end. */
#include "http/feed.h"

#include <stdlib.h>

#include "base/panic.h"
#include "http/bounds_private.h"
#include "http/feed_private.h"
#include "http/resp_private.h"
#include "http/server_private.h"

/* --- chunks --- */

static struct http_chunk *chunk_make(struct str head, struct str text)
{
    struct http_chunk *chunk = malloc(sizeof(*chunk) + head.len + text.len);

    if (!chunk)
        PANIC("out of memory");
    chunk->refs = 1;
    chunk->has_head = false;
    chunk->len = head.len + text.len;
    if (head.len > 0)
        memcpy(chunk->data, head.ptr, head.len);
    memcpy(chunk->data + head.len, text.ptr, text.len);
    return chunk;
}

struct http_chunk *http_chunk_new(struct str text)
{
    return chunk_make(STR_NONE, text);
}

struct http_chunk *http_chunk_new_headed(struct str text)
{
    struct http_chunk *chunk = chunk_make(STR_NONE, text);

    chunk->has_head = text.len > 0; /* an empty chunk gets no head */
    return chunk;
}

struct http_chunk *http_chunk_ref(struct http_chunk *chunk)
{
    chunk->refs++;
    return chunk;
}

void http_chunk_unref(struct http_chunk *chunk)
{
    if (chunk && --chunk->refs == 0)
        free(chunk);
}

/* --- lifetime --- */

bool http_feed_begin(struct req *req, struct str content_type, struct http_feed *feed)
{
    struct exchange *ex = EXCHANGE(req);
    struct http_conn *conn = req->conn;
    struct str head;

    feed->conn = NULL;
    if (!conn)
        return false;
    req->content_type = content_type;
    req->status = 200;
    req->streaming = true;
    ex->head_sent = true;
    ex->keep_alive = false;
    ex->is_feed = true;
    head = resp_head(ex, -1);
    req->bytes_out = head.len;
    conn_write(conn, &head, 1);
    if (!req->conn)
        return false;
    feed->conn = conn;
    feed->owner = share_owner_of(&req->task);
    conn->feed = feed;
    return true;
}

bool http_client_has_left(const struct req *req)
{
    return !req->conn || req->conn->eof;
}

void feed_on_conn_end(struct http_conn *conn)
{
    struct http_feed *feed = conn->feed;

    if (!feed)
        return;
    conn->feed = NULL;
    feed->conn = NULL;
    feed->on_closed(feed->arg);
}

void http_feed_close(struct http_feed *feed)
{
    struct http_conn *conn = feed->conn;

    if (!conn)
        return;
    feed->conn = NULL;
    conn->feed = NULL;
    conn_close_after_writes(conn);
}

/* --- sending --- */

/* A part of a chunk that the socket did not take at once. */
struct feed_write {
    uv_write_t write;
    struct http_chunk *chunk;
    struct http_server *server;
    struct share *share;
    size_t len;
};

static void feed_write_free(struct feed_write *waiting)
{
    if (waiting->share)
        shares_release(waiting->server->config.unsent, waiting->share, waiting->len);
    http_chunk_unref(waiting->chunk);
    free(waiting);
}

static void feed_on_written(uv_write_t *write, int status)
{
    struct http_conn *conn = CONTAINER_OF((uv_tcp_t *)write->handle, struct http_conn, tcp);

    feed_write_free(CONTAINER_OF(write, struct feed_write, write));
    if (status < 0)
        conn_abort(conn);
    else
        conn_on_written(conn);
}

/* Queues the unsent part of a chunk. False: too many bytes are queued already. */
static bool feed_queue(struct http_feed *feed, struct http_chunk *chunk, size_t sent)
{
    struct http_conn *conn = feed->conn;
    struct shares *unsent = conn->server->config.unsent;
    size_t len = chunk->len - sent;
    struct share *share = NULL;

    if (conn_queued_bytes(conn) + len > feed->queued_max ||
        (unsent && shares_try(unsent, feed->owner, len, &share) != 0))
        return false;
    struct feed_write *waiting = malloc(sizeof(*waiting));
    if (!waiting)
        PANIC("out of memory");
    waiting->chunk = http_chunk_ref(chunk);
    waiting->server = conn->server;
    waiting->share = share;
    waiting->len = len;
    uv_buf_t rest = uv_buf_init(chunk->data + sent, (unsigned)len);
    if (uv_write(&waiting->write, (uv_stream_t *)&conn->tcp, &rest, 1, feed_on_written) == 0)
        return true;
    feed_write_free(waiting);
    return false;
}

/* Queues the unsent part of a head and its chunk: a copy of both, or the shared chunk once the head
 * is sent. */
static bool
feed_queue_headed(struct http_feed *feed, struct str head, struct http_chunk *chunk, size_t sent)
{
    if (sent >= head.len)
        return feed_queue(feed, chunk, sent - head.len);
    struct http_chunk *whole = chunk_make(head, (struct str){chunk->data, chunk->len});
    bool waits = feed_queue(feed, whole, sent);
    http_chunk_unref(whole);
    return waits;
}

/* Writes the chunks as far as the socket takes them at once. Returns how many bytes were written;
 * negative: the connection failed. */
static ssize_t feed_write_now(struct http_feed *feed,
                              struct http_chunk *const *chunks,
                              size_t count,
                              size_t *ret_len)
{
    uv_buf_t bufs[2 * FEED_CHUNKS];
    unsigned used = 0;

    *ret_len = 0;
    for (size_t i = 0; i < count; i++) {
        struct http_chunk *chunk = chunks[i];
        if (chunk->has_head && feed->head.len > 0)
            bufs[used++] = uv_buf_init((char *)feed->head.ptr, (unsigned)feed->head.len);
        if (chunk->len > 0)
            bufs[used++] = uv_buf_init(chunk->data, (unsigned)chunk->len);
        *ret_len += chunk->len + (chunk->has_head ? feed->head.len : 0);
    }
    if (used == 0 || conn_queued_bytes(feed->conn) > 0)
        return 0;
    int rc = uv_try_write((uv_stream_t *)&feed->conn->tcp, bufs, used);
    return rc == UV_EAGAIN ? 0 : rc;
}

void http_feed_send_all(struct http_feed *feed, struct http_chunk *const *chunks, size_t count)
{
    struct http_conn *conn = feed->conn;
    size_t len;

    if (!conn)
        return;
    MUST(count <= FEED_CHUNKS);
    ssize_t taken = feed_write_now(feed, chunks, count, &len);
    if (taken < 0) {
        conn_abort(conn);
        return;
    }
    conn->server->stats.bytes_out += len;
    conn->out_total += len;
    size_t sent = (size_t)taken;
    for (size_t i = 0; i < count; i++) {
        const struct str head = chunks[i]->has_head ? feed->head : STR_NONE;
        size_t whole = head.len + chunks[i]->len;
        if (sent >= whole) {
            sent -= whole;
            continue;
        }
        if (!feed_queue_headed(feed, head, chunks[i], sent)) {
            conn_reset(conn);
            return;
        }
        sent = 0;
    }
}

void http_feed_send(struct http_feed *feed, struct http_chunk *chunk)
{
    http_feed_send_all(feed, &chunk, 1);
}
