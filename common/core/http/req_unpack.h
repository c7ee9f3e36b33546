#pragma once
/*
 * Request bodies that are compressed with gzip. A whole body is measured before it is unpacked, so
 * that its bytes can be counted before they take memory. A streamed body is unpacked while it is
 * read. Loop thread only; yields after each millisecond.
 */
#include "base/result.h"
#include "http/req.h"

/* any: From now on req_body_read() returns unpacked bytes, and its `max_total_bytes` limits them as
 * well. */
void req_unpack_stream(struct req *req);
/* co: Measures the unpacked size of the body that req_body_read_all() has read. Returns 0,
 * REQ_BODY_TOO_LARGE (above `max_bytes`), REQ_BODY_MALFORMED (not gzip, or truncated), or a
 * negative. */
AWAITS int req_unpack_measure(struct req *req, size_t max_bytes, size_t *ret_bytes) MUSTCHECK;
/* co: Unpacks the body, whose size `bytes` was measured. From now on req_body_read_all() returns
 * the unpacked body. Returns 0 or a negative. */
AWAITS int req_unpack(struct req *req, size_t bytes) MUSTCHECK;
