#pragma once
/* The response of a request: headers and body of struct req, or a stream. */
#include "http/req.h"
#include "json/jw.h"

/* any: adds a response header; name and value are trusted not to hold CR or LF (panics if they do).
 */
void resp_header(struct req *req, const char *name, struct str value);
void resp_header_printf(struct req *req, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: was such a header added? */
bool resp_has_header(const struct req *req, struct str name);
/* any: adds the ETag; true when If-None-Match names it (weak comparison, RFC 9110 section 13.1.2).
 */
bool resp_etag(struct req *req, struct str etag);
/* any: a writer over req->body. */
struct jw resp_json(struct req *req);

/* Streamed responses: begin sends the head (chunked), or says -EAGAIN, for the handler to pass on:
 * clients of the project have not read enough of what they asked for before (503). Write awaits
 * while more than 256 KB are queued on the socket, end finishes. After begin the status cannot
 * change; an error ends the connection. */
AWAITS int resp_stream_begin(struct req *req, int status, struct str content_type) MUSTCHECK;
/* The same for one whose length is known: Content-Length; exactly so much is written then. */
AWAITS int
resp_stream_begin_sized(struct req *req, int status, struct str content_type, int64_t length)
    MUSTCHECK;
AWAITS int resp_stream_write(struct req *req, struct str piece) MUSTCHECK;
/* co: bytes of a file for the same, where its length is known, without a copy and without a thread:
 * as many as are in memory and the socket takes. *ret_sent 0: a piece has to be read and written.
 */
AWAITS int
resp_stream_file(struct req *req, int fd, int64_t offset, int64_t bytes, int64_t *ret_sent)
    MUSTCHECK;
AWAITS int resp_stream_end(struct req *req) MUSTCHECK;
/* co: sends a file's bytes [offset, offset+length) with Content-Length; reads off the loop
 * what is not in memory. */
AWAITS int resp_send_file(struct req *req, int status, int fd, int64_t offset, int64_t length)
    MUSTCHECK;
