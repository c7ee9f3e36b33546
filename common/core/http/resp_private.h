#pragma once
/* The response on its way to the socket. */
#include "http/conn_private.h"

/* Writes head and body; calls exchange_written() at once or later. */
void resp_send(struct exchange *ex);
/* Head of a response into the arena. body_bytes < 0: the length is unknown (chunked or until
 * close). */
struct str resp_head(struct exchange *ex, int64_t body_bytes);
/* HEAD, 1xx, 204, 304. */
bool resp_has_no_body(const struct exchange *ex);
