#pragma once
/*
 * Work that is stored as rows of projects. Whichever process claims a row first does its work. A
 * kind of work is a table of its statements and one function:
 *
 *     static const struct queue_kind mails = {
 *         .name = "mails", .claim = &SQL_MAILS_CLAIM, .renew = &SQL_MAILS_RENEW,
 *         .still_held = &SQL_MAILS_HELD, .release = &SQL_MAILS_RELEASE,
 *         .rescue = &SQL_MAILS_RESCUE, .projects = &SQL_MAIL_PROJECTS, .poll = &SQL_MAILS_POLL,
 *         .run = mails_run,
 *     };
 *     queue = queue_start(&mails, &(struct queue_config){.directory = ..., .slots = 16, ...});
 *
 * Claim. A claim takes some rows of one project. Each row gets a lease and a fencing token. Every
 * later write about the row checks the token, so that a process that was presumed dead writes
 * nothing. The database's clock grants and judges the lease. The process counts how long its lease
 * lasts from before it sent the statement.
 * Renewal. Leases are renewed every third of their length, independently of the items. An item is
 * lost when its row has another token, or when its lease could not be renewed in time. The task of
 * a lost item is cancelled. An item of a kind without .renew has to end within its first lease.
 * Fairness. Projects take turns at the slots (turns.h), so a flood of rows delays its own project
 * only.
 * Notification. An entry of the bus names a project that has work. A sweep finds work without an
 * entry.
 * Crash. A row is called crashed when the last process that claimed it died: the row may have been
 * the cause. Crashed rows are claimed separately and one at a time, so that the next crash has only
 * one possible cause. Crashed rows run in this process (the kind has .claim_crashed) or in a
 * dedicated process (the kind has .crashed_put as well). .rescue quarantines a row that has crashed
 * too many processes.
 * Drain. Nothing new is claimed. Items that have not begun are released. Running items should
 * release themselves (QUEUE_RELEASING). At the end the remaining items are released in their
 * present state, or cancelled.
 *
 * All functions run on the loop's thread. A statement names the parameters that it uses
 * (:most::bigint) of those that its member lists.
 */
#include "bus/bus.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "project/project.h"

struct queue;         /* one kind of work in this process */
struct queue_project; /* the queue's state for one project */
struct queue_item;

/* State of an item. Each state has a list of its items; only queue_item_move() changes the state.
 */
enum queue_state {
    QUEUE_CLAIMED,   /* claimed before a slot is free: waits for a slot */
    QUEUE_RUNNING,   /* has a slot */
    QUEUE_RELEASING, /* has a slot, and releases itself as soon as it can */
    QUEUE_LOST,      /* no longer holds its row: writes nothing and ends */
    QUEUE_ENDED,     /* .run has returned, the coroutine has not ended yet */
    QUEUE_STATES,
};

/* Result of an item's run. */
enum queue_outcome {
    QUEUE_DONE,
    QUEUE_RELEASED, /* the row is back in the queue for another claim */
    QUEUE_UNKNOWN,  /* the item was lost, or its outcome is unknown */
};

/* First member of a kind's own struct. The struct and all memory of its arena live until .run has
 * returned. */
struct queue_item {
    struct task task;    /* its arena is the item's arena, unless .run replaces it for a while */
    struct arena *arena; /* owned by the item */
    struct queue_project *owner;
    struct list link;
    enum queue_state state;
    bool crashed_count;      /* the last process that claimed the row died */
    struct db db;            /* schema of the project */
    struct project *project; /* held by the item's arena; NULL for an item of queue_items_adopt() */
    struct rows rows;        /* the item's row of the claim's result */
    int64_t id, token;       /* columns "id" and "token" of the row */
    int64_t claimed_mono_ms;
    int64_t lease_mono_ms; /* monotonic time at which our lease ends */
    struct loop_hook free_hook;
};

/* Statements about the processes that share the sweeps. All run on the control schema. :holder is
 * the name of this process. */
struct queue_peers {
    const struct sql *put_alive;  /* :exec, records that this process is alive */
    const struct sql *list_live;  /* :many id of the live processes, in a fixed order */
    const struct sql *forget;     /* :exec, deletes processes that died long ago */
    const struct sql *remove;     /* :exec, deletes this process */
    const struct sql *put_shared; /* :exec, before this process has two items at a time; or NULL */
    const struct sql *list_alone; /* :many id, those :holders that never had two items; or NULL */
};

