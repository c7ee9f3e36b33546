/* The nghttp2 session: turns requests into streams, and streams into responses. */
#include "fetch/fetch_h2_session_private.h"

#include <string.h>

#include "base/num.h"
#include "base/panic.h"

enum { MAX_REFUSED = 3, PSEUDO_HEADERS = 5 };

/* --- ends of exchanges --- */

static struct fetch_exchange *exchange_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

/* Detaches the exchange from its stream and its connection. */
static void exchange_detach(struct fetch_exchange *exchange)
{
    (void)nghttp2_session_set_stream_user_data(exchange->conn->session, exchange->stream, NULL);
    list_remove(&exchange->link);
    exchange->conn = NULL;
}

static void h2_exchange_end(struct fetch_exchange *exchange, int rc)
{
    exchange_detach(exchange);
    await_done(&exchange->await, rc);
}

static void stream_reset(struct fetch_h2_conn *conn, int32_t stream)
{
    MUST(nghttp2_submit_rst_stream(conn->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL) == 0);
    fetch_h2_conn_flush(conn);
}

static void exchange_too_large(struct fetch_exchange *exchange)
{
    stream_reset(exchange->conn, exchange->stream);
    h2_exchange_end(exchange, FETCH_TOO_LARGE);
}

void fetch_h2_session_cancel(struct fetch_exchange *exchange)
{
    stream_reset(exchange->conn, exchange->stream);
    exchange_detach(exchange);
}

/* Repeats an exchange that the peer has not processed (`untouched`), at most MAX_REFUSED times. Any
 * other exchange ends as unreachable. */
static void exchange_retry_or_fail(struct fetch_exchange *exchange, bool untouched)
{
    if (!untouched || ++exchange->refusal_count > MAX_REFUSED) {
        h2_exchange_end(exchange, FETCH_UNREACHABLE);
        return;
    }
    exchange_detach(exchange);
    fetch_exchange_requeue(exchange);
}

/* --- receiving --- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg UNUSED)
{
    struct fetch_exchange *exchange = exchange_of(session, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_PUSH_PROMISE) /* our SETTINGS forbid server push */
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (exchange != NULL)
        exchange->is_final = exchange->answer->response.status < 200;
    return 0;
}

static void retry_after_add(struct fetch_answer *answer, struct str name, struct str value)
{
    struct fetch_response *response = &answer->response;

    if (response->nheaders > 0)
        return;
    response->headers = ARENA_ARRAY(answer->arena, response->headers, 1);
    response->headers[response->nheaders++] = (struct fetch_header){
        .name = arena_dup(answer->arena, name), .value = arena_dup(answer->arena, str_trim(value))};
}

static int on_header(nghttp2_session *session,
                     const nghttp2_frame *frame,
                     nghttp2_rcbuf *name_buf,
                     nghttp2_rcbuf *value_buf,
                     uint8_t flags UNUSED,
                     void *arg UNUSED)
{
    struct fetch_exchange *exchange = exchange_of(session, frame->hd.stream_id);
    nghttp2_vec name = nghttp2_rcbuf_get_buf(name_buf);
    nghttp2_vec value = nghttp2_rcbuf_get_buf(value_buf);
    int64_t status = 0;

    if (exchange == NULL)
        return 0;
    struct fetch_answer *answer = exchange->answer;
    struct str key = {(const char *)name.base, name.len};
    struct str text = {(const char *)value.base, value.len};
    answer->header_bytes += key.len + text.len;
    if (answer->header_bytes > FETCH_MAX_HEADER_BYTES) {
        exchange_too_large(exchange);
        return 0;
    }
    if (!exchange->is_final)
        return 0;
    if (str_is(key, ":status")) {
        if (num_parse_i64(text, &status))
            answer->response.status = (long)status;
        exchange->is_final = status >= 200;
    } else if (str_is(key, "retry-after")) {
        retry_after_add(answer, key, text);
    }
    return 0;
}

static int on_data(nghttp2_session *session,
                   uint8_t flags UNUSED,
                   int32_t stream,
                   const uint8_t *data,
                   size_t bytes,
                   void *arg UNUSED)
{
    struct fetch_exchange *exchange = exchange_of(session, stream);

    if (exchange == NULL)
        return 0;
    strbuf_str(&exchange->answer->body, (struct str){(const char *)data, bytes});
    if (exchange->answer->body.overflow)
        exchange_too_large(exchange);
    return 0;
}

static void answer_complete(struct fetch_exchange *exchange)
{
    struct fetch_h2_conn *conn = exchange->conn;
    int32_t stream = exchange->stream;
    bool unsent = exchange->body_sent < exchange->request->body.len;

    conn->has_response = true;
    h2_exchange_end(exchange, 0);
    if (unsent) /* the response came before the whole request was sent */
        stream_reset(conn, stream);
}

