#pragma once
/* What the files of queue/ share. */
#include "queue/queue.h"
#include "queue/turns.h"
#include "queue_sql.h"

/* Whether a project has something to claim. The value names what comes next. */
enum lane_state {
    LANE_QUIET,
    LANE_DUE,      /* there may be work */
    LANE_CLAIMING, /* a claim, or a pass, is under way */
    LANE_AGAIN,    /* and there may be work that it does not see */
};

/* Of a lease that is not renewed: what is begun has to end within it. */
#define QUEUE_SPARE_MS INT64_C(1000)

/* Fresh rows and crashed ones are claimed apart. */
enum { FRESH, CRASHED, LANES };

struct queue_lane {
    enum lane_state state;
    struct list ring; /* queue.rings: its turn comes */
};

struct queue_project {
    int64_t number;
    struct queue *queue;
    struct queue_lane lanes[LANES];
    struct list items[QUEUE_STATES];
    unsigned counts[QUEUE_STATES];
    unsigned reserved;  /* slots kept for what is being claimed, or of a pass */
    unsigned releasing; /* statements that give back under way */
    unsigned waiting; /* rows that were stored here and not claimed; others may have claimed them */
    bool paused;      /* no pass begins */
    struct loop_timer pause;
};

struct queue {
    const struct queue_kind *kind;
    struct queue_config config;
    struct turns turns;
    struct list rings[LANES];
    unsigned counts[QUEUE_STATES];
    unsigned reserved;
    unsigned crashed; /* crashed items claimed, or about to be: one at most */
    struct queue_share share;
    bool shared;  /* it is written down that more than one has run here at a time */
    bool stopped; /* no sweeps any more */
    struct loop_timer sweeps, renewals, retention, last_call;
    loop_fn drained;
    void *drained_arg;
    struct queue_stats stats;
    struct list link; /* all queues of the process */
};

/* --- queue.c --- */

/* any: changes an item's state. */
void queue_move(struct queue_item *item, enum queue_state state);
struct queue_project *queue_project(struct queue *queue, int64_t number);
/* any: items that have a slot. */
unsigned queue_project_held(const struct queue_project *project);
/* any: a statement of the kind with what it names of these. Arena-owned. */
#define QUEUE_CALL(arena, sql, ...)                                                                \
    db_call_named((arena),                                                                         \
                  (sql),                                                                           \
                  (const struct db_named[]){__VA_ARGS__},                                          \
                  ARRAY_LEN(((const struct db_named[]){__VA_ARGS__})))
/* co: the same, alone. */
AWAITS static inline int
queue_query(struct task *task, struct db *db, struct db_call call, struct rows *ret_rows)
{
    return db_query(task, db, call.sql, call.params, call.param_count, ret_rows);
}
/* co: statements that find rows by their key, in one transaction: calls[0] is room for what says
 * so.
 */
AWAITS static inline int
queue_batch(struct task *task, struct db *db, struct db_call *calls, size_t count)
{
    calls[0] = db_call(SQL_PLAN_BY_INDEX());
    return db_batch(task, db, calls, count, NULL);
}

unsigned queue_free_slots(const struct queue *queue);
unsigned queue_project_room(const struct queue_project *project);
void queue_take_slots(struct queue_project *project, unsigned count);
void queue_return_slots(struct queue_project *project, unsigned count);
/* any: there may be work in the lane. */
void queue_lane_due(struct queue_project *project, int lane);
/* any: the claim or pass is over; `more`: it has not seen all. */
void queue_lane_done(struct queue_project *project, int lane, bool more);
/* any: its lanes wait for their turns, where they want one. */
void queue_join(struct queue_project *project);
/* any: a slot has become free. */
void queue_pump(struct queue *queue);
void queue_check_drained(struct queue *queue);
/* any: for callbacks that may outlive it; it is only compared. */
bool queue_exists(const struct queue *queue);

/* --- claim.c --- */

/* any: claims up to `count`; slots are the caller's, taken already for a lane that needs them. */
void claim_start(struct queue_project *project, int lane, unsigned count, unsigned reserved);
/* any: the item has left for good. */
void item_free(struct queue_item *item);

/* --- pass.c --- */

/* any: one pass; its slot is taken already. */
void pass_start(struct queue_project *project);
/* any: no pass waits for its time any more. */
void pass_unpause(struct queue_project *project);

/* --- lease.c --- */

void lease_start(struct queue *queue);
/* any: asks the database about all items that have begun and are not known to be lost. */
void lease_check(struct queue_project *project);

/* --- release.c --- */

/* any: gives back what was claimed and has not begun. */
void release_claimed(struct queue_project *project);
/* any: gives back what has begun, as it is; the items are lost. */
void release_begun(struct queue_project *project);

/* --- sweep.c, retain.c, notify.c --- */

void sweep_start(struct queue *queue);
void sweep_stop(struct queue *queue);
bool sweep_is_mine(const struct queue *queue, int64_t number);
/* any: the project of one row of kind->projects; whether it is this process's and its server known.
 */
bool sweep_project(const struct queue *queue,
                   const struct rows *projects,
                   size_t project,
                   struct db *ret_db);
void retain_start(struct queue *queue);
void notify_start(struct queue *queue);
