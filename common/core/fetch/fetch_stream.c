/*
 * Streamed requests. libcurl's callbacks and the coroutine exchange data through one receive buffer
 * and one chunk to send. A callback that cannot proceed pauses its direction of the transfer, and
 * the coroutine continues it once it has data or room.
 */
#include "fetch/fetch_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "fetch/fetch_guard_private.h"
#include "fetch/fetch_loop_private.h"
#include "fetch/fetch_message_private.h"

#define STREAM_CONNECT_MS 5000L
#define STREAM_CHUNK      65536L /* size of libcurl's own buffers */

struct fetch_stream {
    struct fetch_transfer transfer;
    struct await await;
    struct task *task;
    struct fetch_answer answer; /* status and headers */
    struct curl_slist *headers, *resolve;
    struct fetch_guard guard; /* only if the request is guarded */
    int64_t idle_ms;
    struct str chunk;  /* the unsent part of the chunk being sent */
    char *buffer;      /* received data; malloc */
    size_t read_bytes; /* bytes of `buffer` handed to the reader */
    size_t received_bytes;
    bool open, waiting, ended;
    bool is_send_paused, is_receive_paused;
    bool has_head;
};

static void stream_wake(struct fetch_stream *stream)
{
    if (!stream->waiting)
        return;
    stream->waiting = false;
    await_done(&stream->await, 0);
}

static void stream_abandon(struct await *await)
{
    CONTAINER_OF(await, struct fetch_stream, await)->waiting = false;
}

/* co: Waits for progress or the end of the transfer. FETCH_TIMEOUT after idle_ms. */
AWAITS static int stream_wait(struct fetch_stream *stream)
{
    struct task *task = stream->task;

    await_init(&stream->await);
    stream->await.abandon = stream_abandon;
    stream->waiting = true;
    int rc = await_wait(task, &stream->await, stream->idle_ms);
    if (rc == -ETIMEDOUT && (task->deadline_ms == 0 || clock_mono_ms() < task->deadline_ms))
        return FETCH_TIMEOUT;
    return rc;
}

/* --- callbacks of libcurl --- */

static void stream_on_end(struct fetch_transfer *transfer)
{
    struct fetch_stream *stream = CONTAINER_OF(transfer, struct fetch_stream, transfer);

    stream->ended = true;
    stream_wake(stream);
}

static size_t stream_on_header(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_stream *stream = arg;
    size_t bytes = size * count;
    long status = 0;

    if (stream->has_head) /* trailers */
        return bytes;
    if (fetch_answer_on_header(data, size, count, &stream->answer) != bytes)
        return 0;
    if (data[0] != '\r' && data[0] != '\n')
        return bytes;
    (void)curl_easy_getinfo(stream->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200) {
        stream->answer.response.status = status;
        stream->has_head = true;
        stream_wake(stream);
    }
    return bytes;
}

static size_t stream_on_body(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_stream *stream = arg;
    size_t bytes = size * count;

    if (bytes > FETCH_STREAM_BYTES - stream->received_bytes) {
        stream->is_receive_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    memcpy(stream->buffer + stream->received_bytes, data, bytes);
    stream->received_bytes += bytes;
    stream_wake(stream);
    return bytes;
}

static size_t stream_on_send(char *out, size_t size, size_t count, void *arg)
{
    struct fetch_stream *stream = arg;
    size_t capacity = size * count;
    size_t take = stream->chunk.len < capacity ? stream->chunk.len : capacity;

    if (take == 0) {
        stream->is_send_paused = true;
        stream_wake(stream);
        return CURL_READFUNC_PAUSE;
    }
    memcpy(out, stream->chunk.ptr, take);
    stream->chunk = (struct str){stream->chunk.ptr + take, stream->chunk.len - take};
    if (stream->chunk.len == 0)
        stream_wake(stream);
    return take;
}

/* --- calls to libcurl --- */

static void stream_resume(struct fetch_stream *stream)
{
    int rests = (stream->is_send_paused ? CURLPAUSE_SEND : 0) |
                (stream->is_receive_paused ? CURLPAUSE_RECV : 0);

    if (!stream->ended)
        (void)curl_easy_pause(stream->transfer.easy, rests);
}

static void stream_set_options(CURL *easy,
                               struct fetch_stream *stream,
                               const struct fetch_stream_request *request,
                               const char *method)
{
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* the path may be part of a signature */
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, STREAM_CONNECT_MS);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, STREAM_CHUNK);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, STREAM_CHUNK);
    (void)curl_easy_setopt(
        easy, CURLOPT_FRESH_CONNECT, request->is_fresh_connection || request->is_guarded ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->is_guarded ? 1L : 0L);
    if (fetch_loop_ca_file())
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, fetch_loop_ca_file());
    if (request->body_bytes >= 0) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_bytes);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, stream_on_send);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, stream);
    }
    if (strcmp(method, "HEAD") == 0)
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, stream->headers);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, stream_on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, stream);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, stream_on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, stream);
}

static void stream_on_arena_end(void *arg)
{
    fetch_stream_close(arg);
}

/* co: Checks the URL and resolves its host before libcurl dials. */
AWAITS static int stream_guard(struct task *task,
                               struct fetch_stream *stream,
                               const struct fetch_stream_request *request)
{
    TRY(fetch_url_parse(task->arena, request->url, &stream->guard.url));
    int rc = fetch_guard_resolve(task, &stream->guard, share_owner_of(task), request->idle_ms);
    if (rc == -ETIMEDOUT && (task->deadline_ms == 0 || clock_mono_ms() < task->deadline_ms))
        return FETCH_TIMEOUT;
    return rc;
}

