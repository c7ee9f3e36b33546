#pragma once
/* Transactions: what query.c needs to know of them. */
#include "db/server_private.h"

/* Until the transaction ends, a statement may take $1 milliseconds. */
extern const struct sql sql_set_timeout;
/* co: ops as one group inside a transaction (BEGIN goes ahead of the first). A failure breaks it.
 * 0 or the first failure, reported; its index in *ret_failed. */
AWAITS int
tx_run(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
    MUSTCHECK;
/* co: the same with COMMIT behind them, whatever happens to the task; the lease is given back.
 * `ops` has room for one more. */
AWAITS int
tx_run_commit(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
    MUSTCHECK;
