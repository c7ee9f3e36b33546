#pragma once
/* Declarations that the files of queue/ share. */
#include "queue/queue.h"
#include "queue/turns.h"
#include "queue_sql.h"

/* Whether a project has rows to claim, in one lane. */
enum lane_state {
    LANE_QUIET,
    LANE_DUE,         /* there may be work */
    LANE_CLAIMING,    /* a claim, or a pass, is under way */
    LANE_CLAIM_AGAIN, /* like CLAIMING, and there may be work that the claim does not see */
};

/* An item whose lease is not renewed has to end this long before its lease does. */
#define QUEUE_SPARE_MS INT64_C(1000)

/* Fresh and crashed rows are claimed separately. */
enum { LANE_FRESH, LANE_CRASHED, LANE_COUNT };

struct queue_lane {
    enum lane_state state;
    struct list ring; /* node in queue.rings while the lane waits for its turn */
};

struct queue_project {
    int64_t number;
    struct queue *queue;
    struct queue_lane lanes[LANE_COUNT];
    struct list items[QUEUE_STATES];
    unsigned counts[QUEUE_STATES];
    unsigned slots_reserved;   /* slots of claims, reservations or a pass under way */
    unsigned releases_running; /* release statements under way */
    unsigned rows_waiting; /* rows of queue_rows_stored() that no claim of this process has taken */
    bool paused;           /* no pass begins */
    struct loop_timer pause;
};

struct queue {
    const struct queue_kind *kind;
    struct queue_config config;
    struct turns turns;
    struct list rings[LANE_COUNT];
    unsigned counts[QUEUE_STATES];
    unsigned slots_reserved;
    unsigned crashed_count; /* crashed items claimed, or being claimed: at most one */
    struct queue_share share;
    bool shared_recorded; /* peers->put_shared has recorded that this process has had two items at a
                             time */
    bool sweeps_stopped;  /* no more sweeps and retention */
    struct loop_timer sweeps, renewals, retention, last_call;
    loop_fn on_drained;
    void *drained_arg;
    struct queue_stats stats;
    struct list link; /* node in the list of all queues of the process */
};

/* --- queue.c --- */

/* any: changes an item's state. */
void queue_item_move(struct queue_item *item, enum queue_state state);
/* any: finds the queue's state for a project, or makes it. */
struct queue_project *queue_project(struct queue *queue, int64_t number);
/* any: the number of items that have a slot. */
unsigned queue_project_used_slots(const struct queue_project *project);
/* any: makes a call of a statement of the kind, with those of the given values that the statement
 * names. The arena owns the call. */
#define QUEUE_CALL(arena, sql, ...)                                                                \
    db_call_named((arena),                                                                         \
                  (sql),                                                                           \
                  (const struct db_named[]){__VA_ARGS__},                                          \
                  ARRAY_LEN(((const struct db_named[]){__VA_ARGS__})))
/* co: runs a call of QUEUE_CALL() in autocommit. */
AWAITS static inline int
queue_query(struct task *task, struct db *db, struct db_call call, struct rows *ret_rows)
{
    return db_query(task, db, call.sql, call.params, call.param_count, ret_rows);
}
/* co: runs calls[1] to calls[count - 1] in one transaction, planned so that rows are found by
 * index. calls[0] is left empty by the caller for the statement that sets this up. */
AWAITS static inline int
queue_batch(struct task *task, struct db *db, struct db_call *calls, size_t count)
{
    calls[0] = db_call(SQL_PLAN_BY_INDEX());
    return db_batch(task, db, calls, count, NULL);
}

/* any: queue_free_slots() counts the free slots of the queue, queue_project_free_slots() the slots
 * that the project may still take. queue_slots_take() and queue_slots_return() change a project's
 * reservation. */
unsigned queue_free_slots(const struct queue *queue);
unsigned queue_project_free_slots(const struct queue_project *project);
void queue_slots_take(struct queue_project *project, unsigned count);
void queue_slots_return(struct queue_project *project, unsigned count);
/* any: marks that there may be work in the lane. */
void queue_lane_due(struct queue_project *project, int lane);
/* any: ends a claim or pass. `more`: there may be rows left to take. */
void queue_lane_done(struct queue_project *project, int lane, bool more);
/* any: puts the project's lanes that want a turn into their rings. */
void queue_join(struct queue_project *project);
/* any: gives turns at the end of this tick of the loop: a slot may have become free. */
void queue_pump(struct queue *queue);
/* any: calls the callback of queue_drain() when no slot is in use. */
void queue_check_drained(struct queue *queue);
/* any: whether the queue still exists, for callbacks that may outlive the queue. Only compares. */
bool queue_is_alive(const struct queue *queue);

/* --- claim.c --- */

/* any: starts a claim of up to `count` rows. The caller has already taken `reserved` slots, which
 * the claim returns (0 for rows that are claimed before slots are free). */
void claim_start(struct queue_project *project, int lane, unsigned count, unsigned reserved);
/* any: frees an item whose coroutine has ended or never began. */
void queue_item_free(struct queue_item *item);

/* --- pass.c --- */

/* any: starts a pass. The caller has already taken its slot. */
void pass_start(struct queue_project *project);
/* any: ends the pause of the project, if there is one, and starts nothing. */
void pass_unpause(struct queue_project *project);

/* --- lease.c --- */

/* any: starts the timer of renewals, for kinds that renew. */
void lease_start(struct queue *queue);
/* any: starts a renewal of all items of the project that have begun, without waiting for the timer.
 * The renewal finds the items that are lost. Does nothing for kinds without .renew. */
void lease_check(struct queue_project *project);

/* --- release.c --- */

/* any: releases the items that have not begun, and frees them. */
void release_claimed(struct queue_project *project);
/* any: releases the rows of items that have begun, in their present state. Then calls
 * lease_check(), which finds these items lost. */
void release_begun(struct queue_project *project);

/* --- sweep.c, retain.c, notify.c --- */

/* any: for kinds with .poll: sweep_start() makes the first sweep at once; sweep_stop() ends the
 * sweeps for good. */
void sweep_start(struct queue *queue);
void sweep_stop(struct queue *queue);
/* any: whether this process sweeps the project. */
bool sweep_is_own_project(const struct queue *queue, int64_t number);
/* any: fills ret_db for one row of kind->projects. Returns whether this process sweeps the project
 * and knows its database server. */
bool sweep_project(const struct queue *queue,
                   const struct rows *projects,
                   size_t project,
                   struct db *ret_db);
/* any: start retention and notifications, for kinds that have them. */
void retain_start(struct queue *queue);
void notify_start(struct queue *queue);
