#pragma once
/* Writes responses to the socket. */
#include "http/conn_private.h"

/* Writes head and body; calls exchange_on_written() at once or later. */
void resp_send(struct exchange *ex);
/* Formats the head of a response in the arena. body_bytes < 0: the length is unknown (chunked, or
 * until the connection closes). */
struct str resp_head(struct exchange *ex, int64_t body_bytes);
/* True for HEAD, 1xx, 204 and 304. */
bool resp_has_no_body(const struct exchange *ex);
