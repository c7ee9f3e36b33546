#pragma once
/* Leases: a connection of the write pool is used by one task at a time. */
#include "db/server_private.h"

/* co: waits for a connection. 0 with a ready connection, DB_UNAVAILABLE, -ECANCELED, -ETIMEDOUT. */
AWAITS int lease_take(struct task *task,
                      struct db_server *server,
                      int64_t schema,
                      enum lease_use use,
                      struct db_conn **ret_conn) MUSTCHECK;
/* any: returns the connection to the pool, once everything in flight on it is answered. */
void lease_release(struct db_conn *conn);
/* lease_serve() grants free connections to waiting tasks. lease_expire() ends waits that have taken
 * too long, and then serves. */
void lease_serve(struct db_server *server);
void lease_expire(struct db_server *server, int64_t now_ms);
/* Number of waiters that need one more connection. A waiter that soon gets a warm connection
 * (warm_conn_busy) counts only after WARM_CONN_WAIT_MS. */
unsigned lease_wanting_count(const struct db_server *server);

/* co: sends ops as one group on a leased connection and waits for its Sync. Fills the rc and result
 * of each op. Returns 0, or the first failure with its index in *ret_failed. Not `interruptible`:
 * waits even when the task is cancelled (the clock closes a connection that does not answer). */
AWAITS int lease_run(struct task *task,
                     struct db_conn *conn,
                     struct db_op *ops,
                     size_t count,
                     bool interruptible,
                     size_t *ret_failed) MUSTCHECK;
