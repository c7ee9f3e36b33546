#pragma once
/*
 * Limits that the clients of a server share. Until a request's project is known, the request counts
 * for its client's address (an IPv6 network of 64 bits is one address). Responses count for their
 * project.
 */
#include "http/conn_private.h"

/* A response of up to this size counts only once the socket has not taken it whole. */
#define UNSENT_SMALL_BYTES 65536U

/* server.c */
void bounds_init(struct http_server *server);
void bounds_done(struct http_server *server);

/* conn.c: counts a connection for its address. False: the address has too many connections. */
bool bounds_connect(struct http_conn *conn);
void bounds_disconnect(struct http_conn *conn);

/* req_body.c: counts a body that a handler waits for, once per exchange. False: the address has too
 * many such bodies. */
bool bounds_await_body(struct exchange *ex);
/* Counts the `bytes` that have arrived of an incomplete body. False: they are too many. */
bool bounds_hold_body(struct exchange *ex, uint64_t bytes);
/* co: Waits until there is room for `bytes` of the body, including the bytes that have arrived.
 * Addresses take turns. Returns 0, REQ_BODY_REFUSED (no room within http_body_wait_ms(), or too
 * many waiters), or a negative. */
AWAITS int bounds_acquire_body(struct exchange *ex, uint64_t bytes) MUSTCHECK;
/* Call it when the body is complete or its handler no longer waits. */
void bounds_release_body(struct exchange *ex);

/* resp.c, resp_stream.c: counts the bytes of a response that its client has not read, unless they
 * are counted already (req.body_counted). False: the project has too many. */
bool bounds_hold_unsent(struct exchange *ex, uint64_t bytes);
void bounds_release_unsent(struct exchange *ex);
