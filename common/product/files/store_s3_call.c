/* Requests to a bucket. */
#include "files/store_s3_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "log/log.h"
#include "loop/work.h"

#define S3_PAUSE_MS     100
#define S3_PAUSE_MAX_MS 2000
#define S3_HEADERS      (SIGV4_HEADERS_MAX + 3)

static struct store_s3 config;

void s3_configure(const struct store_s3 *own)
{
    config = *own;
}

const struct store_s3 *s3_config(void)
{
    return &config;
}

struct str s3_project_prefix(struct arena *arena, int64_t project)
{
    bool folder = config.prefix.len > 0 && !str_ends(config.prefix, STR("/"));

    return arena_printf(
        arena, "%.*s%s%lld/", STR_ARG(config.prefix), folder ? "/" : "", (long long)project);
}

struct str s3_key(struct arena *arena, const struct file_key *key)
{
    return arena_printf(
        arena, "%.*s%s", STR_ARG(s3_project_prefix(arena, key->project)), key->name);
}

void s3_query(struct s3_call *call, const char *name, struct str value)
{
    MUST(call->query_count < SIGV4_QUERY_MAX);
    call->query[call->query_count++] = (struct sigv4_pair){str_from(name), value};
}

struct str s3_header(const struct s3_call *call, const char *name)
{
    return fetch_response_header(call->head, name);
}

/* --- one try --- */

/* Returns the host of requests and the scheme. A default port is left out, since libcurl does not
 * send it in Host and the signature covers Host. */
static struct str s3_host(struct arena *arena, struct str *ret_scheme)
{
    struct str host = config.endpoint;
    bool secure = str_starts(host, STR("https://"));
    struct str scheme = secure ? STR("https://") : STR("http://");
    struct str port = secure ? STR(":443") : STR(":80");

    *ret_scheme = scheme;
    host = (struct str){host.ptr + scheme.len, host.len - scheme.len};
    if (str_ends(host, STR("/")))
        host.len--;
    if (str_ends(host, port))
        host.len -= port.len;
    return config.virtual_host
               ? arena_printf(arena, "%.*s.%.*s", STR_ARG(config.bucket), STR_ARG(host))
               : host;
}

static struct str s3_path(const struct s3_call *call)
{
    struct arena *arena = call->task->arena;

    if (config.virtual_host)
        return arena_printf(arena, "/%.*s", STR_ARG(call->key));
    return arena_printf(
        arena, "/%.*s%s%.*s", STR_ARG(config.bucket), call->key.len ? "/" : "", STR_ARG(call->key));
}

AWAITS static int stream_open(struct s3_call *call)
{
    struct arena *arena = call->task->arena;
    struct fetch_header headers[S3_HEADERS];
    struct sigv4_signed made;
    struct str scheme;
    const struct sigv4_key key = {config.key_id, config.secret, config.region};
    struct sigv4_request request = {
        .method = str_from(call->method),
        .host = s3_host(arena, &scheme),
        .path = s3_path(call),
        .query_count = call->query_count,
        .header_count = call->header_count,
        .payload_sha256 = call->body ? call->body->sha256 : digest_sha256_hex(arena, STR("")),
    };

    memcpy(request.query, call->query, sizeof(request.query));
    memcpy(request.headers, call->headers, sizeof(request.headers));
    sigv4_sign(arena, &key, &request, clock_wall_ms(), &made);
    for (size_t i = 0; i < call->header_count; i++)
        headers[i] = (struct fetch_header){call->headers[i].name, call->headers[i].value};
    size_t count = call->header_count;
    headers[count++] = (struct fetch_header){STR("x-amz-date"), made.date};
    headers[count++] = (struct fetch_header){STR("x-amz-content-sha256"), request.payload_sha256};
    headers[count++] = (struct fetch_header){STR("Authorization"), made.authorization};
    const struct fetch_stream_request stream = {
        .method = request.method,
        .url = arena_printf(
            arena, "%.*s%.*s%.*s", STR_ARG(scheme), STR_ARG(request.host), STR_ARG(made.target)),
        .headers = headers,
        .nheaders = count,
        .body_bytes = call->body ? call->body->bytes : -1,
        .idle_ms = config.idle_ms,
        /* When a reused connection ends without an answer, libcurl repeats the request silently.
         * POST begins or completes a multipart upload, and its tries must be counted. */
        .is_fresh_connection = call->tries > 1 || strcmp(call->method, "POST") == 0,
    };
    return fetch_stream_open(call->task, &stream, &call->stream);
}

struct s3_chunk {
    int fd;
    char *buffer;
    size_t bytes;
    int64_t offset;
    ssize_t got;
};

static void s3_chunk_run(void *arg)
{
    struct s3_chunk *chunk = arg;

    do
        chunk->got = pread(chunk->fd, chunk->buffer, chunk->bytes, chunk->offset);
    while (chunk->got < 0 && errno == EINTR);
}

/* Reads without a thread if possible: recently written bytes are usually in the page cache. */
AWAITS static int s3_chunk_read(struct task *task, struct s3_chunk *chunk)
{
    struct iovec into = {chunk->buffer, chunk->bytes};

    chunk->got = preadv2(chunk->fd, &into, 1, chunk->offset, RWF_NOWAIT);
    if (chunk->got <= 0) {
        int rc = work_run(task, WORK_FILE, s3_chunk_run, chunk);
        if (rc == -EAGAIN)
            return FILES_UNAVAILABLE;
        TRY(rc);
    }
    return chunk->got > 0 ? 0 : FILES_UNAVAILABLE;
}