int fetch_stream_open(struct task *task,
                      const struct fetch_stream_request *request,
                      struct fetch_stream **ret)
{
    const struct fetch_request head = {
        .method = request->method, .headers = request->headers, .nheaders = request->nheaders};
    struct fetch_stream *stream = ARENA_NEW(task->arena, stream);

    TRY(fetch_message_check(&head));
    if (request->is_guarded)
        TRY(stream_guard(task, stream, request));
    CURL *easy = curl_easy_init();
    stream->buffer = malloc(FETCH_STREAM_BYTES);
    MUST(easy != NULL && stream->buffer != NULL);
    stream->task = task;
    stream->idle_ms = request->idle_ms;
    stream->open = true;
    stream->transfer =
        (struct fetch_transfer){.easy = easy, .is_stream = true, .on_end = stream_on_end};
    fetch_answer_init(&stream->answer, task->arena, 1);
    stream->answer.easy = easy;
    stream->headers = fetch_message_headers(task->arena, &head, false);
    if (request->is_guarded)
        stream->resolve = fetch_guard_apply(easy, task->arena, &stream->guard);
    else
        (void)curl_easy_setopt(easy, CURLOPT_URL, arena_cstr(task->arena, request->url));
    stream_set_options(easy, stream, request, fetch_message_method(&head));
    arena_defer(task->arena, stream_on_arena_end, stream);
    task_mark_lasting(task);
    fetch_loop_start(&stream->transfer);
    *ret = stream;
    return 0;
}

/* Returns the result of an ended transfer to a caller that expected more of it. */
static int stream_end_rc(const struct fetch_stream *stream)
{
    CURLcode code = stream->transfer.code;

    if (stream->answer.too_large)
        return FETCH_TOO_LARGE;
    if (code == CURLE_OK)
        return 0;
    if (code == CURLE_OUT_OF_MEMORY)
        PANIC("libcurl: out of memory");
    if (stream->guard.refused)
        return FETCH_REFUSED;
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return FETCH_BAD_URL;
    return code == CURLE_OPERATION_TIMEDOUT ? FETCH_TIMEOUT : FETCH_UNREACHABLE;
}

/* On failure closes the stream: the caller's chunk is then invalid and must not be read. */
AWAITS static int stream_wait_or_close(struct fetch_stream *stream)
{
    int rc = stream_wait(stream);

    if (rc != 0)
        fetch_stream_close(stream);
    return rc;
}

/* Returns whether the server has answered with a status of 400 or above: libcurl then sends no more
 * of the body. */
static bool is_refused(const struct fetch_stream *stream)
{
    return stream->has_head && stream->answer.response.status >= 400;
}

int fetch_stream_write(struct fetch_stream *stream, struct str chunk)
{
    MUST(stream->open);
    stream->chunk = chunk;
    if (stream->is_send_paused && chunk.len > 0) {
        stream->is_send_paused = false;
        stream_resume(stream);
    }
    while (stream->chunk.len > 0 && !stream->ended && !is_refused(stream))
        TRY(stream_wait_or_close(stream));
    stream->chunk = STR_NONE;
    /* Prefer a response that arrived early to the error that ended the connection after it. */
    return stream->ended && !stream->has_head ? stream_end_rc(stream) : 0;
}

int fetch_stream_head(struct fetch_stream *stream, const struct fetch_response **ret)
{
    MUST(stream->open);
    while (!stream->has_head && !stream->ended)
        TRY(stream_wait_or_close(stream));
    if (!stream->has_head) {
        int rc = stream_end_rc(stream);
        return rc ? rc : FETCH_UNREACHABLE;
    }
    *ret = &stream->answer.response;
    return 0;
}

int fetch_stream_read(struct fetch_stream *stream, struct str *ret)
{
    MUST(stream->open);
    for (;;) {
        if (stream->read_bytes == stream->received_bytes)
            stream->read_bytes = stream->received_bytes = 0;
        if (stream->received_bytes > stream->read_bytes)
            break;
        if (stream->is_receive_paused) {
            stream->is_receive_paused = false;
            stream_resume(stream);
            continue;
        }
        if (stream->ended) {
            *ret = STR_NONE;
            return stream_end_rc(stream);
        }
        TRY(stream_wait_or_close(stream));
    }
    *ret = (struct str){stream->buffer + stream->read_bytes,
                        stream->received_bytes - stream->read_bytes};
    stream->read_bytes = stream->received_bytes;
    return 0;
}

int fetch_stream_read_all(struct fetch_stream *stream, size_t most, struct str *ret)
{
    struct strbuf text;
    struct str chunk;

    strbuf_init(&text, stream->task->arena, most);
    do {
        TRY(fetch_stream_read(stream, &chunk));
        strbuf_str(&text, chunk);
    } while (chunk.len > 0 && !text.overflow);
    if (text.overflow)
        return FETCH_TOO_LARGE;
    *ret = strbuf_view(&text);
    return 0;
}

void fetch_stream_close(struct fetch_stream *stream)
{
    if (!stream->open)
        return;
    stream->open = false;
    stream->chunk = STR_NONE;
    if (!stream->ended)
        fetch_loop_stop(&stream->transfer);
    stream->ended = true;
    curl_easy_cleanup(stream->transfer.easy);
    curl_slist_free_all(stream->headers);
    curl_slist_free_all(stream->resolve);
    free(stream->buffer);
    stream->buffer = NULL;
}
