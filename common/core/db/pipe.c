/*
 * Statements on a connection: sends them in pipeline mode, and finds out which result belongs to
 * which statement.
 *
 * libpq gives the results of a command, then NULL; a Sync gives one result of its own.
 * PQgetResult() is called only while PQisBusy() is false, so it never blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "db/answer_private.h"
#include "db/conn_private.h"
#include "db/group_private.h"
#include "db/params_private.h"
#include "db/pipe_private.h"
#include "db/probe_private.h"
#include "db/server_private.h"
#include "db/sqlstate_private.h"
#include "db/stmt_private.h"

/* --- ring --- */

struct item *pipe_at(struct db_conn *conn, unsigned index)
{
    return &conn->ring[(conn->ring_head + index) & (conn->ring_cap - 1)];
}

static void ring_grow(struct db_conn *conn)
{
    struct item *ring = calloc((size_t)conn->ring_cap * 2, sizeof(*ring));

    MUST(ring != NULL);
    for (unsigned i = 0; i < conn->ring_count; i++)
        ring[i] = *pipe_at(conn, i);
    free(conn->ring);
    conn->ring = ring;
    conn->ring_cap *= 2;
    conn->ring_head = 0;
}

static struct item *ring_push(struct db_conn *conn, enum item_kind kind)
{
    if (conn->ring_count == conn->ring_cap)
        ring_grow(conn);
    if (conn->ring_count == 0) {
        conn->head_since_ms = server_now_ms();
        conn->charged_ms = conn->head_since_ms;
        conn->head_report = HEAD_UNPROBED;
    }
    struct item *item = pipe_at(conn, conn->ring_count++);
    *item = (struct item){.kind = kind};
    return item;
}

static void ring_pop(struct db_conn *conn, int64_t now_ms)
{
    server_charge(conn, now_ms);
    conn->ring_head = (conn->ring_head + 1) & (conn->ring_cap - 1);
    conn->ring_count--;
    conn->head_since_ms = now_ms;
    conn->charged_ms = now_ms;
    conn->head_report = HEAD_UNPROBED;
    conn->head_mode_chosen = false;
    conn->head_single = false;
    conn->head_dropped = 0;
    conn->stuck = false;
}

/* --- ops --- */

void op_uncount(struct db_op *op)
{
    answer_uncount_rows(op->task, op->bytes);
    op->bytes = 0;
    op->refused_rc = 0;
    op->is_truncated = false;
}

void op_end(struct db_op *op, int rc, PGresult *result)
{
    struct db_wait *wait = op->wait;

    op->conn = NULL;
    op->rc = rc != OP_ABORTED && op->refused_rc != 0 ? op->refused_rc : rc;
    PQclear(op->result);
    op->result = result;
    if (wait && --wait->pending == 0)
        await_done(&wait->await, 0);
}

static void wait_end(struct db_wait *wait, int rc, PGresult *result)
{
    wait->sync_rc = rc;
    wait->sync_result = result;
    wait->pending = 0;
    await_done(&wait->await, 0);
}

/* --- sending --- */

/* The prepared statement of an op. Sends the command that prepares it when this connection has
 * none. NULL when the connection broke. */
static struct stmt *stmt_find_or_prepare(struct db_conn *conn, struct db_op *op, bool *ret_first)
{
    struct stmt *stmt = stmt_find(&conn->stmts, op->key);

    *ret_first = stmt == NULL;
    if (stmt)
        return stmt;
    stmt = stmt_add(&conn->stmts, op->sql, op->schema, op->key);
    stmt->made_ms = server_now_ms();
    char *text = stmt_text(conn->server->scratch, op->sql->text, op->schema);
    if (!PQsendPrepare(conn->pg, stmt->name, text, 0, NULL))
        return NULL;
    struct item *item = ring_push(conn, ITEM_PREPARE);
    item->op = op;
    item->key = op->key;
    item->stmt_seq = stmt->seq;
    conn->server->stats.prepared++;
    return stmt;
}

/* Remembers the largest message: libpq's buffers grow with it and never shrink. */
static void swollen_record(struct db_conn *conn, uint64_t bytes)
{
    if (bytes > SWOLLEN_FROM && bytes > conn->swollen_bytes)
        conn->swollen_bytes = bytes;
}

static bool send_query(struct db_conn *conn, struct db_op *op, struct item *ret_item)
{
    struct arena *scratch = conn->server->scratch;
    struct wire wire;

    params_encode(scratch, op->params, op->param_count, &wire);
    swollen_record(conn, arena_used_bytes(scratch));
    if (op->sql->no_prepare) {
        char *text = stmt_text(scratch, op->sql->text, op->schema);
        return PQsendQueryParams(
                   conn->pg, text, wire.count, NULL, wire.values, wire.lengths, wire.formats, 0) !=
               0;
    }
    struct stmt *stmt = stmt_find_or_prepare(conn, op, &ret_item->is_first_run);
    if (!stmt)
        return false;
    ret_item->stmt_seq = stmt->seq;
    stmt->in_flight++;
    return PQsendQueryPrepared(conn->pg,
                               stmt->name,
                               wire.count,
                               wire.values,
                               wire.lengths,
                               wire.formats,
                               op->sql->binary) != 0;
}

