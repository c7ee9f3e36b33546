#pragma once
/*
 * Bodies that come compressed with gzip. A whole body is measured before it is unpacked, so that
 * its bytes can be counted before they are there; a streamed one is unpacked as it is read. Loop
 * thread only; a millisecond at a time.
 */
#include "base/result.h"
#include "http/req.h"

/* any: from now on req_body_read() gives what the body holds; its limit is on that. */
void req_unpack_stream(struct req *req);
/* co: how many bytes the body holds that req_body_read_all() has read. 0, REQ_BODY_TOO_LARGE (above
 * max_bytes), REQ_BODY_BROKEN (not gzip, or cut off), or a negative. */
AWAITS int req_unpack_measure(struct req *req, size_t max_bytes, size_t *ret_bytes) MUSTCHECK;
/* co: unpacks as many bytes as were measured: req_body_read_all() gives them from now on. 0 or a
 * negative. */
AWAITS int req_unpack(struct req *req, size_t bytes) MUSTCHECK;
