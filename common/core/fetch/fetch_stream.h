#pragma once
/*
 * Requests whose bodies are larger than memory, or come as they are made: sent and received piece
 * by piece, each side waiting for the other (HTTP/1.1 by libcurl, which pauses). A stream holds one
 * buffer of FETCH_STREAM_BYTES.
 *
 * Unlike fetch() this dials whatever the operator's address names, private networks too, unless it
 * is guarded, and takes no slots: whoever streams is bounded by what causes it. Nothing is
 * repeated.
 *
 * Results: FETCH_UNREACHABLE, FETCH_TIMEOUT (the server did nothing for `idle_ms`), FETCH_TOO_LARGE
 * (headers), FETCH_BAD_HEADER, FETCH_BAD_URL, -ECANCELED, -ETIMEDOUT (the task's own deadline).
 * After any of them the stream only may be closed.
 */
#include "fetch/fetch.h"

#define FETCH_STREAM_BYTES 65536U

struct fetch_stream_request {
    struct str method, url;
    const struct fetch_header *headers; /* as of struct fetch_request */
    size_t nheaders;
    int64_t body_bytes; /* given to fetch_stream_write(), exactly; -1 = no body */
    int64_t idle_ms;
    bool fresh;   /* on a connection of its own: the last kept one may have been dead */
    bool guarded; /* the address is no operator's: what fetch() does not dial is FETCH_REFUSED, and
                     the connection is not kept */
};

struct fetch_stream;
/* co: begins to connect; the request is borrowed until this returns. Arena-owned, and closed with
 * the arena. */
AWAITS int fetch_stream_open(struct task *task,
                             const struct fetch_stream_request *request,
                             struct fetch_stream **ret) MUSTCHECK;
/* co: returns when the piece, which is borrowed until then, was taken. 0 also when the server has
 * answered before it wanted all of the body: what follows is not sent. */
AWAITS int fetch_stream_write(struct fetch_stream *stream, struct str piece) MUSTCHECK;
/* co: the answer's status and headers, once the body was written. */
AWAITS int fetch_stream_head(struct fetch_stream *stream, const struct fetch_response **ret)
    MUSTCHECK;
/* co: what there is of the answer's body, borrowed until the next call; empty at its end, which is
 * where the server said it would be. */
AWAITS int fetch_stream_read(struct fetch_stream *stream, struct str *ret) MUSTCHECK;
/* co: the rest of it as one text in the arena, `most` bytes of it at most. */
AWAITS int fetch_stream_rest(struct fetch_stream *stream, size_t most, struct str *ret) MUSTCHECK;
/* any: idempotent. What was not read is given up, with its connection. */
void fetch_stream_close(struct fetch_stream *stream);
