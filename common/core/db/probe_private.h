#pragma once
/* Who keeps the server busy. */
#include "db/server_private.h"

/* What the head of a connection has used since it was charged last goes on its project's account.
 * Waiting for a lock costs nothing: what has run for UNSEEN_MS is charged further when the server
 * has said that it does not. */
void server_charge(struct db_conn *conn, int64_t now_ms);
/* From the clock: charges what runs, and asks the server about what has been running for long. */
void probe_tick(struct db_server *server, int64_t now_ms);
void probe_done(struct db_server *server);
