/* Writes responses: the head, formatted by hand because every request pays for it, and whole
 * bodies. */
#include "http/resp.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "catalog/problem.h"
#include "http/bounds_private.h"
#include "http/exchange_private.h"
#include "http/resp_private.h"

#define HEAD_ROOM  384U /* the lines of resp_head() without their variable parts */
#define STATUS_MIN 100
#define STATUS_MAX 599

static bool is_line_safe(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\r' || text.ptr[i] == '\n' || text.ptr[i] == '\0')
            return false;
    return true;
}

void resp_header(struct req *req, const char *name, struct str value)
{
    struct str name_text = str_from(name);

    MUST(is_line_safe(name_text) && is_line_safe(value));
    strbuf_str(&req->extra_headers, name_text);
    strbuf_str(&req->extra_headers, STR(": "));
    strbuf_str(&req->extra_headers, value);
    strbuf_str(&req->extra_headers, STR("\r\n"));
}

bool resp_has_header(const struct req *req, struct str name)
{
    struct str rest = strbuf_view(&req->extra_headers);

    while (rest.len > 0) {
        struct str line = str_split(&rest, '\n');
        if (str_ieq(str_split(&line, ':'), name))
            return true;
    }
    return false;
}

void resp_header_printf(struct req *req, const char *name, const char *format, ...)
{
    struct str value;
    va_list args;

    va_start(args, format);
    value = arena_vprintf(req->task.arena, format, args);
    va_end(args);
    resp_header(req, name, value);
}

bool resp_etag(struct req *req, struct str etag)
{
    struct str list = req_header(req, "if-none-match");

    resp_header(req, "ETag", etag);
    while (list.ptr) {
        struct str one = str_trim(str_split(&list, ','));
        if (str_starts(one, STR("W/")))
            one = (struct str){one.ptr + 2, one.len - 2};
        if (str_is(one, "*") || str_eq(one, etag))
            return true;
    }
    return false;
}

struct jw resp_json(struct req *req)
{
    struct jw writer;

    if (!req->content_type.ptr)
        req->content_type = STR("application/json");
    jw_init(&writer, &req->body);
    return writer;
}

/* Returns "HTTP/1.1 200 OK\r\n", formatted on first use. */
static struct str status_line(int status)
{
    static struct {
        char text[63];
        uint8_t len;
    } lines[STATUS_MAX - STATUS_MIN + 1];
    size_t i = (size_t)(status - STATUS_MIN);

    MUST(status >= STATUS_MIN && status <= STATUS_MAX);
    if (lines[i].len == 0) {
        const char *title = problem_status_title(status);
        int len = snprintf(lines[i].text,
                           sizeof(lines[i].text),
                           "HTTP/1.1 %d %.40s\r\n",
                           status,
                           title ? title : "");
        lines[i].len = (uint8_t)len;
    }
    return (struct str){lines[i].text, lines[i].len};
}

/* Returns "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" (RFC 9110 section 6.6.1), formatted once a
 * second. */
static struct str date_line(void)
{
    static char line[64];
    static size_t len;
    static int64_t made_s;
    int64_t now_ms = clock_wall_ms();

    if (now_ms / 1000 != made_s || len == 0) {
        char date[CLOCK_TEXT_BYTES];
        len = (size_t)snprintf(
            line, sizeof(line), "Date: %s GMT\r\n", clock_format_mail(date, now_ms));
        made_s = now_ms / 1000;
    }
    return (struct str){line, len};
}

static void put_line(struct strbuf *head, struct str name, struct str value)
{
    strbuf_str(head, name);
    strbuf_str(head, value);
    strbuf_str(head, STR("\r\n"));
}

bool resp_has_no_body(const struct exchange *ex)
{
    return ex->req.method == HTTP_HEAD_M || ex->req.status < 200 || ex->req.status == 204 ||
           ex->req.status == 304;
}

