#pragma once
/*
 * What clients of one server share. Until it is known whose a request is, it counts for its
 * client's address (an IPv6 network of 64 bits is one address);
 * answers count for their project.
 */
#include "http/conn_private.h"

/* Answers up to here are left to the socket, which mostly takes them whole. */
#define UNSENT_SMALL_BYTES 65536U

/* server.c */
void bounds_init(struct http_server *server);
void bounds_done(struct http_server *server);

/* conn.c: false when the address has as many connections as it may have beside the others. */
bool bounds_connect(struct http_conn *conn);
void bounds_disconnect(struct http_conn *conn);

/* req_body.c: a body that its handler waits for; false when the address has too many of them. Once
 * an exchange. */
bool bounds_await_body(struct exchange *ex);
/* Bytes of the body that are here, of one that is not here whole; false when they are too many. */
bool bounds_hold_body(struct exchange *ex, uint64_t bytes);
/* co: waits until `bytes` of the body have room, the bytes that have come included; client
 * addresses take turns. 0, REQ_BODY_REFUSED (http_room_wait_ms() passed without room), or a
 * negative. */
AWAITS int bounds_wait_for_room(struct exchange *ex, uint64_t bytes) MUSTCHECK;
/* The body is whole, or nobody waits for it any more. */
void bounds_release_body(struct exchange *ex);

/* resp.c, resp_stream.c: bytes of an answer that its client has not read yet, unless they are
 * counted already; false when those of the project are too many. */
bool bounds_hold_unsent(struct exchange *ex, uint64_t bytes);
void bounds_release_unsent(struct exchange *ex);
