#pragma once
/*
 * PostgreSQL on the loop (libpq, non-blocking, pipeline mode).
 *
 * Each DSN has one struct db_server with two pools of connections:
 * - read: few connections, shared by all projects. Statements sent within one loop turn on a
 *   connection leave together under one Sync (one flush); when one of them fails, the rest of its
 *   group runs again. A statement that blocks (locked table, slow plan) must not delay others: when
 *   the head of a connection has run for 20 ms, the reads queued after it are sent again on another
 *   connection (reads are safe to repeat; late results are dropped), and the statement is treated
 *   as heavy for a while.
 * - write: many connections, because every commit waits for the disk. Each is leased by one
 *   statement, batch or transaction at a time. A project holds at most three times as many as are
 *   free. Heavy reads lease here too: all of them at most half of the pool, those of one project
 *   an eighth. Further heavy reads of the project wait their turn. A project that keeps the server
 *   busy while other projects have statements runs at most busy_share heavy reads and busy_share
 *   other statements at once, and its reads then lease as well (fair_private.h). No statement has
 *   parallel workers: with them one project's statement would use all cores, however few
 *   statements the project may run at once. A lease prefers a connection that has served its
 *   schema before, and waits up to 20 ms for such a connection that is busy for another project:
 *   any other connection would first have to prepare the statements and read the catalog entries
 *   of their tables.
 *
 * Statements are prepared once per connection under "<name>.<hash>.<schema>.<number>" (the least
 * recently used is dropped beyond 2,048).
 *
 * Statements run on a struct db: a project's schema on its server (autocommit), or a transaction.
 * Results are rows in the task's arena.
 *
 * Results of every call: 0, -ECANCELED, -ETIMEDOUT, or a DB_* of base/result.def. DB_CONFLICT is
 * returned after db_should_retry() gave up (in transactions at once: the caller repeats), DB_SCHEMA
 * after one repetition, and DB_TOO_LARGE (answer.h) for reads and for statements of a transaction
 * before its COMMIT.
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
    struct db_conn *lease;    /* connection of a transaction; NULL = autocommit */
    bool failed;              /* transaction: a statement failed, only rollback is left */
};

/* Details of an error of the database. */
struct db_error {
    char sqlstate[6];
    struct str constraint; /* from the message: the first u_<id>, fk_<id> or ck_<id> token */
    struct str message;    /* server text: for logs only, never for clients */
};
/* any: details of the task's last positive result, borrowed; valid until its next call. Never NULL:
 * all fields are empty when the task has had none. */
const struct db_error *db_error(const struct task *task);

/* co: runs one statement and waits for it. ret_rows may be NULL; the rows live as long as the
 * task's arena. DB_FAILED when a SQL_ONE statement has no row. */
AWAITS int db_query(struct task *task,
                    struct db *db,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t param_count,
                    struct rows *ret_rows) MUSTCHECK;

/* One statement of a batch, with its parameters and its result. */
struct db_call {
    /* SQL_<NAME>(...) expands to the first three members, PARAMS(...) to params and param_count. */
    const struct sql *sql;
    const struct db_param *params;
    size_t param_count;
    struct rows rows; /* result */
};

/* any: an element for db_batch(): db_call(SQL_GROUP_GET(.id = id)). The parameters live as long as
 * the block in which the call is written. */
static inline struct db_call
db_call(const struct sql *sql, const struct db_param *params, size_t param_count)
{
    return (struct db_call){.sql = sql, .params = params, .param_count = param_count};
}
/* any: db_call() with a copy of the parameters in the arena; the texts that they point to are not
 * copied. */
struct db_call db_call_new(struct arena *arena,
                           const struct sql *sql,
                           const struct db_param *params,
                           size_t param_count);
/* A value, and the parameter that it is for. */
struct db_named {
    const char *name;
    struct db_param value;
};
/* any: for a caller that does not know the statement: binds to each parameter the value of its
 * name. Panics when a parameter has no value. Arena-owned. */
struct db_call db_call_named(struct arena *arena,
                             const struct sql *sql,
                             const struct db_named *values,
                             size_t count);

/* co: runs several statements in one round trip. Outside of a transaction a batch with a write is
 * one transaction, all or nothing; a batch of reads runs them concurrently, each with a snapshot of
 * its own. Inside a transaction the statements are pipelined on its connection. Each call's rows
 * are filled. Returns the first failure, with its index in *ret_failed (may be NULL). */
