/* Streamed responses, and files. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/panic.h"
#include "http/bounds_private.h"
#include "http/exchange_private.h"
#include "http/resp.h"
#include "http/resp_private.h"
#include "loop/work.h"

#define FILE_CHUNK_BYTES 131072U

static void stream_on_abandon(struct await *await)
{
    CONTAINER_OF(await, struct exchange, await)->waiting = WAIT_NONE;
}

/* Waits while more than `bytes` are queued. */
AWAITS static int queue_wait(struct exchange *ex, size_t bytes)
{
    struct req *req = &ex->req;

    while (req->conn && conn_queued_bytes(req->conn) > bytes) {
        int rc;
        await_init(&ex->await);
        ex->await.abandon = stream_on_abandon;
        ex->waiting = WAIT_WRITE;
        ex->queue_wanted = bytes;
        rc = await_wait(&req->task, &ex->await, 0);
        if (rc != 0)
            return rc;
    }
    return req->conn ? 0 : -ECANCELED;
}

/* Sends chunks, then waits while too much is queued. */
AWAITS static int chunks_send(struct exchange *ex, const struct str *chunks, size_t count)
{
    struct req *req = &ex->req;

    if (!req->conn)
        return -ECANCELED;
    for (size_t i = 0; i < count; i++)
        req->bytes_out += chunks[i].len;
    conn_write(req->conn, chunks, count);
    return queue_wait(ex, STREAM_QUEUE_MAX);
}

/* Sends the head. length < 0: the length is not known in advance. */
AWAITS static int stream_begin(struct exchange *ex, int status, int64_t length)
{
    struct str head;

    if (!ex->req.conn)
        return -ECANCELED;
    if (!resp_has_no_body(ex) && !bounds_hold_unsent(ex, STREAM_QUEUE_MAX))
        return -EAGAIN;
    ex->req.status = status;
    ex->req.streaming = true;
    ex->head_sent = true;
    ex->keep_alive = exchange_keeps_alive(ex);
    if (length < 0 && !resp_has_no_body(ex)) {
        ex->chunked = !ex->head.http10;
        ex->keep_alive = ex->keep_alive && ex->chunked; /* HTTP/1.0: closing ends the body */
    }
    head = resp_head(ex, length);
    if (length <= 0 || resp_has_no_body(ex))
        return chunks_send(ex, &head, 1);
    ex->req.bytes_out += head.len;
    conn_write_head(ex->req.conn, head);
    return queue_wait(ex, STREAM_QUEUE_MAX);
}

int resp_stream_begin(struct req *req, int status, struct str content_type)
{
    req->content_type = content_type;
    return stream_begin(EXCHANGE(req), status, -1);
}

int resp_stream_begin_sized(struct req *req, int status, struct str content_type, int64_t length)
{
    req->content_type = content_type;
    return stream_begin(EXCHANGE(req), status, length);
}

int resp_stream_write(struct req *req, struct str chunk)
{
    struct exchange *ex = EXCHANGE(req);
    char size_line[20];
    struct str chunks[3];

    if (!req->conn)
        return -ECANCELED;
    if (chunk.len == 0 || resp_has_no_body(ex))
        return 0;
    if (!ex->chunked)
        return chunks_send(ex, &chunk, 1);
    chunks[0] = (struct str){size_line,
                             (size_t)snprintf(size_line, sizeof(size_line), "%zx\r\n", chunk.len)};
    chunks[1] = chunk;
    chunks[2] = STR("\r\n");
    return chunks_send(ex, chunks, 3);
}

int resp_stream_file(struct req *req, int fd, int64_t offset, int64_t bytes, int64_t *ret_sent)
{
    struct exchange *ex = EXCHANGE(req);

    MUST(!ex->chunked);
    TRY(queue_wait(ex, 0));
    TRY(task_yield_if_due(&req->task)); /* a client that reads as fast as we send is not alone */
    if (!req->conn)
        return -ECANCELED;
    *ret_sent = (int64_t)conn_send_file(req->conn, fd, offset, bytes);
    req->bytes_out += (uint64_t)*ret_sent;
    return 0;
}

int resp_stream_end(struct req *req)
{
    struct exchange *ex = EXCHANGE(req);
    struct str last = STR("0\r\n\r\n");

    if (!req->conn)
        return -ECANCELED;
    ex->stream_ended = true;
    return ex->chunked ? chunks_send(ex, &last, 1) : 0;
}

struct file_read {
    int fd;
    int64_t offset;
    size_t bytes;
    char *buffer;
    ssize_t got; /* or a negative errno */
};

/* Runs on a thread of the pool. */
static void file_read(void *arg)
{
    struct file_read *read = arg;

    do {
        read->got = pread(read->fd, read->buffer, read->bytes, read->offset);
    } while (read->got < 0 && errno == EINTR);
    if (read->got < 0)
        read->got = -errno;
}

AWAITS static int file_send_chunk(struct exchange *ex, struct file_read *read, int64_t length)
{
    if (!read->buffer)
        read->buffer = arena_alloc(ex->req.task.arena, FILE_CHUNK_BYTES);
    read->bytes = length < (int64_t)FILE_CHUNK_BYTES ? (size_t)length : FILE_CHUNK_BYTES;
    TRY(work_run(&ex->req.task, WORK_FILE, file_read, read));
    if (read->got <= 0)
        return ERROR(read->got < 0 ? (int)read->got : -EIO); /* shorter than announced */
    read->offset += read->got;
    const struct str chunk = {read->buffer, (size_t)read->got};
    return chunks_send(ex, &chunk, 1);
}

AWAITS static int file_send(struct exchange *ex, struct file_read *read, int64_t length)
{
    int64_t end = read->offset + length;

    while (read->offset < end) {
        int64_t sent;
        TRY(resp_stream_file(&ex->req, read->fd, read->offset, end - read->offset, &sent));
        read->offset += sent;
        if (sent == 0)
            TRY(file_send_chunk(ex, read, end - read->offset));
    }
    return 0;
}

int resp_send_file(struct req *req, int status, int fd, int64_t offset, int64_t length)
{
    struct exchange *ex = EXCHANGE(req);
    struct file_read *read = ARENA_NEW(req->task.arena, read);
    int rc;

    read->fd = fd;
    read->offset = offset;
    rc = stream_begin(ex, status, length);
    if (rc == 0 && !resp_has_no_body(ex))
        rc = file_send(ex, read, length);
    if (rc == 0)
        ex->stream_ended = true;
    return rc;
}
