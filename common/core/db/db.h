#pragma once
/*
 * PostgreSQL on the loop (libpq, non-blocking, pipeline mode).
 *
 * Servers: one struct db_server per DSN. Each has two pools:
 *  - read: few connections shared by everyone. Statements sent within one loop turn on a connection
 *    go out together under one Sync (one flush); a failing one makes the rest of its group run
 *    again. A statement that blocks (locked table, slow plan) must not hold up others: when the
 *    head of a connection has run for 20 ms the reads queued behind it are sent again on another
 *    connection (reads are safe to repeat; late results are dropped), and its statement is treated
 *    as heavy for a while.
 *  - write: many connections, each leased by one statement, batch or transaction at a time, because
 *    every commit waits for the disk. A project holds at most three times what is left. Heavy reads
 *    lease here too, at most half of them, and of one project an eighth: others of it wait their
 *    turn. A project that keeps the server busy while others have statements too runs few at once,
 *    its reads among them, which then lease: one heavy read, say, and one other (fair.h). No
 *    statement has parallel workers: with them one project's would have all cores whatever it may
 *    run at once. A lease prefers a connection that has served its schema before, and waits up to
 *    20 ms for one that others keep busy: elsewhere statements and tables would have to be learned
 *    first.
 * Statements are prepared once per connection under "<name>.<hash>.<schema>" (least recently used
 * dropped beyond 2,048).
 *
 * A struct db is what statements run on: a project's schema on its server (autocommit), or a
 * transaction. Results are rows in the task's arena.
 *
 * Results of every call: 0, -ECANCELED, -ETIMEDOUT, or a DB_* of base/result.def. DB_CONFLICT comes
 * after db_again() gave up (in transactions at once: the caller repeats), DB_SCHEMA after one
 * repetition, DB_TOO_LARGE (answer.h) only of reads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "db/rows.h"
#include "db/sql.h"
#include "loop/task.h"

struct db_server;
struct db_conn;

struct db {
    struct db_server *server; /* borrowed */
    int64_t schema;           /* number of the project; 0 = the control schema, no {p} */
    struct db_conn *lease;    /* a transaction's connection, NULL = autocommit */
    bool broken;              /* transaction: a statement failed, only rollback is left */
};

/* Details of the last positive result of this task; valid until its next call. */
struct db_error {
    char sqlstate[6];
    struct str constraint; /* from the message: the first u_<id>, fk_<id> or ck_<id> token */
    struct str message;    /* server text: for logs only, never for clients */
};
const struct db_error *db_error(const struct task *task);

/* co: runs one statement and waits for it. ret_rows may be NULL. For SQL_ONE no row is DB_FAILED.
 */
AWAITS int db_query(struct task *task,
                    struct db *db,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t param_count,
                    struct rows *ret_rows) MUSTCHECK;

/* A statement as it is called; what several of them are called with. */
struct db_call {
    const struct sql *sql;
    const struct db_param
        *params; /* SQL_NAME(...) expands to these three, PARAMS(...) to the last two */
    size_t param_count;
    struct rows rows; /* result */
};

/* any: one for db_batch(): db_call(SQL_GROUP_GET(.id = id)). Its parameters live as long as the
 * block it is made in; db_call_new() copies them into the arena. */
static inline struct db_call
db_call(const struct sql *sql, const struct db_param *params, size_t param_count)
{
    return (struct db_call){.sql = sql, .params = params, .param_count = param_count};
}
struct db_call db_call_new(struct arena *arena,
                           const struct sql *sql,
                           const struct db_param *params,
                           size_t param_count);
/* any: a statement that is not known here with those of the values that it names; panics when it
 * names another. */
struct db_named {
    const char *name;
    struct db_param value;
};
struct db_call db_call_named(struct arena *arena,
                             const struct sql *sql,
                             const struct db_named *values,
                             size_t count);

/* co: several statements in one round trip and, in autocommit, one transaction: all or nothing.
 * Each call's rows are filled; the first failure is returned and its index left in *ret_failed (may
 * be NULL). Inside a transaction they are pipelined on its connection. */
AWAITS int
db_batch(struct task *task, struct db *db, struct db_call *calls, size_t count, size_t *ret_failed)
    MUSTCHECK;
/* The statements of a transaction, in `tx`. After 0 the transaction is committed, unless the work
 * has ended it (db_batch_commit(), db_rollback()); after anything else it is rolled back. */
typedef AWAITS int db_work(struct task *task, struct db *tx, void *arg);
/* co: runs `work` in a transaction of its own, which has ended when this returns, on every path. A
 * transaction that met another one head-on is run again from its beginning (db_again()): `work`
 * sets all of its results in each run. Results of db_begin(), of `work` and of db_commit(). */
AWAITS int db_transact(struct task *task, struct db *db, db_work *work, void *arg) MUSTCHECK;
/* co: the same on a connection of db_begin_ddl(). */
AWAITS int db_transact_ddl(struct task *task, struct db *db, db_work *work, void *arg) MUSTCHECK;
/* co: the same on a connection of db_begin_ddl() without a transaction, for what PostgreSQL does
 * outside of them only, such as CREATE INDEX CONCURRENTLY: each db_query() of `work` is committed
 * by itself and may take `ms`, and wait as long for locks. The connection is closed behind it: what
 * the session holds, advisory locks, goes then. The server ends a statement that it has begun, also
 * when this process dies or the task is cancelled. */
AWAITS int db_session_ddl(struct task *task, struct db *db, int64_t ms, db_work *work, void *arg)
    MUSTCHECK;
/* co: for a transaction that outlives the function that begins it; others use db_transact(). Leases
 * a write connection and opens a transaction (READ COMMITTED); *ret_tx is arena-owned. It ends with
 * db_commit(), db_batch_commit() or db_rollback(), with a statement that fails, at the latest when
 * the arena dies. BEGIN travels with the first statement. */
