/*
 * db_query() and db_batch(): on which connection a statement runs, when it is repeated, and the
 * details of errors.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "db/answer_private.h"
#include "db/group_private.h"
#include "db/lease_private.h"
#include "db/params_private.h"
#include "db/pipe_private.h"
#include "db/query_private.h"
#include "db/server_private.h"
#include "db/sqlstate_private.h"
#include "db/stmt_private.h"
#include "db/tx_private.h"
#include "log/log.h"

enum {
    SLOW_US = 1000000,
    WRITES = -1,                  /* in place of the timeout_ms of a read */
    HEAVY_PERMIT_WAIT_MS = 10000, /* longest wait for the permit of a read with a timeout_ms */
    BUSY_REPEATS = 2,
    ABORTS_TOGETHER = 2
};

/* --- details of errors --- */

/* The last error of a task, in the arena that the task had at that time. It ends with that arena,
 * which may outlive the task. */
struct task_error {
    struct db_error error;
    const struct task *task;
    struct list link;
};

static struct list kept_errors = {&kept_errors, &kept_errors};

static struct task_error *error_find(const struct task *task)
{
    LIST_FOR (it, &kept_errors) {
        struct task_error *stored = LIST_ITEM(it, struct task_error, link);
        if (stored->task == task)
            return stored;
    }
    return NULL;
}

const struct db_error *db_error(const struct task *task)
{
    static const struct db_error none = {.sqlstate = ""};
    const struct task_error *stored = error_find(task);

    return stored != NULL ? &stored->error : &none;
}

static void error_forget(void *ptr)
{
    struct task_error *stored = ptr;

    list_remove(&stored->link);
}

static void
error_record(struct task *task, const char *sqlstate, const char *message, const char *constraint)
{
    struct task_error *stored = ARENA_NEW(task->arena, stored);
    struct task_error *last = error_find(task);
    struct db_error *error = &stored->error;

    if (last != NULL)
        list_remove(&last->link);
    snprintf(error->sqlstate, sizeof(error->sqlstate), "%s", sqlstate ? sqlstate : "");
    error->message = arena_dup(task->arena, str_from(message ? message : ""));
    struct str token = sqlstate_constraint(message);
    error->constraint = arena_dup(task->arena, token.ptr ? token : str_from(constraint));
    stored->task = task;
    list_append(&kept_errors, &stored->link);
    arena_defer(task->arena, error_forget, stored);
}

int op_report(struct task *task, const struct db_op *op, int rc, int lost_means)
{
    if (rc <= 0)
        return rc;
    const char *state = op->result ? PQresultErrorField(op->result, PG_DIAG_SQLSTATE) : NULL;
    const char *message =
        op->result ? PQresultErrorField(op->result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *constraint =
        op->result ? PQresultErrorField(op->result, PG_DIAG_CONSTRAINT_NAME) : NULL;
    error_record(task, state, message, constraint);
    if (rc == OP_LOST)
        return lost_means;
    if (rc == OP_ABORTED || rc == OP_HEAVY || rc == OP_UNSENT)
        return DB_UNAVAILABLE;
    if (rc != DB_FAILED)
        return rc;
    /* Do not log the server's message: it may quote a value. */
    log_error("db.failed",
              L_CSTR("statement", op->sql->name),
              L_CSTR("sqlstate", state ? state : ""),
              L_CSTR("constraint", constraint ? constraint : ""));
    return ERROR(rc);
}

/* --- ops --- */

/* The schema of a statement; 0 when its text names none, so that the statement is prepared once per
 * connection and not once for each project. */
static int64_t schema_of(const struct db *db, const struct sql *sql)
{
    return strstr(sql->text, "{p}") != NULL ? db->schema : 0;
}

void op_init(struct db_op *op,
             struct task *task,
             const struct db *db,
             const struct sql *sql,
             const struct db_param *params,
             size_t count)
{
    int64_t schema = schema_of(db, sql);
    uint64_t key = stmt_key(sql, schema);

    if (sql->no_prepare && sql->hash == 0)
        key = str_hash(str_from(sql->text));
    *op = (struct db_op){
        .sql = sql, .params = params, .param_count = count, .schema = schema, .key = key};
    op->task = task;
    op->bounded = true;
    list_init(&op->link);
    op->queued_ms = server_now_ms();
}

void ops_clear(struct db_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        op_uncount(&ops[i]);
        PQclear(ops[i].result);
        ops[i].result = NULL;
    }
}

