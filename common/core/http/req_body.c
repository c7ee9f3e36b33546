/*
 * Request bodies, read on demand. The loop decodes into one buffer (`filling_buffer`) while it has
 * room. The handler takes this buffer as a chunk, and the loop continues with the other buffer.
 * While both are full the socket is not read. A body that is read as a whole acquires room in the
 * server's limits before more than BODY_BUFFER_BYTES of it are read: at once for its announced
 * length, so that no two bodies wait for each other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/gunzip.h"
#include "base/panic.h"
#include "http/bounds_private.h"
#include "http/req_body_private.h"

#define FIRST_BYTES    4096U
#define RATE_WINDOW_MS 5000

static struct body_buffer *filling_buffer(struct exchange *ex)
{
    return &ex->buffers[ex->filling];
}

static void buffer_reserve(struct exchange *ex, size_t cap)
{
    struct body_buffer *buffer = filling_buffer(ex);

    if (cap <= buffer->cap)
        return;
    buffer->ptr = arena_grow(ex->req.task.arena, buffer->ptr, buffer->cap, cap);
    buffer->cap = cap;
}

/* Grows the buffer to the announced length, or doubles it, within the limit. */
static void buffer_grow(struct exchange *ex)
{
    struct body_buffer *buffer = filling_buffer(ex);
    size_t cap = buffer->cap > 0 ? buffer->cap * 2 : FIRST_BYTES;

    if (!ex->head.chunked && ex->body.left < cap)
        cap = buffer->len + (size_t)ex->body.left;
    buffer_reserve(ex, cap < ex->buffer_limit ? cap : ex->buffer_limit);
}

static void body_wake(struct exchange *ex, int rc)
{
    ex->waiting = WAIT_NONE;
    await_done(&ex->await, rc);
}

static void wake_reader(struct exchange *ex)
{
    if (ex->waiting != WAIT_BODY_CHUNK && ex->waiting != WAIT_BODY_WHOLE)
        return;
    if (ex->body_complete || ex->body_error != 0 || ex->is_stalled ||
        filling_buffer(ex)->len >= ex->buffer_limit ||
        (ex->waiting == WAIT_BODY_CHUNK && filling_buffer(ex)->len > 0))
        body_wake(ex, 0);
}

void body_fail(struct exchange *ex, int error)
{
    if (ex->body_error == 0)
        ex->body_error = error;
    wake_reader(ex);
}

/* Counts incomplete bodies. The project's limits count complete bodies (app/admission.h). */
static void body_count(struct exchange *ex)
{
    if (ex->body_complete)
        bounds_release_body(ex);
    else if (!bounds_hold_body(ex, ex->buffers[0].len + ex->buffers[1].len))
        ex->is_stalled = true;
}

size_t body_feed(struct exchange *ex, const char *data, size_t len)
{
    size_t total = 0;

    if (ex->body_complete)
        return 0;
    if (ex->body_error != 0)
        return len; /* the connection closes after the response */
    ex->body_started = true;
    while (total < len && !ex->body_complete && !ex->is_stalled) {
        struct body_buffer *buffer = filling_buffer(ex);
        size_t used;
        size_t made;
        int rc;
        if (buffer->len == buffer->cap)
            buffer_grow(ex);
        rc = body_decode(&ex->body,
                         (struct str){data + total, len - total},
                         buffer->ptr + buffer->len,
                         buffer->cap - buffer->len,
                         &used,
                         &made);
        buffer->len += made;
        total += used;
        ex->body_complete = rc == BODY_COMPLETE;
        if (rc == BODY_BAD) {
            body_fail(ex, REQ_BODY_MALFORMED);
            return len;
        }
        if (used == 0)
            break;
    }
    ex->req.bytes_in += total;
    ex->body_window_bytes += total;
    body_count(ex);
    wake_reader(ex);
    return total;
}

bool body_too_slow(const struct exchange *ex, int64_t now_ms)
{
    int64_t waited_ms;

    if (ex->waiting != WAIT_BODY_CHUNK && ex->waiting != WAIT_BODY_WHOLE)
        return false;
    waited_ms = ex->body_waited_ms + now_ms - ex->wait_since_ms;
    return waited_ms >= RATE_WINDOW_MS &&
           ex->body_window_bytes <
               ex->req.server->config.limits.body_min_rate * (uint64_t)waited_ms / 1000;
}