void pipe_op(struct db_conn *conn, struct db_op *op)
{
    struct item made = {.stmt_seq = 0};

    if (conn->state != CONN_READY) {
        op_end(op, OP_LOST, NULL);
        return;
    }
    bool sent = send_query(conn, op, &made);
    arena_reset(conn->server->scratch);
    struct item *item = ring_push(conn, ITEM_QUERY);
    item->op = op;
    item->key = op->key;
    item->schema = op->schema;
    item->stmt_seq = made.stmt_seq;
    item->is_first_run = made.is_first_run;
    op->conn = conn;
    conn->server->stats.statements++;
    if (!sent)
        conn_close(conn, PQerrorMessage(conn->pg));
}

void pipe_plain(struct db_conn *conn, const char *text)
{
    if (conn->state != CONN_READY)
        return;
    if (PQsendQueryParams(conn->pg, text, 0, NULL, NULL, NULL, NULL, 0))
        (void)ring_push(conn, ITEM_PLAIN);
    else
        conn_close(conn, PQerrorMessage(conn->pg));
}

/* Deallocates evicted statements in a group of their own, so that the failure of another statement
 * does not skip them. */
static void send_deallocates(struct db_conn *conn)
{
    char text[STMT_NAME_BYTES + 32];
    struct list *node;

    if (list_empty(&conn->stmts.evicted))
        return;
    while (conn->state == CONN_READY && (node = list_shift(&conn->stmts.evicted))) {
        struct stmt *stmt = LIST_ITEM(node, struct stmt, lru);
        snprintf(text, sizeof(text), "deallocate \"%s\"", stmt->name);
        free(stmt);
        pipe_plain(conn, text);
    }
    if (conn->state == CONN_READY && PQpipelineSync(conn->pg)) {
        (void)ring_push(conn, ITEM_SYNC);
        conn->groups++;
    }
}

void pipe_sync(struct db_conn *conn, struct db_wait *wait)
{
    if (conn->state == CONN_READY) {
        /* libpq 15 flushes with every Sync. */
        bool sent = PQpipelineSync(conn->pg) != 0;
        ring_push(conn, ITEM_SYNC)->wait = wait;
        conn->groups++;
        conn->server->stats.groups++;
        if (!sent)
            conn_close(conn, PQerrorMessage(conn->pg));
        send_deallocates(conn);
        conn_flush(conn);
        if (conn->server)
            server_tick_start(conn->server);
    } else if (wait) {
        wait_end(wait, OP_LOST, NULL);
    }
}

/* --- rows as they come --- */

/* Chooses the row mode of the head, before any of its result is read. When there may be many rows
 * they arrive one by one, so that each is counted before the next is taken. A single row is in
 * libpq's buffer as a whole in either mode. */
static void row_mode_choose(struct db_conn *conn)
{
    const struct item *item = pipe_at(conn, 0);

    if (conn->head_mode_chosen)
        return;
    conn->head_mode_chosen = true;
    if (item->kind != ITEM_QUERY)
        return;
    const struct sql *sql = item->op ? item->op->sql : NULL;
    if (!sql || (!sql->narrow && (sql->kind == SQL_MANY || sql->kind == SQL_PAGE)))
        conn->head_single = PQsetSingleRowMode(conn->pg) == 1;
}

static uint64_t row_bytes(const PGresult *row)
{
    int columns = PQnfields(row);
    uint64_t bytes = (uint64_t)columns * (sizeof(char *) + sizeof(int)) + sizeof(void *);

    for (int i = 0; i < columns; i++)
        bytes += (uint64_t)PQgetlength(row, 0, i) + 1;
    return bytes;
}

/* Drops a row that no task wants. When the server has sent DROPPED_MAX bytes of such rows the
 * connection is closed, which ends the statement there. Reads queued after it on this connection
 * are sent again elsewhere. */
static void drop_row(struct db_conn *conn, PGresult *row, uint64_t bytes)
{
    PQclear(row);
    conn->head_dropped += bytes;
    if (conn->head_dropped <= DROPPED_MAX)
        return;
    struct item *item = pipe_at(conn, 0);
    if (item->op && item->op->is_truncated) { /* the op has all rows that it keeps */
        struct db_op *op = item->op;
        item->op = NULL;
        op_end(op, 0, conn->head_rows);
        conn->head_rows = NULL;
    }
    if (conn->pool == POOL_READ)
        group_move_all(conn);
    conn_close(conn, NULL);
}

