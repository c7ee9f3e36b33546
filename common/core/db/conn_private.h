#pragma once
/*
 * One PostgreSQL connection in pipeline mode, and the statements on it.
 *
 * A db_op is one execution of a statement; it lives in the memory of the task that waits for it.
 * The connection remembers what it has sent in a ring of items, in order. An item whose op is NULL
 * has no waiting task (cancelled, or sent again elsewhere), and its result is dropped. A task may
 * therefore leave at any time; only libpq's copy of what was sent remains.
 *
 * A connection that is lost wakes every task that waits on it and leaves its pool. The server's
 * clock frees the connection later (server_reap() in server.c), a leased one after its lease has
 * ended.
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
    struct db_conn *conn; /* the connection that has sent it; NULL = queued or ended */
    struct list link;     /* server->reads while queued */
    PGresult *result;     /* owned after the end, of an error too */
    int rc;               /* 0, DB_*, or OP_*: the task that waits decides what to do next */
    struct task *task;    /* the task that the rows count for */
    uint64_t bytes;       /* counted bytes of rows */
    uint64_t keep_bytes;  /* rows beyond this size are dropped (is_truncated); 0 = keep all */
    int64_t affected;     /* rows that the statement affected (PQcmdTuples) */
    int refused_rc; /* DB_TOO_LARGE or DB_BUSY once a row was refused; later rows are dropped */
    bool bounded;   /* the result may be refused for its size */
    bool is_truncated;
    int64_t queued_ms;
    bool own_sync;         /* sent with a Sync of its own */
    unsigned resent_count; /* times sent again because its connection was stuck */
};

/* The wait of a task. Without a lease it ends with the last of its ops: `pending` is the number of
 * ops that have not ended. On a leased connection `pending` is 1 until the Sync that follows the
 * ops has a result. */
struct db_wait {
    struct await await;
    struct db_op *ops;
    size_t count;
    size_t pending;
    struct db_conn *leased; /* NULL = the ops are reads on shared connections */
    int sync_rc;            /* leased: failure reported by the Sync itself (deferred constraints) */
    PGresult *sync_result;
};

enum item_kind { ITEM_PREPARE, ITEM_QUERY, ITEM_PLAIN, ITEM_SYNC };

struct item {
    enum item_kind kind;
    bool is_first_run; /* the statement was prepared for this item: all caches are cold */
    unsigned stmt_seq; /* prepared statement that the item makes or uses, by number; 0 = unnamed */
    uint64_t key;
    int64_t schema;
    struct db_op *op;
    struct db_wait *wait; /* ITEM_SYNC of a leased group */
};

/* --- connection (conn.c) --- */
enum db_conn_state { CONN_CONNECTING, CONN_READY, CONN_LOST };
enum conn_pool { POOL_READ, POOL_WRITE };
/* LEASE_HEAVY is a heavy read. LEASE_READ is any other read, which leases because its project keeps
 * the server busy or holds up shared connections. */
enum lease_use { LEASE_WRITE, LEASE_READ, LEASE_HEAVY };
enum { SERVED_SCHEMAS = 1024 }; /* power of two */
/* The server's last report on a long statement (probe.c). */
enum head_report {
    HEAD_UNPROBED, /* no report yet */
    HEAD_RUNS,     /* the statement does not wait for a lock */
    HEAD_LOCKED,   /* the statement waits for a lock */
};

struct conn_poll {
    uv_poll_t handle;
    struct db_conn *conn; /* NULL once the handle is closing */
    int fd;
};

struct db_conn {
    struct list link; /* in its pool's list, server->dead or server->dead_leased */
    struct db_server *server;
    enum db_conn_state state;
    enum conn_pool pool;
    PGconn *pg;
    struct resolve *resolve; /* lookup of the host names, while it runs */
    struct conn_poll *poll;
    int events;
    struct loop_timer connect_timer;
    int64_t born_ms;

    /* Items in flight, oldest first. The oldest is the head. */
    struct item *ring;
    unsigned ring_cap; /* power of two */
    unsigned ring_head;
    unsigned ring_count;
    unsigned groups;       /* Syncs not yet answered */
    unsigned group_open;   /* reads sent since the last Sync */
    unsigned group_cold;   /* reads among them that run for the first time here */
    int64_t head_since_ms; /* when the oldest item began to run */
    bool group_was_slow;   /* an item of the oldest group took longer than REPLAN_MS */
    int64_t charged_ms;    /* the head's time is charged to its project up to here */
    enum head_report head_report;
    PGresult *head_result;
    PGresult *head_rows;    /* rows of the head that have arrived one by one */
    bool head_mode_chosen;  /* the row mode of the head has been chosen */
    bool head_single;       /* rows of the head arrive one by one */
    uint64_t head_dropped;  /* bytes of the head's rows that were dropped */
    uint64_t swollen_bytes; /* size that libpq's buffers have grown to: libpq never shrinks them */
    uint64_t swollen_counted; /* part of swollen_bytes that is in the sum of the process */
    int64_t limit_ms;         /* the connection is closed when a statement takes longer */
    bool stuck;               /* reads: the head has run for too long, so no read is sent here */
    bool extra; /* reads: opened while other connections were stuck, closed soon after; home of no
                   statement */
    struct stmt_cache stmts;

    /* Lease (write pool). */
    bool leased;
    bool lease_is_read; /* leased for a read */
    enum lease_use lease_use;
    struct heavy_permit *permit; /* permit of the read that has the lease; NULL = none */
    bool release_when_idle;      /* the task has left: returns to the pool when drained */
    bool retired;                /* closed when the lease ends */
    int64_t lease_schema;        /* of the current or last lease */
    /* Schemas that this connection has served, by hash. Their statements are probably prepared and
     * their tables cached here. */
    uint32_t served_schemas[SERVED_SCHEMAS];
};

/* conn_new() makes a connection. db_conn_open() starts connecting and calls server_conn_ready() or
 * server_conn_lost(), perhaps before it returns. */
struct db_conn *conn_new(struct db_server *server, enum conn_pool pool);
void db_conn_open(struct db_conn *conn);
/* Closes at once: every waiting task gets OP_LOST, and server_conn_lost() is called. Idempotent.
 * The memory stays until conn_free(). `reason` NULL = on purpose. */
void conn_close(struct db_conn *conn, const char *reason);
void conn_free(struct db_conn *conn);
/* Reads and handles what has arrived. Returns false when the connection is lost. */
bool conn_read(struct db_conn *conn);

/* Call after sending: waits for room in the socket when libpq could not write everything. */
void conn_flush(struct db_conn *conn);
