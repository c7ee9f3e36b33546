#pragma once
/* Called by connections for their feeds. */
#include "http/conn_private.h"
#include "http/feed.h"

/* conn.c: the connection is gone; ends its feed, if there is one. */
void feed_on_conn_end(struct http_conn *conn);