/* Refuses the rows of an op: its result is too large, or its project's share is full. A read on a
 * shared connection fails at once; a leased group fails with its Sync. */
static void refuse_rows(struct db_conn *conn, struct item *item, int rc)
{
    struct db_op *op = item->op;

    PQclear(conn->head_rows);
    conn->head_rows = NULL;
    op_uncount(op);
    op->refused_rc = rc;
    if (!op->wait)
        return;
    group_mark_heavy(conn->server, op->key, op->schema);
    item->op = NULL;
    op_end(op, rc, NULL);
}

static void pipe_add_row(PGresult *rows, const PGresult *row)
{
    int at = PQntuples(rows);
    int columns = PQnfields(row);

    for (int i = 0; i < columns; i++) {
        bool null = PQgetisnull(row, 0, i) != 0;
        int added = PQsetvalue(
            rows, at, i, null ? NULL : PQgetvalue(row, 0, i), null ? -1 : PQgetlength(row, 0, i));
        if (!added)
            PANIC("out of memory (rows)");
    }
}

static void pipe_take_row(struct db_conn *conn, PGresult *row)
{
    struct item *item = pipe_at(conn, 0);
    struct db_op *op = item->op;
    uint64_t bytes = row_bytes(row);

    swollen_record(conn, bytes);
    if (!op) { /* the task has left */
        PQclear(conn->head_rows);
        conn->head_rows = NULL;
    } else if (!op->refused_rc && op->keep_bytes > 0 && conn->head_rows &&
               op->bytes + bytes > op->keep_bytes) {
        op->is_truncated = true;
    }
    if (!op || op->refused_rc || op->is_truncated) {
        drop_row(conn, row, bytes);
        return;
    }
    int rc = answer_count_rows(op->task, bytes, op->bounded);
    if (rc != 0) {
        refuse_rows(conn, item, rc);
        drop_row(conn, row, bytes);
        return;
    }
    op->bytes += bytes;
    if (!conn->head_rows) {
        conn->head_rows = row;
        return;
    }
    pipe_add_row(conn->head_rows, row);
    PQclear(row);
}

static int64_t result_affected_rows(PGresult *result)
{
    const char *text = PQcmdTuples(result);
    int64_t count = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        count = count * 10 + (*text - '0');
    return count;
}

/* The complete result of the head: the rows that arrived one by one, or `result` itself. */
static PGresult *result_complete(struct db_conn *conn, PGresult *result)
{
    struct db_op *op = pipe_at(conn, 0)->op;
    PGresult *rows = conn->head_rows;

    conn->head_rows = NULL;
    if (op && PQresultStatus(result) != PGRES_PIPELINE_ABORTED)
        op->affected = result_affected_rows(result);
    if (!rows || PQresultStatus(result) != PGRES_TUPLES_OK) {
        PQclear(rows);
        return result;
    }
    PQclear(result);
    return rows;
}

/* Counts a result that arrived as a whole. */
static int result_count_rows(struct db_op *op, const PGresult *result)
{
    size_t bytes = PQntuples(result) > 0 ? PQresultMemorySize(result) : 0;

    if (bytes == 0 || op->refused_rc != 0)
        return op->refused_rc;
    int rc = answer_count_rows(op->task, bytes, op->bounded);
    if (rc == 0)
        op->bytes += bytes;
    return rc;
}

/* --- receiving --- */

static bool is_sqlstate(const PGresult *result, const char *state)
{
    const char *found = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return found && strcmp(found, state) == 0;
}

static int result_rc(const PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
        return 0;
    case PGRES_PIPELINE_ABORTED:
        return OP_ABORTED;
    default:
        return sqlstate_result(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    }
}

static void end_prepare(struct db_conn *conn, const struct item *item, PGresult *result, int rc)
{
    if (rc != 0)
        stmt_drop(&conn->stmts, item->key, item->stmt_seq, false);
    if (rc == 0 || rc == OP_ABORTED || !item->op) {
        PQclear(result);
        return;
    }
    /* The op's query comes next, and the server will skip it. */
    pipe_forget(conn, item->op);
    op_end(item->op, rc, result);
}