struct queue_kind {
    const char *name; /* in logs and metrics */
    size_t size;      /* size of the kind's own struct; 0 = struct queue_item */
    /* any: fills the kind's own members, which are zero, of a new item; NULL = no such members. */
    void (*read)(struct queue_item *item);
    /* AWAITS: does the work of the item and records the row's end, guarded by the token. The tenant
     * of the task is the project if the item has one. */
    enum queue_outcome (*run)(struct task *task, struct queue_item *item);
    /* AWAITS: for work without leases, one pass of one project at a time. A kind with .pass needs
     * no .run, and no statements but .projects and .poll. After a result other than 0 the pass is
     * repeated half a second later. */
    int (*pass)(struct task *task, struct queue *queue, struct project *project, bool *ret_more);
    int64_t pass_ms; /* deadline of a pass; 0 = 15,000 */

    /* :most, :lease_ms, :holder (name of the process), :bytes (claim_bytes). Claims each row that
     * it returns. Columns: id, token and the columns that the kind needs. */
    const struct sql *claim;
    const struct sql *claim_crashed; /* as .claim, for crashed rows; NULL: .claim takes these too */
    const struct sql *renew;         /* :ids, :tokens, :lease_ms; returns the renewed ids */
    const struct sql *still_held; /* :ids, :tokens; returns the ids that this process still holds */
    const struct sql *release; /* :ids, :tokens; puts rows back as if they had never been claimed */
    const struct sql *holders; /* names of the processes whose leases have ended; or NULL */
    /* any: called after each claim of fresh rows. `waiting`: rows announced by queue_rows_stored()
     * that may still be unclaimed. NULL = not called. */
    void (*on_claimed)(int64_t number, unsigned waiting);
    /* :attempts, :alone (the holders that never had two items at a time). Puts rows whose process
     * died back into the queue, or quarantines them after :attempts crashes. Columns: id, attempt,
     * quarantined. */
    const struct sql *rescue;
    int64_t claim_bytes;
    unsigned
        prefetch; /* rows of a project claimed before slots are free; 0 = no more than free slots */
    bool release_begun; /* at the end of the drain also release items that have begun */

    const struct sql *projects; /* control: number, server of all projects that may have work */
    /* One row of a project: due (there is work), crashed (there are crashed rows to claim), expired
     * (.rescue has work). A missing column counts as false. */
    const struct sql *poll;
    unsigned polls_at_once; /* projects that a sweep polls concurrently; 0 = 32. Use many if .poll
                               is fast */
    /* AWAITS: handles the other columns of a row that .poll returned; NULL = there are none. */
    int (*on_polled)(struct task *task,
                     struct db *db,
                     const struct rows *projects,
                     size_t project,
                     const struct rows *found);
    void (*on_swept)(void);          /* any: called after each sweep; or NULL */
    const struct queue_peers *peers; /* NULL: every process sweeps all projects */
    /* Control schema: the projects with crashed rows, for the process that runs them. :number. */
    const struct sql *crashed_put;
    const struct sql *crashed_take; /* :many number */
    /* Statements that delete old history, some rows at a time: :days, :most. A :one statement
     * returns the number of deleted rows in its first column. Ends with NULL. */
    const struct sql *const *retain;
    /* Parameters as for .retain, :one with one boolean: whether there is old history. Mostly there
     * is none, and this read costs less than deletes that delete nothing. NULL = .retain runs
     * without it. */
    const struct sql *has_old;

    enum bus_topic topic;
    const char *group;          /* group of consumers; NULL = no notifications */
    const char *message;        /* kind in the notification's envelope */
    const char *cancel_channel; /* Redis channel of "<project>:<id>" of cancelled rows; or NULL */
};

struct queue_config {
    struct directory *directory;
    struct bus *bus;
    struct str holder;          /* name of the process, unique among the live ones */
    unsigned slots;             /* items, or passes, that run concurrently */
    unsigned slots_per_project; /* 0 = as many as `slots` */
    int64_t lease_ms;
    int64_t sweep_ms; /* must be above 0 */
    int64_t attempts; /* crashes after which an item is quarantined */
    int64_t retain_days, retain_every_ms;
    bool crashed_only; /* this process runs crashed items and nothing else */
};

/* Registers the metrics of the kind, groundwork_queue_*{queue="<name>"}. Call before fork. */
void queue_prepare(const struct queue_kind *kind);
/* loop: starts to consume notifications, to sweep and to claim. The queue lives until queue_stop();
 * `kind` outlives the queue. */
