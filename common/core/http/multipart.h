#pragma once
/*
 * Streaming multipart/form-data reader (RFC 7578, RFC 2046 5.1): pulls pieces of the body, hands
 * out part heads and their data without holding a part in memory.
 */
#include "http/req.h"

struct multipart;

struct multipart_part {
    struct str name;
    struct str filename; /* STR_NONE when it is a plain field; UTF-8 (RFC 2047 and 8187 decoded),
                            untrusted */
    struct str content_type; /* STR_NONE when not sent */
};

/* Malformed (400) is MULTIPART_INVALID, too large (413) MULTIPART_TOO_LARGE, a timeout (408)
 * REQ_BODY_TIMEOUT. */

/* any: from the Content-Type header; MULTIPART_INVALID when it is no multipart/form-data or the
 * boundary is missing or over 70 characters. Arena-owned. Limits: 100 parts, 8 KB a part head. */
int multipart_new(struct req *req, uint64_t max_total_bytes, struct multipart **ret) MUSTCHECK;
/* The same over any source of pieces (tests): fn does what req_body_read() does. */
typedef int (*multipart_source_fn)(void *arg, uint64_t max_total_bytes, struct str *ret_piece);
int multipart_new_from(struct arena *arena,
                       struct str content_type,
                       multipart_source_fn fn,
                       void *arg,
                       uint64_t max_total_bytes,
                       struct multipart **ret) MUSTCHECK;
/* any: why it was MULTIPART_INVALID after it was made: static text that ends a sentence. */
const char *multipart_reason(const struct multipart *mp);
/* co: next part (skips what is left of the current one); ret_part->name.ptr == NULL at the end. */
AWAITS int multipart_next(struct multipart *mp, struct multipart_part *ret_part) MUSTCHECK;
/* co: next piece of the current part's data, empty at its end; valid until the next call. */
AWAITS int multipart_read(struct multipart *mp, struct str *ret_piece) MUSTCHECK;
/* co: the whole data of the current part, at most max_bytes. */
AWAITS int multipart_read_all(struct multipart *mp, size_t max_bytes, struct str *ret_data)
    MUSTCHECK;
