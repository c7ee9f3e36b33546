#pragma once
/*
 * Request framing (RFC 9112), without sockets: bytes in, meaning or a fault out. Three steps, each
 * of which can only refuse more than the one before:
 * - head_scan: byte by byte as they arrive: line ends, forbidden bytes, sizes; finds the end
 * - head_parse: the whole head at once: llhttp for the grammar, then what it is lenient about
 * - body_decode: length-delimited and chunked bodies
 * Nothing is judged before the byte that decides it, so how the bytes were split does not matter.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "catalog/problem.h"
#include "http/req.h"

struct http_limits;

/* Why a request is refused; a static table entry. */
struct http_fault {
    int status;
    enum problem problem;
    const char *detail;
};

struct head_scan {
    uint32_t bytes;      /* so far */
    uint32_t line_bytes; /* of the current line */
    uint32_t lines;      /* complete ones, the empty last one not counted */
    bool after_cr;
    bool in_value;  /* behind the colon of a header field */
    bool lead_crlf; /* one empty line before the request line is skipped (RFC 9112 2.2) */
};

#define HEAD_MORE 0
/* HEAD_MORE, HEAD_COMPLETE or HEAD_BAD; *ret_used bytes belong to the head. Starts from a zeroed
 * scan. */
int head_scan(struct head_scan *scan,
              const struct http_limits *limits,
              const char *data,
              size_t len,
              size_t *ret_used,
              const struct http_fault **ret_fault) MUSTCHECK;

struct head {
    enum http_method method;
    struct str target;
    struct str path;
    struct str query;
    struct http_header *headers; /* arena */
    size_t header_count;
    int64_t content_length; /* -1 = none */
    bool chunked;
    bool http10;
    bool keep_alive;
    bool expects_continue;
};

/* 0, or HEAD_BAD with *ret_fault. `text` is what head_scan() took; the result points into it. On a
 * fault *ret_head holds what was understood so far (method, target) for the log. */
int head_parse(struct arena *arena,
               struct str text,
               const struct head_scan *scan,
               const struct http_limits *limits,
               struct head *ret_head,
               const struct http_fault **ret_fault) MUSTCHECK;

struct body_reader {
    uint64_t left;  /* of the body, or of the current chunk */
    uint16_t extra; /* bytes of extensions or trailers so far */
    uint8_t digits;
    uint8_t state;
};

void body_reader_init(struct body_reader *reader, const struct head *head);
#define BODY_MORE 0
/* BODY_MORE, BODY_COMPLETE or BODY_BAD. Stops when the input is used up or `room` bytes were made.
 */
int body_decode(struct body_reader *reader,
                struct str input,
                char *out,
                size_t room,
                size_t *ret_used,
                size_t *ret_made) MUSTCHECK;