AWAITS int
db_batch(struct task *task, struct db *db, struct db_call *calls, size_t count, size_t *ret_failed)
    MUSTCHECK;
/* The statements of a transaction, which run on `tx`. After 0 the transaction is committed, unless
 * the work has ended it (db_batch_commit(), db_rollback()); after any other result it is rolled
 * back. */
typedef AWAITS int db_work(struct task *task, struct db *tx, void *arg);
/* co: runs `work` in a transaction of its own, which has ended when this returns, on every path.
 * After a deadlock or a serialisation failure `work` runs again from its beginning
 * (db_should_retry()), so it sets all of its results in each run. Results of db_begin(), of `work`
 * and of db_commit(). */
AWAITS int db_transact(struct task *task, struct db *db, db_work *work, void *arg) MUSTCHECK;
/* co: db_transact() on a connection of db_begin_ddl(). */
AWAITS int db_transact_ddl(struct task *task, struct db *db, db_work *work, void *arg) MUSTCHECK;
/* co: runs `work` on a connection of db_begin_ddl() without a transaction, for commands that
 * PostgreSQL allows only outside of a transaction, such as CREATE INDEX CONCURRENTLY. Each
 * db_query() of `work` commits on its own, may take `ms`, and may wait as long for locks. The
 * connection is closed afterwards, which releases what the session holds, such as advisory locks.
 * The server finishes a statement that it has begun, also when this process dies or the task is
 * cancelled. */
AWAITS int db_session_ddl(struct task *task, struct db *db, int64_t ms, db_work *work, void *arg)
    MUSTCHECK;
/* co: leases a write connection and opens a transaction (READ COMMITTED); *ret_tx is arena-owned.
 * Only for a transaction that outlives the function that begins it; others use db_transact(). The
 * transaction ends with db_commit(), db_batch_commit() or db_rollback(), with a statement that
 * fails, or at the latest when the arena dies. BEGIN is sent with the first statement. */
AWAITS int db_begin(struct task *task, struct db *db, struct db **ret_tx) MUSTCHECK;
/* co: db_begin() for a transaction that changes schemas. When the server has a ddl_dsn, these
 * transactions use DDL_CONNECTIONS further connections, opened on demand. */
AWAITS int db_begin_ddl(struct task *task, struct db *db, struct db **ret_tx) MUSTCHECK;
/* co: statements of this transaction may take `ms` from now on, in place of statement_timeout_ms.
 * The limits for locks and for pauses between statements stay as they are. */
AWAITS int db_set_timeout(struct task *task, struct db *tx, int64_t ms) MUSTCHECK;
/* any: closes the transaction's connection when the transaction has ended. For a transaction that
 * makes or drops hundreds of tables: the server's process caches each table, and for each table it
 * looks through every statement that is prepared on the connection. */
void db_discard_conn(struct db *tx);
/* co: commits; returns -ECANCELED without a commit when the task is already cancelled. A commit
 * that was sent is waited for even when the task is cancelled then. DB_UNKNOWN: the connection was
 * lost, and the transaction may be committed. The transaction is over either way. */
AWAITS int db_commit(struct task *task, struct db *tx) MUSTCHECK;
/* co: db_batch() and db_commit() in one round trip. When a call fails nothing has happened; with
 * DB_UNKNOWN everything may have happened. The transaction is over either way. */
AWAITS int db_batch_commit(struct task *task,
                           struct db *tx,
                           struct db_call *calls,
                           size_t count,
                           size_t *ret_failed) MUSTCHECK;
/* any: rolls a transaction back; nothing happens when it is over. Does not wait. */
void db_rollback(struct db *tx);

