#pragma once
/*
 * The inside of a db_server: its two pools, the queue of reads, the queue for leases and the coarse
 * clock (10 ms, only while there is work) that finds stuck connections and waits that have taken
 * too long.
 */
#include "base/backoff.h"
#include "db/conn_private.h"
#include "db/db.h"
#include "db/fair_private.h"
#include "loop/shares.h"

enum {
    /* Statements of one group, that is, under one Sync: when one of them fails or is stuck, all
     * others are sent again. */
    GROUP_MAX = 32,
    /* First runs in one group, (STUCK_MAX_MS - STUCK_MS) / FIRST_RUN_MS: more of them would take
     * longer than STUCK_MAX_MS, and the whole group would be sent again. */
    GROUP_FIRST_RUNS_MAX = 8,
    /* A read is sent to its home connection, which has the statement prepared, while home has at
     * most this many items in flight more than the least busy connection. */
    HOME_SURPLUS_MAX = 4,
    /* When home has more than this many items more than the least busy connection, a read is sent
     * to the least busy connection even if that must first prepare the statement, which costs more
     * than a hundred runs. */
    SPREAD_SURPLUS_MIN = 64,
    /* When home has this many runs of one statement in flight, the statement is worth preparing on
     * another connection as well. */
    SPREAD_RUNS_MIN = 4,
    /* A group is the statements that are sent to a connection in one write. While all connections
     * have this many groups in flight, reads wait, so that they leave in larger groups. */
    GROUPS_IN_FLIGHT = 4,
    /* Groups in flight on the home connection of a statement, as long as another connection has
     * fewer than GROUPS_IN_FLIGHT. */
    HOME_GROUPS = 8,
    /* Write connections of the server for schema changes (ddl_dsn). */
    DDL_CONNECTIONS = 8,
    /* Read connections opened beyond read_connections, at most one for each stuck connection. */
    READ_EXTRA = 4,
    /* Interval of the clock, and so how exactly stuck connections and waits are timed. */
    TICK_MS = 10,
    /* A read connection is stuck when its oldest group takes longer than this time, plus
     * FIRST_RUN_MS for each first run and, in a group of several, a millisecond for each statement.
     */
    STUCK_MS = 20,
    /* Additional time of each first run, which has to prepare the statement and read the catalog
     * entries of its tables. */
    FIRST_RUN_MS = 10,
    /* Upper limit of that sum. A first run is marked heavy only after this time, because it is slow
     * on a busy machine. */
    STUCK_MAX_MS = 100,
    /* While reads of other projects hold leases, a statement is marked heavy only after this time,
     * because these reads may be why it is slow. */
    HEAVY_BUSY_MS = 250,
    /* Time for which a statement that was found slow is heavy, that is, runs on leases. */
    HEAVY_MS = 30000,
    /* Heavy statements that a server remembers: a further statement replaces the statement whose
     * time ends first. */
    HEAVY_MAX = 64,
    /* A statement whose group takes longer may have an outdated plan, so it is prepared again. */
    REPLAN_MS = 100,
    /* A statement that was prepared within this time has a new plan: it is not prepared again. */
    REPLAN_AGE_MS = 500,
    /* Slots of the cache of struct trait; a power of two, because the low bits of a statement's
     * hash choose the slot. */
    TRAIT_SLOTS = 1024,
    /* Heavy statements of one project that a server remembers, so that the project pushes out none
     * of other projects. */
    HEAVY_PER_PROJECT_MAX = 8,
    /* A heavy statement is no longer heavy after this many runs in a row of less than STUCK_MS. */
    QUICK_RUNS_MIN = 3,
    /* A task that wants a lease waits this long for a busy connection that has served its schema,
     * because any other connection must first prepare the statements, which takes longer than
     * running most of them. */
    WARM_CONN_WAIT_MS = 20,
    /* A lease without a statement counts as using the server until this long after its last answer,
     * because later its task may itself be waiting. */
    LEASE_IDLE_MS = 20,
    /* Age from which a statement is probed (does it wait for a lock?), and interval of probes. */
    PROBE_MS = 50,
    /* A statement is charged, and counts as running, for this long before a probe has reported on
     * it; this is three probes. */
    UNPROBED_MS = 150,
    /* Statements in one probe, the size of its arrays; the default pools have fewer connections. */
    PROBED_MAX = 64,
    /* A task that waits for statements of its own project to end may wait this many times
     * lease_timeout_ms, the limit of a wait for a connection. */
    HELD_WAIT_FACTOR = 5,
    /* Time for a connection to come up, the lookup of its host included. */
    CONNECT_MS = 5000,
    /* Time since it was opened after which an idle connection is closed. */
    CONN_AGE_MS = 1800000,
    /* Bytes of unwanted rows that are read and dropped: beyond, the connection is closed, which
     * ends the statement on the server. */
    DROPPED_MAX = 4 * 1024 * 1024,
    /* Size above which a message counts as having swollen libpq's buffers, which never shrink. */
    SWOLLEN_FROM = 256 * 1024,
    /* Bytes of swollen buffers of all connections of the process: beyond, a swollen connection is
     * closed when it becomes idle. */
    SWOLLEN_MAX = 8 * 1024 * 1024,
};

