#pragma once
/* Connections of the write pool, one task's at a time. */
#include "db/server_private.h"

/* co: 0 with a ready connection, DB_UNAVAILABLE, -ECANCELED, -ETIMEDOUT. */
AWAITS int lease_take(struct task *task,
                      struct db_server *server,
                      int64_t schema,
                      enum lease_use use,
                      struct db_conn **ret_conn) MUSTCHECK;
/* any: back to the pool, once what is in flight is drained. */
void lease_release(struct db_conn *conn);
/* Gives free connections to those who wait. */
void lease_serve(struct db_server *server);
void lease_expire(struct db_server *server, int64_t now_ms);
/* How many wait for a connection that is not there, rather than for one that is busy now. */
unsigned lease_wanting(const struct db_server *server);

/* co: sends ops as one group on a leased connection and waits for its Sync. Each op's rc and result
 * are filled; 0 or the first failure, its index in *ret_failed. Not `interruptible`: waits whatever
 * happens to the task (the clock closes a connection that does not answer). */
AWAITS int lease_run(struct task *task,
                     struct db_conn *conn,
                     struct db_op *ops,
                     size_t count,
                     bool interruptible,
                     size_t *ret_failed) MUSTCHECK;
