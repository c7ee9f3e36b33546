#pragma once
/* The response of a request: headers and body of struct req, or a stream. */
#include "http/req.h"
#include "json/jw.h"

/* any: resp_header() adds a response header, resp_header_printf() also formats its value. Name and
 * value must not hold CR, LF or NUL (panics). */
void resp_header(struct req *req, const char *name, struct str value);
void resp_header_printf(struct req *req, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: Returns whether a header of that name was added. */
bool resp_has_header(const struct req *req, struct str name);
/* any: Adds the ETag. Returns whether If-None-Match has it (weak comparison, RFC 9110 section
 * 13.1.2). */
bool resp_etag(struct req *req, struct str etag);
/* any: Returns a JSON writer over req->body. */
struct jw resp_json(struct req *req);

/* co: Streamed responses. resp_stream_begin() sends the head (chunked). It returns -EAGAIN, for the
 * handler to forward (503), when clients of the project have not read enough of earlier responses.
 * resp_stream_write() waits while more than 64 KB are queued on the socket, resp_stream_end()
 * completes the response. After the head is sent the status cannot change, and an error ends the
 * connection. */
AWAITS int resp_stream_begin(struct req *req, int status, struct str content_type) MUSTCHECK;
/* co: Like resp_stream_begin(), with a Content-Length: exactly `length` bytes must be written. */
AWAITS int
resp_stream_begin_sized(struct req *req, int status, struct str content_type, int64_t length)
    MUSTCHECK;
AWAITS int resp_stream_write(struct req *req, struct str chunk) MUSTCHECK;
/* co: Sends bytes of a file in a stream of known length, without a copy and without a thread: as
 * many as are in the page cache and the socket takes. *ret_sent 0: the caller must read the next
 * chunk and pass it to resp_stream_write(). */
AWAITS int
resp_stream_file(struct req *req, int fd, int64_t offset, int64_t bytes, int64_t *ret_sent)
    MUSTCHECK;
AWAITS int resp_stream_end(struct req *req) MUSTCHECK;
/* co: Sends the bytes [offset, offset+length) of a file with Content-Length. Bytes that are not in
 * the page cache are read off the loop. */
AWAITS int resp_send_file(struct req *req, int status, int fd, int64_t offset, int64_t length)
    MUSTCHECK;
