#pragma once
/*
 * Streaming reader of multipart/form-data (RFC 7578, RFC 2046 section 5.1): reads the body in
 * chunks, and returns heads and data of parts without holding a part in memory.
 */
#include "http/req.h"

struct multipart;

struct multipart_part {
    struct str name;
    struct str filename;     /* STR_NONE for a plain field; UTF-8 (RFC 2047, 8187), untrusted */
    struct str content_type; /* STR_NONE when not sent */
};

/* Results: 0, MULTIPART_INVALID when malformed (400), MULTIPART_TOO_LARGE (413), REQ_BODY_TIMEOUT
 * (408), or another result of req_body_read(). */

/* any: Creates an arena-owned reader of the request's body. MULTIPART_INVALID when Content-Type is
 * not multipart/form-data, or its boundary is missing or above 70 characters. Limits: 100 parts, 8
 * KB for the head of a part. */
int multipart_new(struct req *req, uint64_t max_total_bytes, struct multipart **ret) MUSTCHECK;
/* multipart_new_from() reads from any source of chunks (tests): `fn` acts like req_body_read(). */
typedef int (*multipart_source_fn)(void *arg, uint64_t max_total_bytes, struct str *ret_chunk);
int multipart_new_from(struct arena *arena,
                       struct str content_type,
                       multipart_source_fn fn,
                       void *arg,
                       uint64_t max_total_bytes,
                       struct multipart **ret) MUSTCHECK;
/* any: Returns why the body is MULTIPART_INVALID: static text that ends a sentence. */
const char *multipart_reason(const struct multipart *mp);
/* co: Skips the rest of the current part and reads the head of the next part. ret_part->name.ptr is
 * NULL at the end. */
AWAITS int multipart_next(struct multipart *mp, struct multipart_part *ret_part) MUSTCHECK;
/* co: Returns the next chunk of the current part's data, valid until the next call; empty at the
 * part's end. */
AWAITS int multipart_read(struct multipart *mp, struct str *ret_chunk) MUSTCHECK;
/* co: Returns the whole data of the current part, arena-owned. MULTIPART_TOO_LARGE above
 * `max_bytes`. */
AWAITS int multipart_read_all(struct multipart *mp, size_t max_bytes, struct str *ret_data)
    MUSTCHECK;