/* Only the time of waiting for the client counts for its rate, summed over several waits. */
static void count_wait(struct exchange *ex)
{
    ex->body_waited_ms += (int64_t)uv_now(loop_uv()) - ex->wait_since_ms;
    if (ex->body_waited_ms >= RATE_WINDOW_MS) {
        ex->body_waited_ms = 0;
        ex->body_window_bytes = 0;
    }
}

static void body_on_abandon(struct await *await)
{
    CONTAINER_OF(await, struct exchange, await)->waiting = WAIT_NONE;
}

/* A request that waits for its body is not in flight, so thousands of them lock out no others. */
static void in_flight_leave(struct exchange *ex)
{
    ex->req.server->stats.requests_in_flight--;
    ex->is_in_flight = false;
}

static int in_flight_return(struct exchange *ex, int rc)
{
    struct http_server *server = ex->req.server;

    if (rc == 0 && server->stats.requests_in_flight >= server->config.limits.requests_max)
        return REQ_BODY_REFUSED;
    server->stats.requests_in_flight++;
    ex->is_in_flight = true;
    return rc;
}

AWAITS static int body_wait_outside(struct exchange *ex)
{
    in_flight_leave(ex);
    return in_flight_return(ex, await_wait(&ex->req.task, &ex->await, 0));
}

/* Waits for a change of the body. Returns 0 when there is one. */
AWAITS static int body_wait(struct exchange *ex, enum exchange_wait what)
{
    int rc;

    if (!ex->req.conn)
        return -ECANCELED;
    if (!bounds_await_body(ex))
        return REQ_BODY_REFUSED;
    if (ex->head.expects_continue && !ex->continue_sent && !ex->body_started) {
        struct str line = STR("HTTP/1.1 100 Continue\r\n\r\n");
        ex->continue_sent = true;
        conn_write(ex->req.conn, &line, 1);
        if (!ex->req.conn)
            return -ECANCELED;
    }
    await_init(&ex->await);
    ex->await.abandon = body_on_abandon;
    ex->waiting = what;
    ex->wait_since_ms = (int64_t)uv_now(loop_uv());
    if (what == WAIT_BODY_WHOLE)
        rc = body_wait_outside(ex);
    else
        rc = await_wait(&ex->req.task, &ex->await, 0);
    count_wait(ex);
    return rc == -ETIMEDOUT ? REQ_BODY_TIMEOUT : rc;
}

static void resume_input(struct exchange *ex)
{
    if (ex->req.conn && !ex->body_complete)
        conn_resume_input(ex->req.conn);
}

/* The first bytes arrived with the head, before it was known for which client they count. */
void req_peer_set(struct req *req, const char *peer)
{
    struct exchange *ex = EXCHANGE(req);
    bool awaited = ex->body_held.amount > 0;
    uint64_t bytes = ex->body_bytes_held.amount;

    bounds_release_body(ex);
    (void)snprintf(req->peer, sizeof(req->peer), "%s", peer);
    if (awaited && !bounds_await_body(ex))
        body_fail(ex, REQ_BODY_REFUSED);
    ex->is_stalled = !bounds_hold_body(ex, bytes);
}

bool req_body_is_awaited(struct req *req)
{
    return req->has_body && !EXCHANGE(req)->body_complete;
}

/* Waits for room in the server's limits: for the announced length; for a chunked body first for
 * BODY_BUFFER_BYTES, then for the largest size that is allowed. */
AWAITS static int body_acquire_room(struct exchange *ex, size_t max_bytes)
{
    struct body_buffer *buffer = filling_buffer(ex);
    bool is_announced = !ex->head.chunked;
    size_t most = max_bytes + 1; /* a byte above the limit shows that the body is too large */

    if (is_announced)
        most = buffer->len + (size_t)ex->body.left;
    else if (buffer->len < BODY_BUFFER_BYTES && most > BODY_BUFFER_BYTES)
        most = BODY_BUFFER_BYTES;
    in_flight_leave(ex);
    TRY(in_flight_return(ex, bounds_acquire_body(ex, most)));
    if (is_announced)
        buffer_reserve(ex, most);
    ex->buffer_limit = is_announced ? max_bytes + 1 : most;
    ex->is_stalled = false;
    resume_input(ex);
    return 0;
}