/* The mark of a statement that was found slow: it is heavy in this project until `until_ms`. */
struct heavy_mark {
    uint64_t key;
    int64_t schema;
    int64_t until_ms;
    unsigned quick_runs; /* quick runs in a row */
};

/* Bounds the heavy reads of each project that are under way; heavy reads of the process itself do
 * not pass the gate. The gate has memory of its own, because a task that waits at the gate may
 * outlive the server. */
struct heavy_gate {
    struct shares shares;
    bool closed; /* the server has been freed */
};
/* Frees the gate when the server has been freed and no task holds or awaits a permit. */
void heavy_gate_free_if_idle(struct heavy_gate *gate);

/* The permit of one heavy read. A read that waits for a lock returns its permit, so that the
 * project's other tables can be read; once it has the lock it runs without a permit. */
struct heavy_permit {
    struct heavy_gate *gate;
    struct share *share; /* NULL = returned */
};
/* Returns the permit; nothing happens when it was returned before. */
void heavy_permit_release(struct heavy_permit *permit);

/* The query that finds out which of the long statements wait for a lock. No task waits for it. */
struct probe {
    struct db_op op;
    struct db_wait wait;
    struct db_param param;
    bool under_way;
    int64_t sent_ms;
    size_t count;
    int64_t pids[PROBED_MAX];     /* server processes of the connections in question */
    int64_t since_ms[PROBED_MAX]; /* when the statement in question began to run there */
};

/* Whether the text of a statement writes: a slot of a cache by the text's hash. */
struct trait {
    uint64_t hash;
    bool known;
    bool writes;
};

struct db_server {
    char *name;
    struct db_config config; /* dsn and ddl_dsn are copies */
    struct db_server *ddl;   /* owned; NULL until the first change of a schema */
    struct list read;        /* connections, also while connecting */
    struct list write;
    struct list dead;        /* lost connections, freed by the clock */
    struct list dead_leased; /* lost connections that a task still leases */
    unsigned read_count;
    unsigned write_count;
    unsigned read_lease_count; /* leases for reads */
    struct heavy_gate *gate;
    struct fair fair; /* which projects keep the server busy */
    struct probe probe;

    struct list reads; /* db_op waiting to be sent */
    unsigned reads_count;
    struct list leases; /* struct lease_wait, first come first served */
    unsigned leases_count;
    struct list up_waits; /* db_server_wait() */

    struct loop_hook flush_hook;
    struct loop_timer tick;
    bool ticking;
    int64_t next_connect_ms; /* no connection is opened before this time: backoff */
    struct backoff backoff;
    bool reads_wanted;    /* a read found no idle connection */
    unsigned stuck_count; /* stuck read connections at the last tick */
    bool was_down;
    bool freeing;
    bool free_at_flush; /* the hook is queued in the loop: the server is freed when the hook runs */
    char reason[256];   /* why the last connection failed */

    struct heavy_mark heavy_marks[HEAVY_MAX];
    unsigned heavy_used;
    struct trait traits[TRAIT_SLOTS];
    struct arena *scratch; /* parameters and texts on their way into libpq */
    struct db_stats stats;
};

/* The loop's time of this turn. */
int64_t server_now_ms(void);
/* The server where schemas are changed: `server` itself, or the one of its ddl_dsn, which the first
 * call opens. */
struct db_server *server_ddl(struct db_server *server);
/* Starts the clock, which runs while something waits or is in flight. */
void server_tick_start(struct db_server *server);
/* Opens connections for reads and leases that wait for one. */
void server_grow(struct db_server *server);
void server_conn_ready(struct db_conn *conn);
/* `reason` NULL: closed on purpose. */
void server_conn_lost(struct db_conn *conn, const char *reason, bool was_connecting);
/* Closes an idle connection with swollen buffers when all of these exceed SWOLLEN_MAX. */
void server_shrink(struct db_conn *conn);
/* Called after results were read: sends further reads, and returns a drained lease to the pool. */
void server_conn_progress(struct db_conn *conn);
