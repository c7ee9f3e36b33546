/*
 * Transactions: each leases a connection, sends BEGIN with the first statement and waits for COMMIT
 * even when the task is cancelled. When the arena ends first, ROLLBACK is sent.
 */
#include "db/tx_private.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/rand.h"
#include "db/lease_private.h"
#include "db/pipe_private.h"
#include "db/query_private.h"
#include "loop/task.h"

/* Statements in one group. Sending a thousand takes ten milliseconds. */
#define OPS_AT_ONCE 100

struct db_tx {
    struct db db; /* the handle that the caller has */
    bool begun;
    bool ended;
    bool is_autocommit; /* no BEGIN: each statement is a transaction of its own */
};

/* These statements are prepared: parsing them each time costs as much as a small statement. */
static const struct sql sql_begin = {
    .name = "db.begin", .text = "begin", .hash = 0xbe9149a86f1c3d57, .kind = SQL_EXEC};
static const struct sql sql_commit = {
    .name = "db.commit", .text = "commit", .hash = 0xc03317b2d9e4a685, .kind = SQL_EXEC};
const struct sql sql_set_timeout = {.name = "db.set_timeout",
                                    .text =
                                        "select set_config('statement_timeout', $1::text, true)",
                                    .hash = 0x83f1d20c6b9e5a47,
                                    .arity = 1,
                                    .kind = SQL_ONE};
static const struct sql sql_set_session = {
    .name = "db.set_session",
    .text = "select set_config('statement_timeout', $1::text, false),"
            " set_config('lock_timeout', $1::text, false)",
    .hash = 0x5c1e83f7a2d94b06,
    .arity = 1,
    .kind = SQL_ONE};
static const struct sql sql_failed_tx = {.name = "db.broken", .text = "", .kind = SQL_EXEC};

static struct db_tx *tx_of(struct db *db)
{
    return CONTAINER_OF(db, struct db_tx, db);
}

/* Does not wait. ROLLBACK is queued after everything in flight, and the connection returns to the
 * pool when all of that is answered. */
static void tx_end(void *ptr)
{
    struct db_tx *tx = ptr;
    struct db_conn *conn = tx->db.lease;

    if (tx->ended)
        return;
    tx->ended = true;
    tx->db.failed = true;
    if (tx->begun && conn->state == CONN_READY) {
        pipe_plain(conn, "rollback");
        pipe_sync(conn, NULL);
    }
    lease_release(conn);
}

int db_begin(struct task *task, struct db *db, struct db **ret_tx)
{
    struct db_conn *conn;
    int64_t started_us = clock_mono_us();

    if (task->cancelled)
        return -ECANCELED;
    int rc = lease_take(task, db->server, db->schema, LEASE_WRITE, &conn);
    query_account(task, db->server, &sql_begin, started_us);
    if (rc != 0)
        return rc;
    struct db_tx *tx = ARENA_NEW(task->arena, tx);
    tx->db = (struct db){.server = db->server, .schema = db->schema, .lease = conn};
    arena_defer(task->arena, tx_end, tx);
    *ret_tx = &tx->db;
    return 0;
}

int db_begin_ddl(struct task *task, struct db *db, struct db **ret_tx)
{
    struct db ddl = {.server = server_ddl(db->server), .schema = db->schema};

    return db_begin(task, &ddl, ret_tx);
}

/* A server that works on many statements or a long one sends nothing until they end: the connection
 * must not be treated as dead before the server itself gives up. */
int db_set_timeout(struct task *task, struct db *tx, int64_t ms)
{
    MUST(tx->lease != NULL);
    tx->lease->limit_ms = ms + 1000;
    struct str text = arena_printf(task->arena, "%lld", (long long)ms);
    return db_query(task, tx, &sql_set_timeout, PARAMS(P_STR(text)), NULL);
}

void db_discard_conn(struct db *tx)
{
    MUST(tx->lease != NULL);
    tx->lease->retired = true;
}

/* Runs the first group of a transaction, with BEGIN before it. */
AWAITS static int tx_run_first_group(struct task *task,
                                     struct db *db,
                                     struct db_op *ops,
                                     size_t count,
                                     bool interruptible,
                                     size_t *ret_failed)
{
    struct db_op *all = ARENA_ARRAY(task->arena, all, count + 1);

    op_init(&all[0], task, db, &sql_begin, NULL, 0);
    memcpy(all + 1, ops, count * sizeof(*ops));
    for (size_t i = 1; i <= count; i++)
        list_init(&all[i].link);
    tx_of(db)->begun = true;
    int rc = lease_run(task, db->lease, all, count + 1, interruptible, ret_failed);
    memcpy(ops, all + 1, count * sizeof(*ops));
    PQclear(all[0].result);
    if (*ret_failed > 0)
        --*ret_failed;
    return rc;
}

static bool tx_is_over(struct db *db)
{
    return db->failed || tx_of(db)->ended;
}

static int tx_report_over(struct task *task, struct db_op *ops)
{
    ops[0].sql = &sql_failed_tx;
    return op_report(task, &ops[0], DB_FAILED, DB_FAILED);
}