int req_body_read_all(struct req *req, size_t max_bytes, struct str *ret_body)
{
    struct exchange *ex = EXCHANGE(req);
    struct body_buffer *buffer = filling_buffer(ex);

    if (req->content_length > 0 && (uint64_t)req->content_length > max_bytes)
        return REQ_BODY_TOO_LARGE;
    while (!ex->body_complete && ex->body_error == 0 && buffer->len <= max_bytes) {
        TRY(body_acquire_room(ex, max_bytes));
        if (ex->body_complete || ex->body_error != 0 || buffer->len > max_bytes)
            break;
        int rc = body_wait(ex, WAIT_BODY_WHOLE);
        if (rc != 0)
            return rc;
    }
    if (ex->body_error != 0)
        return ex->body_error;
    if (buffer->len > max_bytes)
        return REQ_BODY_TOO_LARGE;
    ex->body_taken += buffer->len;
    *ret_body = buffer->len > 0 ? (struct str){buffer->ptr, buffer->len} : STR("");
    return 0;
}

void req_body_replace(struct req *req, struct str body)
{
    struct exchange *ex = EXCHANGE(req);

    MUST(ex->body_complete && body.len > 0);
    /* Do not overwrite the text that was read before: it must live as long as the request. */
    *filling_buffer(ex) = (struct body_buffer){0};
    buffer_reserve(ex, body.len);
    memcpy(filling_buffer(ex)->ptr, body.ptr, body.len);
    filling_buffer(ex)->len = body.len;
}

AWAITS static int body_read_chunk(struct req *req, uint64_t max_total_bytes, struct str *ret_chunk)
{
    struct exchange *ex = EXCHANGE(req);
    struct body_buffer *buffer;

    if (req->content_length > 0 && (uint64_t)req->content_length > max_total_bytes)
        return REQ_BODY_TOO_LARGE;
    while (filling_buffer(ex)->len == 0 && !ex->body_complete && ex->body_error == 0) {
        int rc = body_wait(ex, WAIT_BODY_CHUNK);
        if (rc != 0)
            return rc;
    }
    if (ex->body_error != 0)
        return ex->body_error;
    buffer = filling_buffer(ex);
    ex->body_taken += buffer->len;
    if (ex->body_taken > max_total_bytes)
        return REQ_BODY_TOO_LARGE;
    *ret_chunk = buffer->len > 0 ? (struct str){buffer->ptr, buffer->len} : STR("");
    if (buffer->len > 0) {
        ex->filling ^= 1;
        filling_buffer(ex)->len = 0;
        ex->is_stalled = false; /* chunks are small, and few requests read in chunks at a time */
        resume_input(ex);
    }
    return 0;
}

AWAITS static int
body_unpack_chunk(struct req *req, uint64_t max_total_bytes, struct str *ret_chunk)
{
    struct exchange *ex = EXCHANGE(req);
    size_t made = 0;

    for (;;) {
        TRY(task_yield_if_due(&req->task));
        if (!gunzip_step(
                ex->gunzip, &ex->packed_bytes, ex->unpacked_chunk, BODY_BUFFER_BYTES, &made))
            return REQ_BODY_MALFORMED;
        if (made > 0 || ex->packed_ended)
            break;
        if (ex->packed_bytes.len > 0)
            continue;
        TRY(body_read_chunk(req, max_total_bytes, &ex->packed_bytes));
        ex->packed_ended = ex->packed_bytes.len == 0;
    }
    if (made == 0 && !gunzip_is_complete(ex->gunzip))
        return REQ_BODY_MALFORMED;
    ex->unpacked_bytes += made;
    if (ex->unpacked_bytes > max_total_bytes)
        return REQ_BODY_TOO_LARGE;
    *ret_chunk = made > 0 ? (struct str){ex->unpacked_chunk, made} : STR("");
    return 0;
}

int req_body_read(struct req *req, uint64_t max_total_bytes, struct str *ret_chunk)
{
    return EXCHANGE(req)->gunzip != NULL ? body_unpack_chunk(req, max_total_bytes, ret_chunk)
                                         : body_read_chunk(req, max_total_bytes, ret_chunk);
}
