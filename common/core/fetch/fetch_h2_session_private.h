#pragma once
/* The session of a connection: requests into streams, streams into answers. Loop thread. */
#include "fetch/fetch_h2_conn_private.h"

/* With our SETTINGS; the connection outlives it. */
nghttp2_session *fetch_h2_session_new(struct fetch_h2_conn *conn);
/* It has a stream then. */
void fetch_h2_session_ask(struct fetch_h2_conn *conn, struct fetch_exchange *exchange);
/* The stream is ended if it has not, and has no exchange any more. */
void fetch_h2_session_forget(struct fetch_exchange *exchange);
