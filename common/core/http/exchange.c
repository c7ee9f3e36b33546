/*
 * An exchange: one request, from its first byte until its response is logged. Handlers run in
 * coroutines. All that concerns the connection happens on the loop's own stack, at the end of the
 * tick in which the handler returned, when its coroutine has certainly ended.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "http/bounds_private.h"
#include "http/exchange_private.h"
#include "http/resp_private.h"
#include "http/server_private.h"

#define BODY_BYTES_MAX    268435456U
#define HEADERS_BYTES_MAX 16384U
#define DRAIN_BYTES_MAX   65536U
#define STATUS_GONE       499 /* the client has gone; nginx uses this code in access logs */

static const struct http_fault fault_busy = {
    503, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, "Too many requests are in flight; try again."};
static const struct http_fault fault_unread = {
    503,
    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
    "Too much of earlier responses is still unread; read them and try again."};
static const struct http_fault fault_internal = {
    500, PROBLEM_INTERNAL, "The request could not be answered."};
static const struct http_fault fault_deadline = {
    504, PROBLEM_TIMEOUT, "The request took too long to answer."};

struct exchange *exchange_new(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    struct arena *arena = server_arena_take(server);
    struct exchange *ex = ARENA_NEW(arena, ex);
    struct req *req = &ex->req;

    list_init(&ex->link);
    await_init(&ex->await);
    strbuf_init(&ex->head_text, arena, server->config.limits.header_bytes + 8);
    ex->head.content_length = -1;
    ex->buffer_limit = BODY_BUFFER_BYTES;
    req->task.arena = arena;
    req->scope = arena_zalloc(arena, server->config.scope_bytes);
    req->conn = conn;
    req->server = server;
    req->method = HTTP_OTHER_M;
    req->content_length = -1;
    req->started_us = clock_mono_us();
    req->no_store = true;
    memcpy(req->peer, conn->peer, sizeof(req->peer));
    strbuf_init(&req->body, arena, BODY_BYTES_MAX);
    strbuf_init(&req->extra_headers, arena, HEADERS_BYTES_MAX);
    server->exchanges++;
    return ex;
}

/* Returns the arena to the server. The caller detaches the exchange from its connection. */
static void exchange_free(struct exchange *ex)
{
    struct http_server *server = ex->req.server;

    if (ex->is_in_flight)
        server->stats.requests_in_flight--;
    bounds_release_body(ex);
    bounds_release_unsent(ex);
    server->exchanges--;
    list_remove(&ex->link);
    server_arena_give(server, ex->req.task.arena);
    server_end_if_idle(server);
}

/* Logs and frees the exchange, then continues with its connection. */
static void exchange_end(struct exchange *ex)
{
    struct http_server *server = ex->req.server;
    struct http_conn *conn = ex->req.conn;
    bool keep_alive = ex->keep_alive;

    if (!conn && ex->req.status == 0) {
        ex->req.status = STATUS_GONE;
        ex->req.error_code = "client_gone";
    }
    if (server->config.finished)
        server->config.finished(&ex->req);
    if (conn && keep_alive && !ex->body_complete)
        conn->drain_left = (uint32_t)ex->body.left;
    bool feeds = ex->is_feed;
    exchange_free(ex);
    if (conn && feeds)
        conn_begin_feed(conn);
    else if (conn)
        conn_end_exchange(conn, keep_alive);
}

static void exchange_done(struct exchange *ex, int result)
{
    struct http_server *server = ex->req.server;

    ex->result = result;
    bool unanswered = result > RESULT_FIRST && ex->req.status == 0;
    ex->req.failure = result < 0 || unanswered ? result : 0;
    ex->phase = EXCHANGE_DONE;
    list_append(&server->done, &ex->link);
    loop_at_tick_end(&server->done_hook);
}

void exchange_detach_conn(struct exchange *ex)
{
    ex->req.conn = NULL;
    switch (ex->phase) {
    case EXCHANGE_HEAD: /* no request yet: nothing to log */
        exchange_free(ex);
        break;
    case EXCHANGE_RUNNING:
        task_cancel(&ex->req.task);
        break;
    case EXCHANGE_DONE: /* ends at the end of the tick */
        break;
    case EXCHANGE_WRITING:
        exchange_end(ex);
        break;
    }
}

/* --- the request --- */

/* AWAITS: The main function of the request's coroutine. */
static void exchange_run(struct task *task, void *arg)
{
    struct exchange *ex = arg;
    int rc = -ECANCELED;

    if (!task->cancelled)
        rc = ex->req.server->config.handle(&ex->req);
    exchange_done(ex, rc);
}

/* Replaces the response by a problem. */
static void exchange_answer(struct exchange *ex, const struct http_fault *fault)
{
    struct req *req = &ex->req;

    req->body.len = 0;
    req->body.overflow = false;
    req->extra_headers.len = 0;
    req->extra_headers.overflow = false;
    req->content_type = STR_NONE;
    req->no_store = true;
    req->status = fault->status;
    req->error_code = problem_code(fault->problem);
    if (req->server->config.problem)
        req->server->config.problem(req, fault->status, fault->problem, fault->detail);
}

