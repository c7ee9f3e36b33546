#pragma once
/* Statements under way, and what their errors mean. */
#include "db/server_private.h"

void op_init(struct db_op *op,
             struct task *task,
             const struct db *db,
             const struct sql *sql,
             const struct db_param *params,
             size_t count);
/* Checks a statement before anything is sent: 0, -ECANCELED, or DB_CHECK when a text has a NUL
 * byte. Panics when parameters are missing. */
int query_check(struct task *task,
                const struct sql *sql,
                const struct db_param *params,
                size_t count) MUSTCHECK;
/* co: runs one heavy read, with repeats, that may take `timeout_ms`. Result of op_report(). */
AWAITS int query_read_heavy(struct task *task, struct db *db, struct db_op *op, int64_t timeout_ms)
    MUSTCHECK;
/* Frees results that no caller has taken. */
void ops_clear(struct db_op *ops, size_t count);
/* Keeps the details for db_error() and logs defects. Returns rc, with a DB_* in place of an OP_*:
 * `lost_means` for OP_LOST. */
int op_report(struct task *task, const struct db_op *op, int rc, int lost_means);
/* Moves the result into rows owned by the task's arena. */
void op_rows(struct task *task, struct db_op *op, struct rows *ret_rows);
/* Adds the time since `started_us` to the task's db_us, and logs a slow statement. */
void query_account(struct task *task,
                   struct db_server *server,
                   const struct sql *sql,
                   int64_t started_us);
