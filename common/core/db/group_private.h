#pragma once
/* Reads on shared connections. */
#include "db/server_private.h"

/* Queues an op; it leaves at the end of the turn. */
void group_add(struct db_server *server, struct db_op *op);
void group_remove(struct db_server *server, struct db_op *op);
void group_flush(struct db_server *server);
/* Finds connections with a stuck head and moves the reads behind it elsewhere. */
void group_check_stuck(struct db_server *server, int64_t now_ms);
bool group_heavy(struct db_server *server, uint64_t key);
/* The statement keeps to leases: it is heavy, or its project holds up so many of the shared
 * connections that it may try no other: half of them, and all of them for what ran there before. */
bool group_keeps_off(struct db_server *server, int64_t schema, uint64_t key);
/* Its statement, in its project, keeps to leases for a while. */
void group_mark_heavy(struct db_server *server, uint64_t key, int64_t schema);
/* It ran on a lease for so long: one that is quick again and again is not heavy. */
void group_ran(struct db_server *server, const struct db_op *op, int64_t spent_ms);
/* Whatever is in flight on the connection is sent again elsewhere. */
void group_move_all(struct db_conn *conn);
/* True for anything but a plain SELECT. */
bool group_writes(struct db_server *server, const struct sql *sql);