void exchange_fail(struct exchange *ex, const struct http_fault *fault, bool close)
{
    if (close) {
        ex->req.close_after = true;
        ex->req.conn->is_discarding = true;
        ex->req.server->stats.parse_errors++;
    }
    exchange_answer(ex, fault);
    exchange_done(ex, 0);
}

/* Copies the parsed head into the public request. */
static void exchange_fill(struct exchange *ex)
{
    struct req *req = &ex->req;
    const struct head *head = &ex->head;

    req->method = head->method;
    req->target = head->target;
    req->path = head->path;
    req->query = head->query;
    req->headers = head->headers;
    req->header_count = head->header_count;
    req->content_length = head->content_length;
    req->has_body = head->chunked || head->content_length > 0;
}

static void exchange_begin(struct exchange *ex)
{
    struct req *req = &ex->req;
    struct http_server *server = req->server;
    const struct http_fault *fault;
    int rc;

    rc = head_parse(req->task.arena,
                    strbuf_view(&ex->head_text),
                    &ex->scan,
                    &server->config.limits,
                    &ex->head,
                    &fault);
    exchange_fill(ex);
    if (rc != 0) {
        exchange_fail(ex, fault, true);
        return;
    }
    body_reader_init(&ex->body, &ex->head);
    ex->body_complete = !req->has_body;
    if (server->stats.requests_in_flight >= server->config.limits.requests_max) {
        exchange_fail(ex, &fault_busy, false);
        return;
    }
    server->stats.requests_in_flight++;
    ex->is_in_flight = true;
    ex->phase = EXCHANGE_RUNNING;
    req->task.deadline_ms = req->started_us / 1000 + server->config.request_timeout_ms;
    task_start(&req->task, exchange_run, ex);
}

size_t exchange_take_head(struct exchange *ex, const char *data, size_t len)
{
    const struct http_fault *fault;
    size_t used;
    int rc;

    rc = head_scan(&ex->scan, &ex->req.server->config.limits, data, len, &used, &fault);
    strbuf_str(&ex->head_text, (struct str){data, used});
    ex->req.bytes_in += used;
    if (rc == HEAD_BAD)
        exchange_fail(ex, fault, true);
    else if (rc == HEAD_COMPLETE)
        exchange_begin(ex);
    return used;
}

/* --- the response --- */

bool exchange_keeps_alive(const struct exchange *ex)
{
    const struct http_conn *conn = ex->req.conn;

    if (!conn || !ex->head.keep_alive || ex->req.close_after || ex->req.server->draining ||
        ex->body_error != 0 || conn->is_discarding)
        return false;
    if (conn->eof && conn->pending_len == 0)
        return false;
    if (ex->body_complete)
        return true;
    if (ex->head.chunked || ex->body.left > DRAIN_BYTES_MAX)
        return false;
    return !ex->head.expects_continue || ex->continue_sent || ex->body_started;
}

static const struct http_fault *fault_of(int result)
{
    if (result == -EAGAIN) /* from resp_stream_begin() */
        return &fault_unread;
    return result == -ETIMEDOUT ? &fault_deadline : &fault_internal;
}

/* Returns whether a large response must be refused because it does not fit the limit of unread
 * bytes. Only a GET is refused: after a change the response is sent anyway, as far as the socket
 * takes it at once. */
static bool is_over_unread_limit(struct exchange *ex)
{
    size_t bytes = ex->req.body.len;

    if (bytes <= UNSENT_SMALL_BYTES || resp_has_no_body(ex) || bounds_hold_unsent(ex, bytes))
        return false;
    return ex->req.method == HTTP_GET_M;
}

static void exchange_respond(struct exchange *ex)
{
    struct req *req = &ex->req;

    if (!req->conn) {
        exchange_end(ex);
        return;
    }
    if (ex->is_feed) {
        exchange_end(ex);
        return;
    }
    if (ex->head_sent) { /* streamed: only the end is left */
        bool is_malformed = ex->result < 0 || !ex->stream_ended;
        ex->phase = EXCHANGE_WRITING;
        if (is_malformed)
            conn_abort(req->conn); /* ends the exchange: the client sees an incomplete response */
        else if (conn_queued_bytes(req->conn) == 0)
            exchange_end(ex);
        return;
    }
    if (ex->result < 0 || req->status == 0 || req->body.overflow || req->extra_headers.overflow)
        exchange_answer(ex, fault_of(ex->result));
    else if (is_over_unread_limit(ex))
        exchange_answer(ex, &fault_unread);
    ex->keep_alive = exchange_keeps_alive(ex);
    resp_send(ex);
}

void exchange_on_written(struct exchange *ex)
{
    exchange_end(ex);
}

void exchange_flush_done(void *arg)
{
    struct http_server *server = arg;
    struct list batch;
    struct list *link;

    /* Responding can stop the server or end further requests, which wait for the next call. */
    list_init(&batch);
    while ((link = list_shift(&server->done)) != NULL)
        list_append(&batch, link);
    while ((link = list_shift(&batch)) != NULL)
        exchange_respond(LIST_ITEM(link, struct exchange, link));
}
