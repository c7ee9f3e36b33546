#pragma once
/* Transactions: the part that query.c uses. */
#include "db/server_private.h"

/* Sets the time that a statement may take to $1 milliseconds, until the transaction ends. */
extern const struct sql sql_set_timeout;
/* co: runs ops in a transaction, at most 100 in a group; BEGIN is sent with the first group. A
 * failure rolls the transaction back. 0, or the first failure, reported, its index in
 * *ret_failed. */
AWAITS int
tx_run(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
    MUSTCHECK;
/* co: tx_run() with COMMIT after the last op. Waits for the commit even when the task is cancelled,
 * and releases the lease. `ops` has room for one more. */
AWAITS int
tx_run_commit(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
    MUSTCHECK;
