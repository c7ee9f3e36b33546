#pragma once
/* The body as it arrives. */
#include "http/conn_private.h"

/* Takes raw bytes of the body; returns how many fit. */
size_t body_feed(struct exchange *ex, const char *data, size_t len);
/* Ends the wait of a handler that reads the body. */
void body_fail(struct exchange *ex, int error);
/* True when the client has sent less than the least rate. */
bool body_too_slow(const struct exchange *ex, int64_t now_ms);