/* Makes an op ready to be sent again. */
static void op_reset(struct db_op *op)
{
    op_uncount(op);
    PQclear(op->result);
    op->result = NULL;
    op->rc = 0;
}

static void clear_result(void *result)
{
    PQclear(result);
}

void op_rows(struct task *task, struct db_op *op, struct rows *ret_rows)
{
    PGresult *result = op->result;

    op->result = NULL;
    if (!ret_rows) {
        op_uncount(op);
        PQclear(result);
        return;
    }
    *ret_rows = (struct rows){.result = result, .affected = op->affected, .shape = op->sql->row};
    if (!result)
        return;
    ret_rows->count = (size_t)PQntuples(result);
    ret_rows->columns = (size_t)PQnfields(result);
    answer_defer_free(task, result, op->bytes, clear_result);
    op->bytes = 0; /* counted until the arena ends */
}

void query_account(struct task *task,
                   struct db_server *server,
                   const struct sql *sql,
                   int64_t started_us)
{
    int64_t spent_us = clock_mono_us() - started_us;

    (void)server;
    task->db_us += spent_us;
    if (spent_us >= SLOW_US)
        log_warn("db.slow", L_CSTR("statement", sql->name), L_I64("ms", spent_us / 1000));
}

/* --- reads on shared connections --- */

struct group_wait {
    struct db_wait wait;
    struct db_server *server;
};

static void group_abandon(struct await *await)
{
    struct db_wait *wait = CONTAINER_OF(await, struct db_wait, await);
    struct db_server *server = CONTAINER_OF(wait, struct group_wait, wait)->server;

    for (size_t i = 0; i < wait->count; i++) {
        struct db_op *op = &wait->ops[i];
        if (op->conn)
            pipe_forget(op->conn, op);
        else if (!list_empty(&op->link))
            group_remove(server, op);
        op->conn = NULL;
    }
}

/* co: sends reads with the reads of other tasks. 0 when all have ended, each with its own rc. */
AWAITS static int
group_run(struct task *task, struct db_server *server, struct db_op *ops, size_t count)
{
    struct group_wait group = {.server = server};

    group.wait.ops = ops;
    group.wait.count = count;
    group.wait.pending = count;
    await_init(&group.wait.await);
    group.wait.await.abandon = group_abandon;
    for (size_t i = 0; i < count; i++) {
        ops[i].wait = &group.wait;
        group_add(server, &ops[i]);
    }
    int rc = await_wait(task, &group.wait.await, 0);
    if (rc < 0)
        ops_clear(ops, count);
    return rc;
}

/* --- repeating --- */

struct repeats {
    struct db_retry_state tries;
    unsigned aborts;
    unsigned busy;
    bool lost;
    bool replanned;
};

/* A server that is going down sends a SQLSTATE; a wait in the queue or for a lease that took too
 * long has none. */
static bool is_going_down(const struct db_op *op)
{
    const char *state = op->result ? PQresultErrorField(op->result, PG_DIAG_SQLSTATE) : NULL;
    return state && strncmp(state, "57P", 3) == 0;
}

static bool is_stale_plan(const struct db_op *op)
{
    const char *state = op->result ? PQresultErrorField(op->result, PG_DIAG_SQLSTATE) : NULL;
    return state && (strcmp(state, "0A000") == 0 || strcmp(state, "26000") == 0);
}

