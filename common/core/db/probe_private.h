#pragma once
/* Charges the server's time to projects. */
#include "db/server_private.h"

/* Charges the time that the head of a connection has used since the last charge to its project.
 * Waiting for a lock costs nothing, so a head that has run for UNPROBED_MS is charged further only
 * when the server has reported that it does not wait for a lock. */
void server_charge(struct db_conn *conn, int64_t now_ms);
/* Called by the clock: charges running statements, and queries the server about statements that run
 * long. */
void probe_tick(struct db_server *server, int64_t now_ms);
void probe_done(struct db_server *server);
