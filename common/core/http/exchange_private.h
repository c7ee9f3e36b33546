#pragma once
/* A request from its first byte to its last report. */
#include "http/conn_private.h"

struct exchange *exchange_new(struct http_conn *conn);
/* Takes bytes of the head; returns how many. Starts the handler when it is complete. */
size_t exchange_take_head(struct exchange *ex, const char *data, size_t len);
/* Answers by itself, without the handler. `close` also gives up on the rest of the input. */
void exchange_fail(struct exchange *ex, const struct http_fault *fault, bool close);
/* The connection is going: drops a request whose head is incomplete, cancels the handler. */
void exchange_orphan(struct exchange *ex);
/* The socket has taken everything or has failed. */
void exchange_written(struct exchange *ex);
/* After the response: may the connection be used again? A body that nobody read is skipped when its
 * rest is known to be small and the client has not been left waiting for 100 Continue. */
bool exchange_keeps_alive(const struct exchange *ex);
/* Turn-end hook of the server: answers all exchanges whose handlers returned. */
void exchange_flush_done(void *arg);