/* co: true when the statement is to run again. Each cause has its own number of repeats. */
AWAITS static bool query_may_repeat(
    struct task *task, struct repeats *done, const struct db_op *op, int rc, bool writes)
{
    switch (rc) {
    case OP_UNSENT:
    case OP_HEAVY:
    case OP_ABORTED:
        return done->aborts++ < 8;
    case OP_LOST:
        return !writes && !done->lost && (done->lost = true);
    case DB_UNAVAILABLE:
        return !writes && is_going_down(op) && !done->lost && (done->lost = true);
    case DB_SCHEMA:
        return is_stale_plan(op) && !done->replanned && (done->replanned = true);
    case DB_BUSY:
        return !writes && op->refused_rc == DB_BUSY && done->busy++ < BUSY_REPEATS;
    default:
        return db_should_retry(task, &done->tries, rc);
    }
}

/* co: runs ops as one transaction on a leased connection. `timeout_ms`: WRITES, or the time that a
 * read may take, 0 = statement_timeout_ms. */
AWAITS static int leased_run(struct task *task,
                             struct db *db,
                             struct db_op *ops,
                             size_t count,
                             int64_t timeout_ms,
                             struct heavy_permit *permit,
                             size_t *ret_failed)
{
    const struct db_op *last = &ops[count - 1];
    bool writes = timeout_ms == WRITES;
    bool slow = !writes && (last->sql->heavy || group_is_heavy(db->server, last->key));
    enum lease_use use = slow ? LEASE_HEAVY : LEASE_READ;
    struct db_conn *conn;

    *ret_failed = 0;
    int rc = lease_take(task, db->server, db->schema, writes ? LEASE_WRITE : use, &conn);
    if (rc != 0)
        return rc;
    int64_t started_ms = clock_mono_ms();
    if (timeout_ms > 0)
        conn->limit_ms = timeout_ms + 1000;
    conn->permit = permit;
    rc = lease_run(task, conn, ops, count, !writes, ret_failed);
    conn->permit = NULL;
    lease_release(conn);
    if (rc == 0 && !writes)
        group_record_run(db->server, &ops[count - 1], clock_mono_ms() - started_ms);
    return rc;
}

/* co: runs a heavy read, the last of `ops`. server->gate bounds how many heavy reads a project runs
 * at a time, and projects take turns. */
AWAITS static int
heavy_run(struct task *task, struct db *db, struct db_op *ops, size_t count, int64_t timeout_ms)
{
    struct db_server *server = db->server;
    struct share_owner owner = {.project = db->schema};
    int64_t limit_ms = timeout_ms > 0 ? HEAVY_PERMIT_WAIT_MS : server->config.lease_timeout_ms;
    struct heavy_gate *gate = server->gate;
    struct heavy_permit permit = {.gate = gate};
    size_t failed;

    if (db->schema == 0)
        return leased_run(task, db, ops, count, timeout_ms, NULL, &failed);
    int64_t end_ms = clock_mono_ms() + limit_ms;
    int rc = shares_acquire(task, &gate->shares, owner, 1, limit_ms, &permit.share);
    if (rc == 0) {
        rc = gate->closed ? DB_UNAVAILABLE
                          : leased_run(task, db, ops, count, timeout_ms, &permit, &failed);
        if (permit.share == NULL)
            return rc; /* permit returned early: the gate may be freed by now */
        heavy_permit_release(&permit);
    } else if (rc == -EAGAIN || (rc == -ETIMEDOUT && clock_mono_ms() >= end_ms &&
                                 (task->deadline_ms == 0 || end_ms < task->deadline_ms))) {
        rc = DB_BUSY;
    }
    heavy_gate_free_if_idle(gate);
    return rc;
}

/* True when the project keeps the server busy. Its reads then lease: there they delay no other
 * project's reads, but take turns with the project's other statements. */
static bool query_keeps_busy(const struct db *db)
{
    return fair_is_over(&db->server->fair, db->schema, server_now_ms());
}

AWAITS static int
query_read_once(struct task *task, struct db *db, struct db_op *op, unsigned aborts)
{
    size_t failed;

    op->own_sync = aborts > ABORTS_TOGETHER;
    if (op->sql->heavy || group_needs_lease(db->server, op->schema, op->key))
        return heavy_run(task, db, op, 1, 0);
    if (query_keeps_busy(db))
        return leased_run(task, db, op, 1, 0, NULL, &failed);
    int rc = group_run(task, db->server, op, 1);
    return rc < 0 ? rc : op->rc;
}

