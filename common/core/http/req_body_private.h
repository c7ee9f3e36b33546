#pragma once
/* Receives request bodies. */
#include "http/conn_private.h"

/* Decodes raw bytes of the body; returns how many were consumed. */
size_t body_feed(struct exchange *ex, const char *data, size_t len);
/* The body has failed: ends the wait of the handler that reads it. */
void body_fail(struct exchange *ex, int error);
/* Returns whether the client sends more slowly than limits.body_min_rate. */
bool body_too_slow(const struct exchange *ex, int64_t now_ms);
