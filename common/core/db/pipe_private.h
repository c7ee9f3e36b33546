#pragma once
/* Sending on a connection and receiving from it. */
#include "db/conn_private.h"

/* pipe_op() and pipe_plain() queue in libpq: nothing is sent before pipe_sync(). A failure closes
 * the connection, which ends the op with OP_LOST. */
void pipe_op(struct db_conn *conn, struct db_op *op);
/* A command without parameters or a waiter. */
void pipe_plain(struct db_conn *conn, const char *text);
/* Ends the group and flushes; wakes `wait` (may be NULL) when all before the Sync is answered. */
void pipe_sync(struct db_conn *conn, struct db_wait *wait);
/* Handles every result that has arrived. */
void pipe_receive(struct db_conn *conn);
/* The task no longer waits for the op, or for the group: the result will be dropped. */
void pipe_forget(struct db_conn *conn, const struct db_op *op);
void pipe_forget_wait(struct db_conn *conn, const struct db_wait *wait);
/* Ends everything in flight with OP_LOST. */
void pipe_fail(struct db_conn *conn);
/* The item at `index`; 0 is the head. */
struct item *pipe_at(struct db_conn *conn, unsigned index);
/* The rows of an op are no longer counted: they have been freed, or will arrive again. */
void op_uncount(struct db_op *op);
/* Ends an op: takes the result and, with the last op of a wait, wakes the task. */
void op_end(struct db_op *op, int rc, PGresult *result);