static void conn_on_settings(struct fetch_h2_conn *conn)
{
    if (conn->state == H2_SETTINGS_WAIT)
        conn->state = H2_OPEN;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct fetch_h2_conn *conn = arg;
    struct fetch_exchange *exchange;
    bool ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;

    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if (!ack)
            conn_on_settings(conn);
        break;
    case NGHTTP2_PING:
        if (ack)
            conn->ping_ms = 0;
        break;
    case NGHTTP2_GOAWAY:
        conn->state = H2_LEAVING;
        break;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        exchange = exchange_of(session, frame->hd.stream_id);
        if (exchange != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            answer_complete(exchange);
        break;
    default:
        break;
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error_code, void *arg)
{
    struct fetch_h2_conn *conn = arg;
    struct fetch_exchange *exchange = exchange_of(session, stream);

    conn->streams--;
    if (exchange != NULL)
        exchange_retry_or_fail(exchange,
                               !exchange->is_sent || error_code == NGHTTP2_REFUSED_STREAM);
    return 0;
}

/* --- sending --- */

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg UNUSED)
{
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct fetch_exchange *exchange = exchange_of(session, frame->hd.stream_id);
    if (exchange != NULL)
        exchange->is_sent = true;
    return 0;
}

static ssize_t on_body(nghttp2_session *session,
                       int32_t stream,
                       uint8_t *data,
                       size_t max,
                       uint32_t *flags,
                       nghttp2_data_source *source UNUSED,
                       void *arg UNUSED)
{
    struct fetch_exchange *exchange = exchange_of(session, stream);

    if (exchange == NULL) /* cancelled: its RST_STREAM is queued */
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    struct str body = exchange->request->body;
    size_t left = body.len - exchange->body_sent;
    size_t bytes = left < max ? left : max;
    memcpy(data, body.ptr + exchange->body_sent, bytes);
    exchange->body_sent += bytes;
    if (bytes == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)bytes;
}

static nghttp2_nv header_pair(struct str name, struct str value, uint8_t flags)
{
    return (nghttp2_nv){.name = (uint8_t *)name.ptr,
                        .namelen = name.len,
                        .value = (uint8_t *)value.ptr,
                        .valuelen = value.len,
                        .flags = flags};
}

/* Returns "host", or "host:port" when the port is not 443. */
static struct str authority_of(struct arena *arena, const struct fetch_url *url)
{
    return url->port == 443 ? str_from(url->host)
                            : arena_printf(arena, "%s:%ld", url->host, url->port);
}

void fetch_h2_session_submit(struct fetch_h2_conn *conn, struct fetch_exchange *exchange)
{
    /* These texts outlive the stream, so nghttp2 need not copy them. The names of the request's
     * headers are copied, because only then nghttp2 converts them to the required lower case. */
    const uint8_t ours = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    const struct fetch_request *request = exchange->request;
    struct arena *arena = exchange->answer->arena;
    nghttp2_nv *headers = ARENA_ARRAY(arena, headers, request->nheaders + PSEUDO_HEADERS);
    nghttp2_data_provider body = {.read_callback = on_body};
    bool has_body = fetch_message_has_body(request);
    struct str method = str_from(fetch_message_method(request));
    size_t n = 0;

    headers[n++] = header_pair(STR(":method"), method, ours);
    headers[n++] = header_pair(STR(":scheme"), STR("https"), ours);
    headers[n++] = header_pair(STR(":authority"), authority_of(arena, exchange->url), ours);
    headers[n++] = header_pair(STR(":path"), exchange->url->target, ours);
    for (size_t i = 0; i < request->nheaders; i++)
        headers[n++] = header_pair(request->headers[i].name,
                                   str_trim(request->headers[i].value),
                                   NGHTTP2_NV_FLAG_NO_COPY_VALUE);
    if (has_body)
        headers[n++] =
            header_pair(STR("content-length"), arena_printf(arena, "%zu", request->body.len), ours);
    exchange->stream = nghttp2_submit_request(conn->session,
                                              NULL,
                                              headers,
                                              n,
                                              has_body && request->body.len > 0 ? &body : NULL,
                                              exchange);
    MUST(exchange->stream > 0);
}

/* --- lifetime --- */

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *to;

    MUST(nghttp2_session_callbacks_new(&to) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(to, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(to, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(to, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(to, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(to, on_stream_close);
    return to;
}

nghttp2_session *fetch_h2_session_new(struct fetch_h2_conn *conn)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FETCH_MAX_HEADER_BYTES},
    };
    nghttp2_session_callbacks *callbacks = callbacks_new();
    nghttp2_session *session;

    MUST(nghttp2_session_client_new(&session, callbacks, conn) == 0);
    nghttp2_session_callbacks_del(callbacks);
    MUST(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) == 0);
    return session;
}