/* co: runs one read with its repeats. `rc`: the result of an earlier run, or OP_UNSENT. */
AWAITS static int query_read_run(struct task *task, struct db *db, struct db_op *op, int rc)
{
    struct repeats repeats = {0};

    while (query_may_repeat(task, &repeats, op, rc, false)) {
        op_reset(op);
        if (rc == DB_BUSY)
            TRY(answer_wait(task, 3 * db->server->config.lease_timeout_ms));
        db->server->stats.retries += repeats.aborts > 1 || repeats.lost;
        rc = query_read_once(task, db, op, repeats.aborts);
        if (rc < 0)
            return rc;
    }
    return op_report(task, op, rc, DB_UNAVAILABLE);
}

int query_read_heavy(struct task *task, struct db *db, struct db_op *op, int64_t timeout_ms)
{
    struct str text = arena_printf(task->arena, "%lld", (long long)timeout_ms);
    const struct db_param timeout = P_STR(text);
    struct repeats repeats = {0};
    struct db_op ops[2] = {[1] = *op};
    int rc = OP_UNSENT;

    op_init(&ops[0], task, db, &sql_set_timeout, &timeout, 1);
    list_init(&ops[1].link);
    while (query_may_repeat(task, &repeats, &ops[1], rc, false)) {
        op_reset(&ops[0]);
        op_reset(&ops[1]);
        if (rc == DB_BUSY)
            TRY(answer_wait(task, 3 * db->server->config.lease_timeout_ms));
        rc = heavy_run(task, db, ops, ARRAY_LEN(ops), timeout_ms);
        if (rc < 0)
            return rc;
    }
    ops_clear(&ops[0], 1);
    *op = ops[1];
    list_init(&op->link);
    return op_report(task, op, rc, DB_UNAVAILABLE);
}

/* co: runs writes with their repeats, each time all of them in one transaction. */
AWAITS static int query_write_run(
    struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
{
    struct repeats repeats = {0};
    int rc = OP_UNSENT;

    *ret_failed = 0;
    while (query_may_repeat(task, &repeats, &ops[*ret_failed], rc, true)) {
        for (size_t i = 0; i < count; i++) {
            op_reset(&ops[i]);
            ops[i].bounded = false;
        }
        db->server->stats.retries += rc != OP_UNSENT;
        rc = leased_run(task, db, ops, count, WRITES, NULL, ret_failed);
        if (rc < 0)
            return rc;
    }
    rc = op_report(task, &ops[*ret_failed], rc, DB_UNKNOWN);
    if (rc == 0 || rc == DB_UNKNOWN)
        task_mark_lasting(task);
    return rc;
}

/* --- calls --- */

static int refuse_nul(struct task *task)
{
    error_record(task, "22021", "text with a NUL byte", NULL);
    return DB_CHECK;
}

int query_check(struct task *task,
                const struct sql *sql,
                const struct db_param *params,
                size_t count)
{
    if (count < sql->arity)
        PANIC("%s: %zu parameters for %u", sql->name, count, sql->arity);
    if (task->cancelled)
        return -ECANCELED;
    return params_valid(params, count) ? 0 : refuse_nul(task);
}

/* Gives the rows to the caller. A SQL_ONE statement without a row is a defect. */
static int query_finish(struct task *task, struct db_op *op, struct rows *ret_rows)
{
    bool missing = op->sql->kind == SQL_ONE && PQntuples(op->result) == 0;

    op_rows(task, op, ret_rows);
    if (!missing)
        return 0;
    error_record(task, "P0002", "no row", NULL);
    log_error("db.failed", L_CSTR("statement", op->sql->name), L_CSTR("sqlstate", "P0002"));
    return ERROR(DB_FAILED);
}

int db_query(struct task *task,
             struct db *db,
             const struct sql *sql,
             const struct db_param *params,
             size_t param_count,
             struct rows *ret_rows)
{
    struct db_op op;
    size_t failed;

    TRY(query_check(task, sql, params, param_count));
    int64_t started_us = clock_mono_us();
    op_init(&op, task, db, sql, params, param_count);
    task_pause_if_due(task); /* encoding and sending may each take long */
    int rc;
    if (db->lease)
        rc = tx_run(task, db, &op, 1, &failed);
    else if (group_is_write(db->server, sql))
        rc = query_write_run(task, db, &op, 1, &failed);
    else
        rc = query_read_run(task, db, &op, OP_UNSENT);
    query_account(task, db->server, sql, started_us);
    if (rc == 0)
        return query_finish(task, &op, ret_rows);
    ops_clear(&op, 1);
    return rc;
}

static bool has_heavy_op(const struct db_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].sql->heavy)
            return true;
    return false;
}

