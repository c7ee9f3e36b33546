#pragma once
/*
 * One HTTP request and its response. Created when the first byte of a request arrives; lives until
 * the response is written and logged. Its coroutine runs the server's handler. Everything reachable
 * from here lives in req->task.arena. When the client disconnects the task is cancelled: the
 * handler unwinds through -ECANCELED, and nothing is freed before that.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "loop/task.h"

struct http_conn;
struct http_server;
struct route;
struct scope;

#define REQ_PARAMS_MAX 6
#define REQ_PEER_BYTES 46

enum http_method {
    HTTP_GET_M,
    HTTP_HEAD_M,
    HTTP_POST_M,
    HTTP_PUT_M,
    HTTP_PATCH_M,
    HTTP_DELETE_M,
    HTTP_OPTIONS_M,
    HTTP_OTHER_M
};

struct http_header {
    struct str name;  /* as sent */
    struct str value; /* trimmed; bytes above 0x7F replaced by '?' */
};

struct req {
    struct task task;
    struct http_conn *conn; /* NULL once the client is gone */
    struct http_server *server;

    /* The request, complete when the handler starts (the body is read on demand). */
    enum http_method method;
    struct str target; /* as sent, origin form */
    struct str path;   /* up to '?', still encoded */
    struct str query;  /* after '?', still encoded */
    const struct http_header *headers;
    size_t header_count;
    int64_t content_length; /* -1 = chunked or none */
    bool has_body;
    char peer[REQ_PEER_BYTES]; /* textual address, without port */
    int64_t started_us;

    /* Set by the router. */
    const struct route *route;
    struct str params[REQ_PARAMS_MAX]; /* decoded path parameters, in path order */
    const struct str *param_names;     /* of mount and path, same order; owned by the router */
    size_t param_count;

    struct str request_id; /* set by the service, sent as X-Request-Id */
    struct scope *scope;   /* the service's own data, zeroed: http_config.scope_bytes */

    /* The response. */
    int status; /* 0 = none yet */
    struct strbuf body;
    struct str content_type;
    struct strbuf extra_headers; /* "Name: value\r\n" lines */
    bool no_store;               /* default true: Cache-Control: no-store */
    bool close_after;
    bool streaming;
    bool body_counted; /* the service counts the bytes of `body` until the client has read them */
    uint64_t bytes_in;
    uint64_t bytes_out;
    const char *error_code; /* problem code, for logs and metrics */
    int failure;            /* unexpected result of the handler, for logs; 0 = none */
};

/* any: Returns the value of the first header of that name (case-insensitive); STR_NONE when
 * absent. */
struct str req_header(const struct req *req, const char *name);
/* any: Returns the path parameter of that name in the route's path ("id"); STR_NONE when the route
 * has none. http_method_name() returns a method's name. */
struct str req_param(const struct req *req, const char *name);
const char *http_method_name(enum http_method method);
/* any: Returns the method of that name, HTTP_OTHER_M when unknown. */
enum http_method http_method_find(struct str name);

/* any: Sets the client's address when a trusted proxy names another client than the connection's
 * peer. The bytes of the body that have arrived then count for this address. If this address has
 * too many bodies, reading the body fails. Truncated to the size of req.peer. */
void req_peer_set(struct req *req, const char *peer);

/* any: Returns whether the request has a body that has not arrived completely. */
bool req_body_is_awaited(struct req *req);
/* co: Reads the whole body, at most `max_bytes`, and sends 100 Continue if expected. Every call
 * returns the same text. Returns 0, a REQ_BODY_*, or a negative. */
AWAITS int req_body_read_all(struct req *req, size_t max_bytes, struct str *ret_body) MUSTCHECK;
/* any: Replaces the text that req_body_read_all() returns by a copy of `body`, which must not be
 * empty. Call it after req_body_read_all(). */
void req_body_replace(struct req *req, struct str body);
/* co: Returns the next chunk of a streamed body, valid until the next call; empty at the end.
 * Results as of req_body_read_all(). While a chunk waits the connection stops reading from the
 * socket (backpressure). */
AWAITS int req_body_read(struct req *req, uint64_t max_total_bytes, struct str *ret_chunk)
    MUSTCHECK;
