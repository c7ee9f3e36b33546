#pragma once
/* Statements under way, and what their errors mean. */
#include "db/server_private.h"

void op_init(struct db_op *op,
             struct task *task,
             const struct db *db,
             const struct sql *sql,
             const struct db_param *params,
             size_t count);
/* What db_query() looks at before anything is sent. */
int query_check(struct task *task,
                const struct sql *sql,
                const struct db_param *params,
                size_t count) MUSTCHECK;
/* co: one heavy read with its repeats that may take so long; reported. */
AWAITS int query_patient(struct task *task, struct db *db, struct db_op *op, int64_t timeout_ms)
    MUSTCHECK;
/* Drops results that nobody takes. */
void ops_clear(struct db_op *ops, size_t count);
/* Leaves the details for db_error() and logs defects; returns rc, OP_* replaced by a DB_*. */
int op_report(struct task *task, const struct db_op *op, int rc, int lost_means);
/* Moves the result into rows owned by the task's arena. */
void op_rows(struct task *task, struct db_op *op, struct rows *ret_rows);
/* One op with its statement on a transaction or lease, accounting included. */
void query_account(struct task *task,
                   struct db_server *server,
                   const struct sql *sql,
                   int64_t started_us);
