#pragma once
/*
 * Requests whose bodies are larger than memory, or are produced while they are sent. Bodies are
 * sent and received chunk by chunk, and each side waits for the other (HTTP/1.1 on libcurl, which
 * pauses the transfer). A stream holds one buffer of FETCH_STREAM_BYTES.
 *
 * Unlike fetch(), an unguarded stream dials any address that the operator configured, also in
 * private networks. Streams take no slots: the requests or jobs that open streams limit their
 * number. No request is repeated.
 *
 * Results: 0, FETCH_UNREACHABLE, FETCH_TIMEOUT (the server did nothing for `idle_ms`),
 * FETCH_TOO_LARGE (headers), FETCH_BAD_HEADER, FETCH_BAD_URL, -ECANCELED, -ETIMEDOUT (the task's
 * own deadline); if guarded also FETCH_REFUSED and FETCH_BUSY. After a failure the stream may only
 * be closed.
 */
#include "fetch/fetch.h"

#define FETCH_STREAM_BYTES 65536U

struct fetch_stream_request {
    struct str method, url;
    const struct fetch_header *headers; /* see struct fetch_request */
    size_t nheaders;
    int64_t body_bytes;       /* total that fetch_stream_write() will get, exactly; -1 = no body */
    int64_t idle_ms;          /* longest wait without progress */
    bool is_fresh_connection; /* use a new connection, for example because a pooled one was dead */
    bool is_guarded; /* the operator did not configure the address: apply the address rules of
                     fetch(), and do not reuse the connection */
};

struct fetch_stream;
/* co: Starts to connect. The request is borrowed until this returns. *ret is arena-owned, and
 * closed with the arena. */
AWAITS int fetch_stream_open(struct task *task,
                             const struct fetch_stream_request *request,
                             struct fetch_stream **ret) MUSTCHECK;
/* co: Sends a chunk and waits until all of it was taken; the chunk is borrowed until then. Also
 * returns 0 when the server has responded before it wanted the whole body: further chunks are not
 * sent. */
AWAITS int fetch_stream_write(struct fetch_stream *stream, struct str chunk) MUSTCHECK;
/* co: Waits for the response's status and headers, after the body was written. Borrowed from the
 * stream. */
AWAITS int fetch_stream_head(struct fetch_stream *stream, const struct fetch_response **ret)
    MUSTCHECK;
/* co: Waits for the next chunk of the response's body, which is borrowed until the next call. An
 * empty chunk means that the body has ended where the server said it would. */
AWAITS int fetch_stream_read(struct fetch_stream *stream, struct str *ret) MUSTCHECK;
/* co: Reads the remaining body as one arena-owned text. FETCH_TOO_LARGE above `most` bytes. */
AWAITS int fetch_stream_read_all(struct fetch_stream *stream, size_t most, struct str *ret)
    MUSTCHECK;
/* any: Closes the stream. An unread rest of the response is dropped together with its connection.
 * Idempotent. */
void fetch_stream_close(struct fetch_stream *stream);