AWAITS static int file_body_send(struct s3_call *call, char *buffer)
{
    const struct s3_body *body = call->body;
    int64_t sent = 0;

    while (sent < body->bytes) {
        int64_t left = body->bytes - sent;
        struct s3_chunk chunk = {
            .fd = body->fd,
            .buffer = buffer,
            .bytes = left < (int64_t)STORE_BUFFER_BYTES ? (size_t)left : STORE_BUFFER_BYTES,
            .offset = sent,
        };
        TRY(s3_chunk_read(call->task, &chunk));
        TRY(fetch_stream_write(call->stream, (struct str){buffer, (size_t)chunk.got}));
        sent += chunk.got;
    }
    return 0;
}

AWAITS static int s3_send_body(struct s3_call *call)
{
    if (call->body->fd < 0)
        return fetch_stream_write(call->stream, call->body->text);
    char *buffer = malloc(STORE_BUFFER_BYTES);
    MUST(buffer != NULL);
    int rc = file_body_send(call, buffer);
    if (rc != 0) /* the stream may still borrow the buffer */
        fetch_stream_close(call->stream);
    free(buffer);
    return rc;
}

AWAITS static int s3_request_send(struct s3_call *call)
{
    call->tries++;
    TRY(stream_open(call));
    if (call->body && call->body->bytes > 0)
        TRY(s3_send_body(call));
    return fetch_stream_head(call->stream, &call->head);
}

/* --- results of an answer --- */

enum s3_verdict { S3_DONE, S3_RETRY, S3_FAILED };

static bool status_is_temporary(long status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504;
}

/* Temporary errors, some of which stores report with a 4xx status. */
static bool code_is_temporary(struct str code)
{
    return str_is(code, "RequestTimeout") || str_is(code, "SlowDown") ||
           str_is(code, "InternalError") || str_is(code, "ServiceUnavailable") ||
           str_is(code, "OperationAborted");
}

static void answer_log(const struct s3_call *call, struct str code)
{
    log_warn("files.store_answer",
             L_CSTR("method", call->method),
             L_I64("status", call->head->status),
             L_STR("code", code.len <= 64 && s3_is_plain(code) ? code : STR("")),
             L_I64("tries", call->tries));
}

static enum s3_verdict s3_answer_verdict(const struct s3_call *call, int *ret_rc)
{
    long status = call->head->status;
    struct str code = s3_xml_text(call->text, "Code");
    bool hidden = call->has_hidden_errors && s3_xml_text(call->text, "Error").ptr != NULL;

    *ret_rc = 0;
    if (status >= 200 && status < 300 && !hidden)
        return S3_DONE;
    *ret_rc = FILES_UNAVAILABLE;
    if (status == 404 && !str_is(code, "NoSuchBucket")) {
        *ret_rc = FILES_MISSING;
        return S3_FAILED;
    }
    answer_log(call, code);
    if (status == 507) {
        *ret_rc = FILES_FULL;
        return S3_FAILED;
    }
    return hidden || status_is_temporary(status) || code_is_temporary(code) ? S3_RETRY : S3_FAILED;
}

/* Logs a failure of the stream. Returns 0 when another try may help, else the call's result. */
static int stream_failure_log(const struct s3_call *call, int rc)
{
    if (rc < 0 || rc == FILES_UNAVAILABLE)
        return rc;
    log_warn("files.store_unreachable",
             L_CSTR("method", call->method),
             L_RESULT("rc", rc),
             L_I64("tries", call->tries));
    return rc == FETCH_UNREACHABLE || rc == FETCH_TIMEOUT ? 0 : FILES_UNAVAILABLE;
}

/* co: Sends the request once. *ret_rc is the result of the call if no other try follows. */
AWAITS static enum s3_verdict s3_request_attempt(struct s3_call *call, bool streamed, int *ret_rc)
{
    int rc = s3_request_send(call);

    call->text = STR_NONE;
    if (rc == 0 && (!streamed || call->head->status >= 300))
        rc = fetch_stream_read_all(call->stream, S3_XML_BYTES, &call->text);
    if (rc == 0)
        return s3_answer_verdict(call, ret_rc);
    rc = stream_failure_log(call, rc);
    *ret_rc = rc ? rc : FILES_UNAVAILABLE;
    return rc ? S3_FAILED : S3_RETRY;
}

AWAITS static int s3_request_repeat(struct s3_call *call, bool streamed)
{
    struct backoff pause = {.first_ms = S3_PAUSE_MS, .most_ms = S3_PAUSE_MAX_MS};
    int rc = FILES_UNAVAILABLE;

    for (call->tries = 0; call->tries < S3_TRIES;) {
        enum s3_verdict verdict = s3_request_attempt(call, streamed, &rc);
        if (call->stream && !(verdict == S3_DONE && streamed))
            fetch_stream_close(call->stream);
        if (verdict != S3_RETRY)
            return rc;
        if (call->tries < S3_TRIES)
            TRY(task_sleep(call->task, backoff_next(&pause)));
    }
    return rc;
}

int s3_call(struct s3_call *call)
{
    return s3_request_repeat(call, false);
}

int s3_call_open(struct s3_call *call)
{
    return s3_request_repeat(call, true);
}

int s3_bucket_check(struct task *task, struct str *ret_reason, bool *ret_passing)
{
    struct s3_call call = {.task = task, .method = "GET"};
    int rc;

    s3_query(&call, "list-type", STR("2"));
    s3_query(&call, "max-keys", STR("1"));
    enum s3_verdict verdict = s3_request_attempt(&call, false, &rc);
    if (rc < 0)
        return rc;
    if (verdict == S3_DONE)
        return 0;
    *ret_passing = verdict == S3_RETRY;
    *ret_reason = call.head ? arena_printf(task->arena,
                                           "%ld %.*s",
                                           call.head->status,
                                           STR_ARG(s3_xml_text(call.text, "Code")))
                            : STR("it cannot be reached");
    return FILES_UNAVAILABLE;
}
