#pragma once
/* A request, from its first byte until its response is logged. */
#include "http/conn_private.h"

struct exchange *exchange_new(struct http_conn *conn);
/* Consumes bytes of the head; returns how many. Starts the handler when the head is complete. */
size_t exchange_take_head(struct exchange *ex, const char *data, size_t len);
/* Responds with a problem, without the handler. `close`: also drops further input and closes. */
void exchange_fail(struct exchange *ex, const struct http_fault *fault, bool close);
/* The connection is closing: drops a request whose head is incomplete, cancels the handler. */
void exchange_detach_conn(struct exchange *ex);
/* The response was written completely, or writing failed. */
void exchange_on_written(struct exchange *ex);
/* Returns whether the connection can be used again after the response. An unread body is skipped if
 * its rest is known to be small and the client is not waiting for 100 Continue. */
bool exchange_keeps_alive(const struct exchange *ex);
/* Hook of the server for the end of a tick: responds to all exchanges whose handlers returned. */
void exchange_flush_done(void *arg);