AWAITS static int
tx_run_group(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
{
    int rc;

    if (tx_of(db)->begun || tx_of(db)->is_autocommit)
        rc = lease_run(task, db->lease, ops, count, true, ret_failed);
    else
        rc = tx_run_first_group(task, db, ops, count, true, ret_failed);
    if (rc == 0)
        return 0;
    /* Roll back now: the connection is needed elsewhere. Nothing can have happened without
     * COMMIT. */
    tx_end(tx_of(db));
    return rc < 0 ? rc : op_report(task, &ops[*ret_failed], rc, DB_UNAVAILABLE);
}

int tx_run(struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
{
    int rc = 0;

    *ret_failed = 0;
    if (tx_is_over(db))
        return tx_report_over(task, ops);
    for (size_t done = 0; rc == 0 && done < count; done += OPS_AT_ONCE) {
        size_t part = count - done < OPS_AT_ONCE ? count - done : OPS_AT_ONCE;
        size_t failed = 0;
        rc = tx_run_group(task, db, ops + done, part, &failed);
        *ret_failed = rc != 0 ? done + failed : 0;
    }
    return rc;
}

static bool is_committed(const struct db_op *commit)
{
    /* PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK. */
    return strcmp(PQcmdStatus(commit->result), "COMMIT") == 0;
}

int tx_run_commit(
    struct task *task, struct db *db, struct db_op *ops, size_t count, size_t *ret_failed)
{
    struct db_tx *tx = tx_of(db);
    struct db_op *commit = &ops[count];
    size_t before = count > OPS_AT_ONCE ? count - OPS_AT_ONCE : 0;
    int rc;

    *ret_failed = 0;
    if (tx_is_over(db))
        return tx_report_over(task, ops);
    if (before > 0)
        TRY(tx_run(task, db, ops, before, ret_failed));
    ops += before;
    count -= before;
    for (size_t i = 0; i < count; i++)
        ops[i].bounded = false; /* after COMMIT a refusal would undo nothing */
    op_init(commit, task, db, &sql_commit, NULL, 0);
    if (tx->begun)
        rc = lease_run(task, db->lease, ops, count + 1, false, ret_failed);
    else
        rc = tx_run_first_group(task, db, ops, count + 1, false, ret_failed);
    if (rc == 0 && !is_committed(commit))
        rc = DB_FAILED;
    if (rc != 0) { /* roll back what has begun */
        tx_end(tx);
        rc = op_report(task, &ops[*ret_failed], rc, DB_UNKNOWN);
    } else {
        tx->ended = true;
        db->failed = true;
        lease_release(db->lease);
    }
    if (rc == 0 || rc == DB_UNKNOWN)
        task_mark_lasting(task);
    ops_clear(commit, 1);
    *ret_failed += before;
    return rc;
}

int db_commit(struct task *task, struct db *tx)
{
    struct db_tx *own = tx_of(tx);
    struct db_op op;
    size_t failed;

    if (task->cancelled || tx->failed || own->ended || !own->begun) {
        bool nothing = !own->begun && !tx->failed && !own->ended && !task->cancelled;
        tx_end(own);
        if (nothing)
            return 0;
        return task->cancelled ? -ECANCELED : ERROR(DB_FAILED);
    }
    int64_t started_us = clock_mono_us();
    op_init(&op, task, tx, &sql_commit, NULL, 0);
    int rc = lease_run(task, tx->lease, &op, 1, false, &failed);
    query_account(task, tx->server, &sql_commit, started_us);
    if (rc == 0 && !is_committed(&op))
        rc = DB_FAILED;
    own->ended = true;
    tx->failed = true;
    lease_release(tx->lease);
    rc = op_report(task, &op, rc, DB_UNKNOWN);
    if (rc == 0 || rc == DB_UNKNOWN)
        task_mark_lasting(task);
    ops_clear(&op, 1);
    return rc;
}

bool db_should_retry(struct task *task, struct db_retry_state *tries, int rc)
{
    if (rc != DB_CONFLICT || tries->repeats >= DB_REPEATS)
        return false;
    int64_t longest_ms = 10LL << tries->repeats++;
    return task_sleep(task, 1 + (int64_t)(rand_u64() % (uint64_t)longest_ms)) == 0;
}

void db_rollback(struct db *tx)
{
    tx_end(tx_of(tx));
}

int db_transact(struct task *task, struct db *db, db_work *work, void *arg)
{
    struct db_retry_state tries = {0};
    struct db *tx;
    int rc;

    do {
        TRY(db_begin(task, db, &tx));
        rc = work(task, tx, arg);
        if (rc == 0 && !tx_of(tx)->ended)
            rc = db_commit(task, tx);
        tx_end(tx_of(tx));
    } while (db_should_retry(task, &tries, rc));
    return rc;
}

int db_transact_ddl(struct task *task, struct db *db, db_work *work, void *arg)
{
    struct db ddl = {.server = server_ddl(db->server), .schema = db->schema};

    return db_transact(task, &ddl, work, arg);
}

/* The lease counts for no project: a statement that takes hours delays no other statement of its
 * project. */
int db_session_ddl(struct task *task, struct db *db, int64_t ms, db_work *work, void *arg)
{
    struct db control = {.server = server_ddl(db->server)};
    struct db *session;

    TRY(db_begin(task, &control, &session));
    tx_of(session)->is_autocommit = true;
    session->schema = db->schema;
    session->lease->retired = true;
    session->lease->limit_ms = ms + 1000;
    struct str text = arena_printf(task->arena, "%lld", (long long)ms);
    int rc = db_query(task, session, &sql_set_session, PARAMS(P_STR(text)), NULL);
    if (rc == 0)
        rc = work(task, session, arg);
    tx_end(tx_of(session));
    return rc;
}
