#pragma once
/* Sending on a connection and receiving from it. */
#include "db/conn_private.h"

/* Queue in libpq; nothing leaves before pipe_sync(). A failure shows as a lost connection later. */
void pipe_op(struct db_conn *conn, struct db_op *op);
/* A command without parameters or a waiter. */
void pipe_plain(struct db_conn *conn, const char *text);
/* Ends the group and flushes; `wait` (may be NULL) is woken when everything before it is
 * answered. */
void pipe_sync(struct db_conn *conn, struct db_wait *wait);
/* Handles every result that has arrived. */
void pipe_receive(struct db_conn *conn);
/* Nobody waits for it any more; its result will be dropped. */
void pipe_forget(struct db_conn *conn, const struct db_op *op);
void pipe_forget_wait(struct db_conn *conn, const struct db_wait *wait);
/* Ends everything in flight with OP_LOST. */
void pipe_fail(struct db_conn *conn);
struct item *pipe_at(struct db_conn *conn, unsigned index);
/* An op's rows are no longer counted: they are gone, or come again. */
void op_uncount(struct db_op *op);
/* Ends an op: takes the result, wakes the waiter. */
void op_end(struct db_op *op, int rc, PGresult *result);