struct queue *queue_start(const struct queue_kind *kind, const struct queue_config *config);
/* any: ends sweeps and retention. */
void queue_stop_sweeps(struct queue *queue);
/* any: stops claiming and releases items that have not begun. Calls done(arg) as soon as no item
 * and no reservation has a slot; NULL = no callback. At last_call_mono_ms the remaining items are
 * released in their present state if the kind has .release_begun, else cancelled. Release
 * statements may still be under way when done() is called: use background_wait(). */
void queue_drain(struct queue *queue, int64_t last_call_mono_ms, loop_fn done, void *arg);
#define QUEUES_MAX 4
/* loop: the end of a daemon, called once: ends the sweeps and retention of its queues, then stops
 * the bus, then drains the queues. Calls done(arg) when the first queue is drained and no task of
 * background.h is alive. */
void queues_end(struct bus *bus,
                struct queue *const *queues,
                size_t count,
                int64_t last_call_mono_ms,
                loop_fn done,
                void *arg);
/* any: whether queue_drain() has been called. */
bool queue_is_draining(const struct queue *queue);
/* loop: frees the queue. Call when all of its items and tasks have ended. */
void queue_stop(struct queue *queue);

/* any: announces that the project may have work. */
void queue_project_due(struct queue *queue, int64_t number);
/* any: notifies other processes of work of the project. */
void queue_notify(struct queue *queue, const struct project *project);
/* any: announces `count` rows that this process has just stored. This process claims the rows. It
 * also notifies other processes when it drains, has too few free slots, or, with .prefetch, has
 * more than prefetch / 4 claimed items that have not begun. */
void queue_rows_stored(struct queue *queue, const struct project *project, unsigned count);
/* any: the number of rows announced by queue_rows_stored() that are not known to be claimed. */
unsigned queue_rows_waiting(struct queue *queue, int64_t number);
/* any: for kinds with .pass. queue_pause() delays the project's next pass by `ms`. queue_resume()
 * ends the delay. */
void queue_pause(struct queue *queue, int64_t number, int64_t ms);
void queue_resume(struct queue *queue, int64_t number);
/* any: the row may be lost. If it is claimed here, checks in the database at once. */
void queue_item_recheck(struct queue *queue, int64_t number, int64_t id);

/* --- rows that a statement of the owner inserts and claims at once --- */

/* any: reserves slots for rows that the caller is about to insert, and returns their number: up to
 * `wanted` free slots; 0 while a project waits for a turn, the project has other work to claim, or
 * the queue drains. queue_items_adopt() ends the reservation. */
unsigned queue_slots_reserve(struct queue *queue, int64_t number, unsigned wanted);
/* co: makes items of rows that a statement of the caller has claimed, and ends the reservation of
 * `reserved` slots. `rows` has the columns of .claim; rows without an id are skipped; NULL = no
 * rows. sent_ms: monotonic time from before the statement was sent. begin(item) is called for each
 * item that gets a slot, and has to call queue_item_begin() then or later; NULL =
 * queue_item_begin(). */
AWAITS void queue_items_adopt(struct task *task,
                              struct queue *queue,
                              const struct db *db,
                              unsigned reserved,
                              const struct rows *rows,
                              int64_t sent_ms,
                              void (*begin)(struct queue_item *item));
/* any: runs an item that was handed to begin(). */
void queue_item_begin(struct queue_item *item);

/* --- for an item's run --- */

/* any: queue_item_is_lost(): the item must not write about its row. queue_item_is_releasing(): the
 * item should release itself as soon as it can. */
static inline bool queue_item_is_lost(const struct queue_item *item)
{
    return item->state == QUEUE_LOST;
}
static inline bool queue_item_is_releasing(const struct queue_item *item)
{
    return item->state == QUEUE_RELEASING;
}

/* --- sweeps, numbers --- */

/* The share of this process in the sweeps: it sweeps the projects whose number modulo `count` is
 * `index`. */
struct queue_share {
    size_t index, count;
};
/* any: the present share; it changes when processes start and end. */
struct queue_share queue_share(const struct queue *queue);

struct queue_stats {
    uint64_t on_claimed, done, released, lost, rescued, quarantined;
    unsigned running;
    size_t projects;
};
/* any: returns the numbers of a queue. They are zero if `queue` is NULL, as it is before its start
 * and after its end. Borrowed until the next call. */
const struct queue_stats *queue_stats(struct queue *queue);
/* any: publishes the numbers of all queues as metrics. */
void queue_metrics_update(void);
