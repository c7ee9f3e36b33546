#pragma once
/*
 * One PostgreSQL connection in pipeline mode, and the statements on it.
 *
 * A db_op is one execution of a statement; it lives in the memory of the task that waits for it.
 * What was sent is remembered in the connection's ring of items, in order; an item whose op is NULL
 * has nobody waiting (cancelled, sent again elsewhere): its result is dropped. So a task may leave
 * at any time, and libpq's copy of what it sent is all that stays behind.
 *
 * A connection that is lost wakes everybody waiting on it, leaves its pool and is freed later by
 * the server (server_reap), or by its lease's owner when leased.
 */
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/list.h"
#include "db/sql.h"
#include "db/stmt_private.h"
#include "loop/loop.h"
#include "loop/task.h"

struct db_server;
struct db_conn;
struct db_wait;
struct resolve;

struct db_op {
    const struct sql *sql; /* borrowed from the caller, as are the params */
    const struct db_param *params;
    size_t param_count;
    int64_t schema;
    uint64_t key;         /* of the statement in its schema */
    struct db_wait *wait; /* NULL = the group's Sync wakes the waiter */
    struct db_conn *conn; /* in flight on, NULL = queued or ended */
    struct list link;     /* server->reads while queued */
    PGresult *result;     /* owned once ended; also of an error */
    int rc;               /* 0, DB_*, or OP_*: the task that waits decides what to do next */
    struct task *task;    /* for whose account its rows are counted */
    uint64_t bytes;       /* of rows, counted */
    uint64_t keep_bytes;  /* rows beyond are dropped and `cut` is set; 0 = all are wanted */
    int64_t affected;     /* rows, of a result that came row by row */
    int over;     /* DB_TOO_LARGE, DB_BUSY: found while rows came, which are dropped since */
    bool bounded; /* may be refused for its size */
    bool cut;
    int64_t queued_ms;
    bool alone;     /* gets a Sync of its own */
    unsigned moved; /* times sent again because it stood behind a stuck one */
};

/* What a task waits on: reads count down their ops, a leased group ends with its Sync. */
struct db_wait {
    struct await await;
    struct db_op *ops;
    size_t count;
    size_t pending;
    struct db_conn *leased; /* NULL = reads */
    int sync_rc;            /* leased: failure reported by the Sync itself (deferred constraints) */
    PGresult *sync_result;
};

enum item_kind { ITEM_PREPARE, ITEM_QUERY, ITEM_PLAIN, ITEM_SYNC };

struct item {
    enum item_kind kind;
    bool first;        /* its statement was prepared for it: everything is cold */
    unsigned stmt_seq; /* of the prepared statement it makes or uses, 0 = unnamed */
    uint64_t key;
    int64_t schema;
    struct db_op *op;
    struct db_wait *wait; /* ITEM_SYNC of a leased group */
};

/* --- connection (conn.c) --- */
enum db_conn_state { CONN_CONNECTING, CONN_READY, CONN_LOST };
enum conn_pool { POOL_READ, POOL_WRITE };
/* Heavy reads, of which there are so many, are LEASE_SLOW; others come when their project keeps the
 * server busy. */
enum lease_use { LEASE_WRITE, LEASE_READ, LEASE_SLOW };
enum { SERVED_SCHEMAS = 1024 }; /* power of two */
/* What the server said last of a statement that has been running for long. */
enum head_seen { HEAD_UNSEEN, HEAD_RUNS, HEAD_LOCKED };

struct conn_poll {
    uv_poll_t handle;
    struct db_conn *conn; /* NULL once the handle is closing */
    int fd;
};

struct db_conn {
    struct list link; /* its pool's list, or server->dead */
    struct db_server *server;
    enum db_conn_state state;
    enum conn_pool pool;
    PGconn *pg;
    struct resolve *resolve; /* names being looked up */
    struct conn_poll *poll;
    int events;
    struct loop_timer connect_timer;
    int64_t born_ms;

    /* What is in flight, oldest first. */
    struct item *ring;
    unsigned ring_cap; /* power of two */
    unsigned ring_head;
    unsigned ring_count;
    unsigned groups;       /* Syncs not yet answered */
    unsigned group_open;   /* reads sent since the last Sync */
    unsigned group_cold;   /* those of them that run for the first time here */
    int64_t head_since_ms; /* when the oldest item began to run */
    bool slow;             /* something of the oldest group took longer than REPLAN_MS */
    int64_t charged_ms;    /* up to then its time is on its project's account */
    enum head_seen head_seen;
    PGresult *head_result;
    PGresult *head_rows;      /* what came row by row so far */
    bool head_asked;          /* how the head's rows are to come was said */
    bool head_single;         /* row by row */
    uint64_t head_dropped;    /* bytes of rows nobody wanted */
    uint64_t swollen_bytes;   /* what libpq's buffers have grown to: it never makes them smaller */
    uint64_t swollen_counted; /* of them, in the process's sum */
    int64_t limit_ms;         /* longest a statement may take before the connection is given up */
    bool stuck;               /* reads: its head has run for too long, nothing is sent here */
    bool extra; /* reads: opened while others were stuck, soon closed again; no statement's own */
    struct stmt_cache stmts;

    /* Lease (write pool). */
    bool leased;
    bool lease_heavy; /* a read */
    enum lease_use lease_use;
    struct heavy_seat *seat; /* of the read that it is leased for; NULL = none */
    bool release_when_idle;  /* its owner left: back to the pool when drained */
    bool retired;            /* closed when the lease ends */
    int64_t lease_schema;    /* of the current or last lease */
    /* Schemas it has served, by hash: their statements are prepared here and their tables known,
     * as far as that goes. */
    uint32_t served[SERVED_SCHEMAS];
};

/* Starts connecting; the server's server_conn_ready() or server_conn_lost() is called, perhaps at
 * once. */
struct db_conn *conn_new(struct db_server *server, enum conn_pool pool);
void db_conn_open(struct db_conn *conn);
/* Closes at once: everybody waiting on it gets OP_LOST, and the server is notified. Idempotent. The
 * memory stays until conn_free(). `reason` NULL = on purpose. */
void conn_close(struct db_conn *conn, const char *reason);
void conn_free(struct db_conn *conn);
/* Reads what has arrived; false when the connection is lost. */
bool conn_read(struct db_conn *conn);

/* After sending: waits for room in the socket when libpq could not write everything. */
void conn_flush(struct db_conn *conn);
