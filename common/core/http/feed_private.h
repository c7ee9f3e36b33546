#pragma once
/* What connections tell their feeds. */
#include "http/conn_private.h"
#include "http/feed.h"

/* conn.c: the connection is gone; accepts one without a feed. */
void feed_lost(struct http_conn *conn);