AWAITS int db_begin(struct task *task, struct db *db, struct db **ret_tx) MUSTCHECK;
/* co: the same for one that changes schemas: on a few connections of its own, opened with the
 * first, when the server has a ddl_dsn. */
AWAITS int db_begin_ddl(struct task *task, struct db *db, struct db **ret_tx) MUSTCHECK;
/* co: this transaction's statements, and its pauses, may take `ms` from now on instead of
 * statement_timeout_ms. */
AWAITS int db_set_timeout(struct task *task, struct db *tx, int64_t ms) MUSTCHECK;
/* Its connection is closed when the transaction is over. For one that makes or drops hundreds of
 * tables: the server's process keeps what it knows of each, and for each of them it looks through
 * every statement that is prepared there. */
void db_retire(struct db *tx);
AWAITS int db_commit(struct task *task, struct db *tx) MUSTCHECK;
/* co: db_batch() and db_commit() in one round trip. When a call fails nothing has happened; with
 * DB_UNKNOWN everything may have. The transaction is over either way. */
AWAITS int db_batch_commit(struct task *task,
                           struct db *tx,
                           struct db_call *calls,
                           size_t count,
                           size_t *ret_failed) MUSTCHECK;
/* Ends a transaction without its work; nothing when it is over. Does not wait. */
void db_rollback(struct db *tx);

/*
 * Repeats. Transactions that met head-on (a deadlock, a serialisation failure) have done nothing
 * and are run again from their beginning: by db_query() and db_batch() themselves outside of
 * transactions, by the gateway for whole handlers (stages/handler.c), by write_transaction() for
 * records, and by db_transact() for other transactions. All of them ask db_again() whether and
 * when.
 *
 * Order of locks. Deadlocks are repeated, and cost a second each; so transactions take what they
 * lock in this order and skip what they do not need:
 *   1. the resource of the request's path: a row of resource_locks (the gateway's
 *      stages/conditional.c)
 *   2. meta: the version row of the model
 *   3. tables of entities: ACCESS EXCLUSIVE and the like, one command for all tables that a change
 *      needs
 *   4. records: rows of e_<id>, several by ascending id or by the key of their upsert; then their
 *      links
 *   5. administrators' roles, then users, roles, groups, keys: several of a kind by ascending id
 *   6. what hangs on records and on people: record_grants, record_locks, members, sessions
 *   7. rows of payments, settings, workflows and jobs, each area in its own order, by ascending id;
 *      of a job its lease (job_leases) before its row: who deletes the lease may end the job
 *   8. the limit of a kind of resources (the gateway's limit.h); after it only rows of that kind
 *      that the transaction has made, or that nobody locks before the limit
 *   9. inserts that wait for nobody: outbox, audit_log
 * A stronger lock is taken at once, never by raising a weaker one.
 */
struct db_tries {
    unsigned repeats; /* zeroed by its owner */
};
enum { DB_REPEATS = 6 };
/* co: true when `rc` is DB_CONFLICT and the transaction is to be run once more: at most DB_REPEATS
 * times, after a pause that grows and is drawn by lot, so that those that met do not meet again. */
AWAITS bool db_again(struct task *task, struct db_tries *tries, int rc) MUSTCHECK;

/* co: a piece of a large result: one heavy read (sql->heavy or not) that may take `timeout_ms`. The
 * rows that fit `bytes`, one at least, are given to fn, called in the same coroutine; rows->cut
 * says that there were more. No connection is held meanwhile, so fn may await for as long as it
 * pleases; the rows are gone when it returns, and its result is returned. Not inside a transaction.
 */
struct db_piece {
    size_t bytes;
    int64_t timeout_ms;
    int (*fn)(const struct rows *rows, void *arg); /* AWAITS */
    void *arg;
};
AWAITS int db_piece(struct task *task,
                    struct db *db,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t param_count,
                    const struct db_piece *piece) MUSTCHECK;

/* --- servers --- */
struct db_config {
    const char *dsn;              /* libpq keyword/value or URI */
    const char *ddl_dsn;          /* the same for db_begin_ddl(); NULL: no other */
    unsigned read_connections;    /* 4 */
    unsigned write_connections;   /* 32 */
    int64_t statement_timeout_ms; /* 5000 */
    int64_t lease_timeout_ms;     /* 1000: waiting longer for a connection is DB_UNAVAILABLE */
    unsigned busy_share; /* statements at once of a project that keeps the server busy beside
                            others; half the cores */
    unsigned processes;  /* with such servers in one daemon: what a project may keep busy there is
                            divided among them; 1 */
    bool dedicated;      /* reads only, of one kind: nothing is heavy, nothing is leased */
};
/* any: starts connecting in the background (reconnects by itself with backoff 50 ms..1 s); opens
 * connections on demand up to the limits. Returns owned. Names are resolved off the loop. */
struct db_server *db_server_new(const char *name, const struct db_config *config);
/* any: closes and frees. */
void db_server_free(struct db_server *server);
/* co: waits until a connection is up; DB_UNAVAILABLE after limit_ms with *ret_reason arena-owned.
 */
AWAITS int db_server_wait(struct task *task,
                          struct db_server *server,
                          int64_t limit_ms,
                          struct str *ret_reason) MUSTCHECK;
bool db_server_up(const struct db_server *server);
/* any: whether schemas are changed by other connections, as another role perhaps. */
bool db_server_has_ddl(const struct db_server *server);

struct db_stats {
    uint64_t statements, groups, retries, redispatched, errors, reconnects, prepared;
    unsigned read_open, write_open, write_leased, waiting, in_flight;
};
void db_server_stats(const struct db_server *server, struct db_stats *ret_stats);