/* co: runs reads concurrently. A read that another one's failure aborted runs again alone. */
AWAITS static int
batch_reads(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
{
    int rc = 0;

    if (has_heavy_op(ops, count) ||
        /* Each read runs alone, so that a heavy one delays no other read on a shared connection. */
        query_keeps_busy(db))
        for (size_t i = 0; i < count; i++)
            ops[i].rc = OP_HEAVY;
    else
        rc = group_run(task, db->server, ops, count);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].rc == 0)
            continue;
        *ret_failed = i;
        TRY(query_read_run(task, db, &ops[i], ops[i].rc));
    }
    return 0;
}

static bool has_write_call(struct db_server *server, const struct db_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (group_is_write(server, calls[i].sql))
            return true;
    return false;
}

/* Runs a batch: in the open transaction, as writes in one transaction, or as reads. */
AWAITS static int run_calls(struct task *task,
                            struct db *db,
                            const struct db_call *calls,
                            struct db_op *ops,
                            size_t count,
                            size_t *ret_failed)
{
    if (db->lease)
        return tx_run(task, db, ops, count, ret_failed);
    if (has_write_call(db->server, calls, count))
        return query_write_run(task, db, ops, count, ret_failed);
    return batch_reads(task, db, ops, count, ret_failed);
}

AWAITS static int batch_run_checked(struct task *task,
                                    struct db *db,
                                    struct db_call *calls,
                                    size_t count,
                                    bool commits,
                                    size_t *ret_failed)
{
    struct db_op *ops;
    size_t failed = 0;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = query_check(task, calls[i].sql, calls[i].params, calls[i].param_count);
        failed = i;
    }
    if (rc == 0) {
        int64_t started_us = clock_mono_us();
        ops = ARENA_ARRAY(task->arena, ops, count + 1);
        for (size_t i = 0; i < count; i++)
            op_init(&ops[i], task, db, calls[i].sql, calls[i].params, calls[i].param_count);
        failed = 0;
        task_pause_if_due(task); /* encoding and sending them may each take long */
        rc = commits ? tx_run_commit(task, db, ops, count, &failed)
                     : run_calls(task, db, calls, ops, count, &failed);
        query_account(task, db->server, ops[failed].sql, started_us);
        for (size_t i = 0; i < count && rc == 0; i++) {
            rc = query_finish(task, &ops[i], &calls[i].rows);
            failed = i;
        }
        ops_clear(ops, count);
    }
    if (rc > 0 && ret_failed)
        *ret_failed = failed;
    return rc;
}

int db_batch(
    struct task *task, struct db *db, struct db_call *calls, size_t count, size_t *ret_failed)
{
    return count > 0 ? batch_run_checked(task, db, calls, count, false, ret_failed) : 0;
}

int db_batch_commit(
    struct task *task, struct db *tx, struct db_call *calls, size_t count, size_t *ret_failed)
{
    int rc = batch_run_checked(task, tx, calls, count, true, ret_failed);

    if (rc != 0) /* also when nothing was sent */
        db_rollback(tx);
    return rc;
}
