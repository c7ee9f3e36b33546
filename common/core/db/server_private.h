#pragma once
/*
 * The inside of a db_server: its two pools, the queue of reads, the queue for leases and the coarse
 * clock (10 ms, only while there is work) that finds stuck connections and waits that took too
 * long.
 */
#include "base/backoff.h"
#include "db/conn_private.h"
#include "db/db.h"
#include "db/fair_private.h"
#include "loop/shares.h"

enum {
    GROUP_MAX = 32,       /* statements under one Sync */
    GROUP_COLD = 8,       /* first runs among them: more would take longer than FIRST_MS, and all
                             of them would be sent again */
    HOME_AHEAD = 4,       /* items a statement's own connection may be behind others */
    FAR_AHEAD = 64,       /* items behind others that no preparing outweighs */
    SPREAD_FROM = 4,      /* of one statement at a time: worth preparing elsewhere */
    GROUPS_IN_FLIGHT = 4, /* per connection; more wait for natural batching */
    HOME_GROUPS = 8,      /* of a statement's own connection */
    DDL_CONNECTIONS = 8,  /* for schema changes, where they have connections of their own */
    READ_EXTRA = 4,       /* read connections opened while others are stuck */
    TICK_MS = 10,
    STUCK_MS = 20,
    COLD_MS = 10,   /* that a first run may take longer */
    FIRST_MS = 100, /* and is not taken for heavy before */
    BUSY_MS = 250,  /* nor while others keep the database busy */
    HEAVY_MS = 30000,
    HEAVY_MAX = 64,
    REPLAN_MS = 100,     /* a statement whose group takes longer may have an outdated plan: it is */
    REPLAN_AGE_MS = 500, /* prepared anew, unless that is younger than this */
    TRAITS = 1024,       /* power of two */
    HEAVY_OWN = 8,       /* statements of one project that may be taken for heavy at a time */
    QUICK_RUNS = 3,      /* in a row, and it is not heavy any more */
    KNOWN_MS = 20,       /* waited for a connection that knows the schema */
    PAUSE_MS = 20,       /* after its last answer a lease does not run anything any more */
    PROBE_MS = 50,   /* what runs for longer is looked at, so often: is it waiting for a lock? */
    UNSEEN_MS = 150, /* until then it counts as running before that is known */
    PROBED_MAX = 64,
    HELD_TIMES = 5, /* as long as others waits who waits for statements of its own project */
    CONNECT_MS = 5000,
    CONN_AGE_MS = 1800000,         /* recycled when older and idle */
    DROPPED_MAX = 4 * 1024 * 1024, /* bytes of rows that nobody wants, read and thrown away */
    SWOLLEN_FROM = 256 * 1024,     /* of libpq's buffers: worth remembering */
    SWOLLEN_MAX = 8 * 1024 * 1024, /* of all connections of a process, while they are idle */
};

struct heavy {
    uint64_t key;
    int64_t schema;
    int64_t until_ms;
    unsigned quick; /* runs in a row that took no time */
};

/* Heavy reads under way, of each project; those of the process itself do not pass it. Memory of its
 * own: whoever waits there may outlive the server. */
struct heavy_gate {
    struct shares shares;
    bool closed; /* the server is gone */
};
void gate_release(struct heavy_gate *gate);

/* Of one of them. Who waits for a lock gives it back, so that the project's other tables can be
 * read; who gets the lock then runs without. */
struct heavy_seat {
    struct heavy_gate *gate;
    struct share *share; /* NULL = given back */
};
void seat_give_back(struct heavy_seat *seat);

/* Asks the server which of the long statements wait for a lock. For nobody: no task waits. */
struct probe {
    struct db_op op;
    struct db_wait wait;
    struct db_param param;
    bool under_way;
    int64_t asked_ms;
    size_t count;
    int64_t pids[PROBED_MAX];     /* of their connections */
    int64_t since_ms[PROBED_MAX]; /* when what was asked about began to run there */
};

/* What the text of a statement says, remembered by its hash. */
struct trait {
    uint64_t hash;
    bool known;
    bool writes;
};

struct db_server {
    char *name;
    struct db_config config; /* dsn and ddl_dsn are copies */
    struct db_server *ddl;   /* owned; NULL until somebody changes a schema */
    struct list read;        /* connections; with the connecting ones */
    struct list write;
    struct list dead;        /* lost ones, freed from the clock */
    struct list dead_leased; /* lost ones that a task still holds */
    unsigned read_count;
    unsigned write_count;
    unsigned heavy_count; /* leases for heavy reads */
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
    int64_t next_connect_ms; /* not before: backoff */
    struct backoff backoff;
    bool reads_wanted;    /* a read found no idle connection */
    unsigned stuck_count; /* read connections, when the clock last looked */
    bool was_down;
    bool freeing;
    bool free_at_flush; /* the hook is queued in the loop: freed when it has run */
    char reason[256];   /* why the last connection failed */

    struct heavy heavy_marks[HEAVY_MAX];
    unsigned heavy_used;
    struct trait traits[TRAITS];
    struct arena *scratch; /* parameters and texts on their way into libpq */
    struct db_stats stats;
};

int64_t server_now_ms(void);
/* Where schemas are changed: the server itself, or one that is opened now. */
struct db_server *server_ddl(struct db_server *server);
/* The clock runs while something waits or is in flight. */
void server_tick_start(struct db_server *server);
/* Opens connections where something waits for one. */
void server_grow(struct db_server *server);
void server_conn_ready(struct db_conn *conn);
/* `reason` NULL: closed on purpose. */
void server_conn_lost(struct db_conn *conn, const char *reason, bool was_connecting);
/* An idle connection is closed when libpq's buffers of all have grown too large with it. */
void server_shrink(struct db_conn *conn);
/* Results were read: more can be sent, a drained lease can go back. */
void server_conn_progress(struct db_conn *conn);