static void put_framing(struct strbuf *head, struct exchange *ex, int64_t body_bytes)
{
    if (ex->req.status == 204 || ex->req.status == 304)
        return;
    if (body_bytes >= 0) {
        char digits[20];
        size_t len = num_print_i64(digits, body_bytes);
        put_line(head, STR("Content-Length: "), (struct str){digits, len});
    } else if (ex->chunked) {
        strbuf_str(head, STR("Transfer-Encoding: chunked\r\n"));
    }
}

struct str resp_head(struct exchange *ex, int64_t body_bytes)
{
    const struct req *req = &ex->req;
    size_t capacity =
        HEAD_ROOM + req->content_type.len + req->request_id.len + req->extra_headers.len;
    struct strbuf head;

    strbuf_init(&head, req->task.arena, capacity);
    MUST(strbuf_reserve(&head, capacity));
    strbuf_str(&head, status_line(req->status));
    strbuf_str(&head, date_line());
    strbuf_str(&head, STR("X-Content-Type-Options: nosniff\r\n"));
    if (req->content_type.len > 0)
        put_line(&head, STR("Content-Type: "), req->content_type);
    put_framing(&head, ex, body_bytes);
    if (req->no_store)
        strbuf_str(&head, STR("Cache-Control: no-store\r\n"));
    if (req->request_id.len > 0)
        put_line(&head, STR("X-Request-Id: "), req->request_id);
    strbuf_str(&head, strbuf_view(&req->extra_headers));
    if (!ex->keep_alive)
        strbuf_str(&head, STR("Connection: close\r\n"));
    else if (ex->head.http10)
        strbuf_str(&head, STR("Connection: keep-alive\r\n"));
    strbuf_str(&head, STR("\r\n"));
    MUST(!head.overflow);
    return strbuf_view(&head);
}

static void resp_on_written(uv_write_t *write, int status)
{
    struct exchange *ex = CONTAINER_OF(write, struct exchange, write);

    if (status < 0) {
        ex->keep_alive = false;
        conn_abort(ex->req.conn);
    }
    exchange_on_written(ex);
}

/* Uses one system call when the socket has room. Bytes that the socket does not take stay in the
 * arena until it does. */
void resp_send(struct exchange *ex)
{
    struct req *req = &ex->req;
    uv_stream_t *stream = (uv_stream_t *)&req->conn->tcp;
    uv_buf_t bufs[2];
    unsigned count = 1;
    struct str head;
    size_t total;
    int sent = 0;

    if (!req->content_type.ptr && req->body.len > 0)
        req->content_type = STR("application/json");
    head = resp_head(ex, (int64_t)req->body.len);
    bufs[0] = uv_buf_init((char *)head.ptr, (unsigned)head.len);
    total = head.len;
    if (!resp_has_no_body(ex) && req->body.len > 0) {
        bufs[count++] = uv_buf_init(req->body.ptr, (unsigned)req->body.len);
        total += req->body.len;
    }
    ex->head_sent = true;
    ex->phase = EXCHANGE_WRITING;
    req->conn->out_total += total;
    req->bytes_out = total;
    req->server->stats.bytes_out += total;

    if (conn_queued_bytes(req->conn) == 0) {
        sent = uv_try_write(stream, bufs, count);
        if (sent == UV_EAGAIN)
            sent = 0;
    }
    if (sent == (int)total) {
        exchange_on_written(ex);
        return;
    }
    if (sent >= 0 && !bounds_hold_unsent(ex, total - (size_t)sent))
        sent = UV_ENOBUFS; /* too much to hold: ends the connection */
    if (sent >= 0) {
        for (unsigned i = 0; i < count; i++) {
            size_t skip = (size_t)sent < bufs[i].len ? (size_t)sent : bufs[i].len;
            bufs[i].base += skip;
            bufs[i].len -= skip;
            sent -= (int)skip;
        }
        sent = uv_write(&ex->write, stream, bufs, count, resp_on_written);
        if (sent == 0)
            return;
    }
    resp_on_written(&ex->write, sent);
}
