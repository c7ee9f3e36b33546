#pragma once
/*
 * Request framing (RFC 9112), independent of sockets: turns bytes into a request or a fault. Each
 * of the three steps can only refuse more than the step before:
 * - head_scan: byte by byte as they arrive: line ends, forbidden bytes, sizes; finds the end
 * - head_parse: the whole head at once: llhttp for the grammar, then the rules that llhttp does not
 *   enforce
 * - body_decode: length-delimited and chunked bodies
 * A fault is reported at the byte that causes it, so it does not matter how the bytes were split.
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
    uint32_t bytes;      /* bytes so far */
    uint32_t line_bytes; /* bytes of the current line */
    uint32_t lines;      /* complete lines, without the empty last line */
    bool after_cr;
    bool in_value;  /* after the colon of a header field */
    bool lead_crlf; /* one empty line before the request line is skipped (RFC 9112 2.2) */
};

#define HEAD_MORE 0
/* Scans bytes of a head; the first call needs a zeroed scan. Returns HEAD_MORE, HEAD_COMPLETE or
 * HEAD_BAD; *ret_used bytes belong to the head. */
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

/* Parses the `text` that head_scan() took; *ret_head points into it. Returns 0, or HEAD_BAD with
 * *ret_fault. *ret_head then holds what is known (method, target), for the log. */
int head_parse(struct arena *arena,
               struct str text,
               const struct head_scan *scan,
               const struct http_limits *limits,
               struct head *ret_head,
               const struct http_fault **ret_fault) MUSTCHECK;

struct body_reader {
    uint64_t left;        /* bytes left of the body, or of the current chunk */
    uint16_t extra_bytes; /* bytes of extensions or trailers so far */
    uint8_t digits;
    uint8_t state;
};

void body_reader_init(struct body_reader *reader, const struct head *head);
#define BODY_MORE 0
/* Decodes input until it is used up or `capacity` bytes are written to `out`. Returns BODY_MORE,
 * BODY_COMPLETE or BODY_BAD. */
int body_decode(struct body_reader *reader,
                struct str input,
                char *out,
                size_t capacity,
                size_t *ret_used,
                size_t *ret_made) MUSTCHECK;
