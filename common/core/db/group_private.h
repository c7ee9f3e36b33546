#pragma once
/* Reads on shared connections. */
#include "db/server_private.h"

/* Queues an op, which is sent at the end of the turn. */
void group_add(struct db_server *server, struct db_op *op);
void group_remove(struct db_server *server, struct db_op *op);
void group_flush(struct db_server *server);
/* Finds connections with a stuck head and queues the reads after it for other connections. */
void group_check_stuck(struct db_server *server, int64_t now_ms);
bool group_is_heavy(struct db_server *server, uint64_t key);
/* True when the statement must run on a lease: it is heavy, or its project holds up as many of the
 * read connections as it may. That is half of them, or all of them for a statement that a healthy
 * connection has prepared. */
bool group_needs_lease(struct db_server *server, int64_t schema, uint64_t key);
/* Marks the statement `key` of the project as heavy: for HEAVY_MS it runs on leases. */
void group_mark_heavy(struct db_server *server, uint64_t key, int64_t schema);
/* Records that a read took `spent_ms` on a lease. A heavy statement that takes less than STUCK_MS
 * in QUICK_RUNS_MIN runs in a row is no longer heavy. */
void group_record_run(struct db_server *server, const struct db_op *op, int64_t spent_ms);
/* Queues every read in flight on the connection again, for other connections. */
void group_move_all(struct db_conn *conn);
/* False for a statement that only reads (a plain SELECT, WITH or VALUES). */
bool group_is_write(struct db_server *server, const struct sql *sql);