static void
end_query(struct db_conn *conn, const struct item *item, PGresult *result, int rc, bool single)
{
    if (item->stmt_seq != 0)
        stmt_end_run(&conn->stmts, item->key, item->stmt_seq);
    /* The plan no longer fits the tables, or the statement is gone: prepare it again next time. */
    if (rc == DB_SCHEMA && item->stmt_seq != 0)
        stmt_drop(&conn->stmts, item->key, item->stmt_seq, !is_sqlstate(result, "26000"));
    /* The server keeps a plan until its tables are analyzed. A plan from when the tables were small
     * may now read all of them. The results of a group arrive together, so each of its statements
     * may be the slow one. */
    else if (conn->group_was_slow && item->stmt_seq != 0)
        stmt_drop_older(&conn->stmts, item->key, item->stmt_seq, server_now_ms() - REPLAN_AGE_MS);
    if (rc != 0 && rc != OP_ABORTED)
        conn->server->stats.errors++;
    if (!item->op) {
        PQclear(result);
        return;
    }
    if (rc == 0 && !single)
        rc = result_count_rows(item->op, result);
    if (rc == DB_TOO_LARGE || rc == DB_BUSY) {
        PQclear(result);
        result = NULL;
    }
    op_end(item->op, rc, result);
}

static void end_head(struct db_conn *conn, PGresult *result)
{
    bool single = conn->head_single;
    int rc = result_rc(result);

    result = result_complete(conn, result);
    struct item item = *pipe_at(conn, 0);
    conn->group_was_slow |= server_now_ms() - conn->head_since_ms > REPLAN_MS;
    ring_pop(conn, server_now_ms());
    switch (item.kind) {
    case ITEM_PREPARE:
        end_prepare(conn, &item, result, rc);
        return;
    case ITEM_QUERY:
        end_query(conn, &item, result, rc, single);
        return;
    case ITEM_PLAIN:
        PQclear(result);
        return;
    case ITEM_SYNC:
        break;
    }
    PANIC("a command's end in place of a Sync");
}

/* Handles the answer of a Sync. An error of the Sync itself (a deferred constraint) arrived before
 * it, as head_result. */
static void end_sync(struct db_conn *conn)
{
    struct item item = *pipe_at(conn, 0);
    PGresult *failure = conn->head_result;

    MUST(item.kind == ITEM_SYNC);
    conn->head_result = NULL;
    conn->group_was_slow = false;
    ring_pop(conn, server_now_ms());
    conn->groups--;
    if (item.wait)
        wait_end(item.wait, failure ? result_rc(failure) : 0, failure);
    else
        PQclear(failure);
}

/* Takes one result. Returns false when no more can be taken now. */
static bool receive_one(struct db_conn *conn)
{
    PGresult *result = PQgetResult(conn->pg);

    if (!result) {
        if (!conn->head_result || pipe_at(conn, 0)->kind == ITEM_SYNC)
            return conn->head_result != NULL;
        result = conn->head_result;
        conn->head_result = NULL;
        end_head(conn, result);
        return true;
    }
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        end_sync(conn);
        return true;
    }
    if (PQresultStatus(result) == PGRES_SINGLE_TUPLE && conn->ring_count > 0) {
        pipe_take_row(conn, result);
        return true;
    }
    /* libpq itself reports a lost connection, without a SQLSTATE. */
    bool is_broken = PQresultStatus(result) == PGRES_FATAL_ERROR &&
                     !PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (is_broken || conn->ring_count == 0) {
        PQclear(result);
        conn_close(conn, PQerrorMessage(conn->pg));
        return false;
    }
    PQclear(conn->head_result);
    conn->head_result = result;
    return true;
}

void pipe_receive(struct db_conn *conn)
{
    while (conn->state == CONN_READY && conn->ring_count > 0) {
        row_mode_choose(conn);
        if (PQisBusy(conn->pg) || !receive_one(conn))
            return;
    }
}

/* --- leaving --- */

void pipe_forget(struct db_conn *conn, const struct db_op *op)
{
    for (unsigned i = 0; i < conn->ring_count; i++)
        if (pipe_at(conn, i)->op == op)
            pipe_at(conn, i)->op = NULL;
}

void pipe_forget_wait(struct db_conn *conn, const struct db_wait *wait)
{
    for (unsigned i = 0; i < conn->ring_count; i++)
        if (pipe_at(conn, i)->wait == wait)
            pipe_at(conn, i)->wait = NULL;
}

void pipe_fail(struct db_conn *conn)
{
    /* DB_UNAVAILABLE, not OP_LOST: no read is repeated on a server that is being freed. */
    bool read = conn->pool == POOL_READ || conn->lease_is_read;
    bool last = read && conn->server && conn->server->freeing;
    int lost = last ? DB_UNAVAILABLE : OP_LOST;

    while (conn->ring_count > 0) {
        struct item item = *pipe_at(conn, 0);
        ring_pop(conn, conn->charged_ms); /* charge no more time: there may be no server */
        if (item.op && item.kind == ITEM_QUERY)
            op_end(item.op, lost, NULL);
        if (item.wait)
            wait_end(item.wait, OP_LOST, NULL);
    }
    conn->groups = 0;
    conn->group_open = 0;
    conn->group_cold = 0;
    conn->group_was_slow = false;
}