/*
 * Repeats. A transaction that ended in a deadlock or a serialisation failure has done nothing, and
 * is run again from its beginning: by db_query() and db_batch() themselves outside of transactions,
 * by the gateway for whole handlers (stages/handler.c), by write_transaction() for records, and by
 * db_transact() for other transactions. All of them call db_should_retry() to know whether and
 * when.
 *
 * Order of locks. Deadlocks are repeated, but cost a second each. So transactions take their locks
 * in this order, and skip those that they do not need:
 *   1. the resource of the request's path: a row of resource_locks (the gateway's
 *      stages/conditional.c)
 *   2. meta: the version row of the model
 *   3. tables of entities: ACCESS EXCLUSIVE and the like, one command for all tables that a change
 *      needs
 *   4. records: rows of e_<id>, several by ascending id or by the key of their upsert; then their
 *      links
 *   5. administrators' roles, then users, roles, groups, keys: several of a kind by ascending id
 *   6. rows that depend on records and on users: record_grants, record_locks, members, sessions
 *   7. rows of payments, settings, workflows and jobs, each area in its own order, by ascending id;
 *      of a job its lease (job_leases) before its row, because only the process that has
 *      deleted the lease may end the job
 *   8. the limit of a kind of resources (the gateway's limit.h); after it only rows of that kind
 *      that the transaction has made, or that no transaction locks before the limit
 *   9. inserts that wait for no other transaction: outbox, audit_log
 * A stronger lock is taken at once, never by raising a weaker one.
 */
struct db_retry_state {
    unsigned repeats; /* set to 0 by the caller at first */
};
enum { DB_REPEATS = 6 };
/* co: true when `rc` is DB_CONFLICT and the transaction is to run again. This is so at most
 * DB_REPEATS times, each after a random pause whose limit doubles, so that the same transactions do
 * not conflict again. */
AWAITS bool db_should_retry(struct task *task, struct db_retry_state *tries, int rc) MUSTCHECK;

/* How db_chunk() reads a chunk. `fn` gets the rows that fit in `bytes`, at least one, in the same
 * coroutine; rows->is_truncated says that there were more. No connection is held during `fn`, so it
 * may await for any time. The rows are freed when `fn` returns, and its result is returned. */
struct db_chunk {
    size_t bytes;
    int64_t timeout_ms;
    int (*fn)(const struct rows *rows, void *arg); /* AWAITS */
    void *arg;
};
/* co: reads a chunk of a large result, as a heavy read (even when sql->heavy is not set) that may
 * take `timeout_ms`. Not inside a transaction. */
AWAITS int db_chunk(struct task *task,
                    struct db *db,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t param_count,
                    const struct db_chunk *chunk) MUSTCHECK;

/* --- servers --- */
struct db_config {
    const char *dsn;              /* libpq keywords and values, or a URI */
    const char *ddl_dsn;          /* DSN for db_begin_ddl(); NULL: `dsn` */
    unsigned read_connections;    /* 0 = 4 */
    unsigned write_connections;   /* 0 = 16 */
    int64_t statement_timeout_ms; /* 0 = 5000 */
    int64_t lease_timeout_ms;     /* longer waits for a connection are DB_UNAVAILABLE; 0 = 1000 */
    unsigned busy_share; /* heavy reads, and other statements, that a project has under way at once
                            when it keeps the server busy while other projects have statements; 0 =
                            half the cores */
    unsigned processes;  /* processes of the daemon that have this server and divide `busy_share`
                            between them; 0 = 1 */
    bool dedicated;      /* for reads of one kind only: no read is heavy, nothing is leased */
};
/* any: starts connecting in the background, reconnects after a loss (backoff 50 ms..1 s), and opens
 * connections on demand up to the limits. Host names are resolved off the loop. `config` is copied.
 * Returns owned. */
struct db_server *db_server_new(const char *name, const struct db_config *config);
/* any: closes the connections and frees the server; waiting tasks get DB_UNAVAILABLE. */
void db_server_free(struct db_server *server);
/* co: waits until a connection is up; DB_UNAVAILABLE after limit_ms, -ECANCELED or -ETIMEDOUT, with
 * *ret_reason arena-owned (may be NULL). */
AWAITS int db_server_wait(struct task *task,
                          struct db_server *server,
                          int64_t limit_ms,
                          struct str *ret_reason) MUSTCHECK;
/* any: whether a read connection is up. */
bool db_server_up(const struct db_server *server);
/* any: whether the server has a ddl_dsn: db_begin_ddl() then uses other connections than
 * db_begin(), perhaps with another role than that of `dsn`. */
bool db_server_has_ddl(const struct db_server *server);

struct db_stats {
    uint64_t statements, groups, retries, redispatched, errors, reconnects, prepared;
    unsigned read_open, write_open, write_leased, waiting, in_flight;
};
/* any: copies the counters and the present sizes of the pools (metrics). */
void db_server_stats(const struct db_server *server, struct db_stats *ret_stats);
