#pragma once
/* The nghttp2 session: turns requests into streams, and streams into responses. Loop thread. */
#include "fetch/fetch_h2_conn_private.h"

/* Creates a session and queues our SETTINGS; nghttp2_session_del() frees it. The connection must
 * outlive the session. */
nghttp2_session *fetch_h2_session_new(struct fetch_h2_conn *conn);
/* Submits the request on a new stream, exchange->stream. */
void fetch_h2_session_submit(struct fetch_h2_conn *conn, struct fetch_exchange *exchange);
/* Resets the exchange's stream and detaches the exchange. */
void fetch_h2_session_cancel(struct fetch_exchange *exchange);
