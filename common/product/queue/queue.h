#pragma once
/*
 * Work that stands in rows of projects and is done by whichever process claims it first. A kind of
 * work is a table of its statements and one function:
 *
 *     static const struct queue_kind mails = {
 *         .name = "mails", .claim = &SQL_MAILS_CLAIM, .renew = &SQL_MAILS_RENEW,
 *         .held = &SQL_MAILS_HELD, .release = &SQL_MAILS_RELEASE, .rescue = &SQL_MAILS_RESCUE,
 *         .projects = &SQL_MAILS_PROJECTS, .look = &SQL_MAILS_LOOK, .run = mail_run,
 *     };
 *     queue = queue_start(&mails, &(struct queue_config){.directory = ..., .slots = 16, ...});
 *
 * Claim. A project's rows are claimed some at a time, each with a lease and a fencing token: every
 * write about the row asks for the token, so that a process that was presumed dead writes nothing.
 * The lease is granted and judged by the database's clock; this process only counts, from before
 * the statement was sent, how long it may believe in it.
 * Renewal. Leases are renewed every third of their length, whatever the items do. An item whose
 * token is not ours any more, or that could not be renewed in time, is lost: its task is cancelled.
 * A kind without .renew has until its lease ends.
 * Fair turns. Projects take turns for the slots (turns.h); one project's flood delays its own.
 * Notification. An entry of the bus says which project to look at; without one a sweep finds it.
 * Crash. Rows whose last process died are crashed: one of them may have taken it down. They are
 * claimed apart from the others and one at a time, so that the next crash has one cause: here
 * (the kind has .claim_crashed), or in a process of its own (it has .crashed_put as well). One that
 * has crashed too many processes is quarantined by .rescue.
 * Drain. Nothing new is claimed; what has not begun is given back, what runs is asked to
 * (QUEUE_RELEASING), and what is left at the end is given back as it is, or cancelled.
 *
 * Loop thread only. Statements name what they want of what they are given (:most::bigint).
 */
#include "bus/bus.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "project/project.h"

struct queue;         /* a kind of work in this process */
struct queue_project; /* what it knows of one project */
struct queue_item;

/* Where an item is. The value names the list that it stands in; queue_move() alone changes it. */
enum queue_state {
    QUEUE_CLAIMED,   /* ahead of its turn: it waits for a slot */
    QUEUE_RUNNING,   /* it has a slot */
    QUEUE_RELEASING, /* it has a slot, and gives itself back as soon as it can */
    QUEUE_LOST,      /* the row is not ours any more: it writes nothing and ends */
    QUEUE_ENDED,     /* until its coroutine has left */
    QUEUE_STATES,
};

/* What became of an item, as its run returns it. */
enum queue_outcome {
    QUEUE_DONE,
    QUEUE_RELEASED, /* given back: somebody claims it again */
    QUEUE_GONE,     /* it was lost, or nobody knows */
};

/* The first member of a kind's own struct. It and all that its arena holds lives until its run has
 * returned. */
struct queue_item {
    struct task task;    /* .arena is the item's, unless its run exchanges it for a while */
    struct arena *arena; /* the item's own */
    struct queue_project *owner;
    struct list link;
    enum queue_state state;
    bool crashed;            /* its last process died with it */
    struct db db;            /* the project's schema */
    struct project *project; /* held; NULL: whoever made it has not asked for it */
    struct rows rows;        /* the one row that the claim returned */
    int64_t id, token;       /* columns "id" and "token" of it */
    int64_t claimed_mono_ms;
    int64_t lease_mono_ms; /* ours until then, by our monotonic clock */
    struct loop_hook freed;
};

/* The processes that share the sweeps; all on the control schema. :holder is the process's name. */
struct queue_peers {
    const struct sql *alive;  /* :exec, it is there */
    const struct sql *live;   /* :many id, in a fixed order */
    const struct sql *forget; /* :exec, those that died long ago */
    const struct sql *gone;   /* :exec, it leaves */
    const struct sql *shared; /* :exec, before it has two items at a time; or NULL */
    const struct sql *alone;  /* :many id of :holders that never had; or NULL */
};

struct queue_kind {
    const char *name; /* in logs and metrics */
    size_t size;      /* of the kind's own struct; 0 = struct queue_item */
    /* any: fills the kind's own members of a new item, all zero; NULL = there are none. */
    void (*read)(struct queue_item *item);
    /* AWAITS: all of the item. It marks the row's end itself, guarded by the token. The task's
     * tenant is the project, where the item has one. */
    enum queue_outcome (*run)(struct task *task, struct queue_item *item);
    /* AWAITS, instead of .run and all statements but .projects and .look: work without leases, one
     * pass of a project at a time. A db_result asks for it again in a moment. */
    int (*pass)(struct task *task, struct queue *queue, struct project *project, bool *ret_more);
    int64_t pass_ms; /* its deadline; 0 = 15,000 */

    /* :most, :lease_ms, :holder (the process's name), :bytes (claim_bytes). Rows with id, token,
     * and what the kind needs; each row that it returns is claimed. */
    const struct sql *claim;
    const struct sql *claim_crashed; /* the same of crashed rows; NULL: claim takes them too */
    const struct sql *renew;         /* :ids, :tokens, :lease_ms: the ids that it has renewed */
    const struct sql *held;          /* :ids, :tokens: the ids that are ours still */
    const struct sql *release;       /* :ids, :tokens: given back, as if never claimed */
    const struct sql *holders;       /* names of the processes whose leases have ended; or NULL */
    /* any: rows of the project were claimed here; `waiting` of those that queue_stored() told of
     * may be left. NULL = nothing. */
    void (*claimed)(int64_t number, unsigned waiting);
    /* :attempts, :alone (of the holders those that never had two items at a time): rows whose
     * process died, put back or, after so many attempts, quarantined: id, attempt, quarantined. */
    const struct sql *rescue;
    int64_t claim_bytes;
    unsigned ahead;     /* rows of a project claimed ahead of the slots; 0 = as many as are free */
    bool release_begun; /* at the end of the drain: .release is for what has begun too */

    const struct sql *projects; /* control: number, server, of all that may have such work */
    /* One row of a project: due (there is work), crashed (there is some to be claimed apart),
     * expired (.rescue has work). Columns that are missing are false. */
    const struct sql *look;
    unsigned looks; /* projects that are looked at together; 0 = 32. Many where a look costs less
                       than to wake up for its answer */
    /* AWAITS: what else the look has found; NULL = nothing. */
    int (*looked)(struct task *task,
                  struct db *db,
                  const struct rows *projects,
                  size_t project,
                  const struct rows *found);
    void (*swept)(void);             /* any: after each sweep; or NULL */
    const struct queue_peers *peers; /* NULL: every process looks at all projects */
    /* Control schema; projects with crashed rows, for the process that runs them. :number. */
    const struct sql *crashed_put;
    const struct sql *crashed_take; /* :many number */
    /* History that is old enough goes, some at a time: :days, :most. A :one statement returns how
     * many are gone in its first column. Ends with NULL. */
    const struct sql *const *retain;
    /* The same parameters, :one with one boolean: there is some. Mostly there is none, and a read
     * costs less than writes of nothing. NULL = .retain is run at once. */
    const struct sql *old;

    enum bus_topic topic;
    const char *group;          /* of consumers; NULL = nobody is notified */
    const char *message;        /* envelope's kind */
    const char *cancel_channel; /* "<project>:<id>" when a row was cancelled; or NULL */
};

struct queue_config {
    struct directory *directory;
    struct bus *bus;
    struct str holder;          /* the process's name, unique among those that live */
    unsigned slots;             /* items, or passes, at once */
    unsigned slots_per_project; /* 0 = all */
    int64_t lease_ms;
    int64_t sweep_ms; /* above 0 */
    int64_t attempts; /* crashes until an item is quarantined */
    int64_t retain_days, retain_every_ms;
    bool crashed_only; /* this process runs crashed items and nothing else */
};

/* Before fork: metrics of the kind, as groundwork_queue_*{queue="<name>"}. */
void queue_prepare(const struct queue_kind *kind);
/* loop: consumes, sweeps and claims from now on. */
struct queue *queue_start(const struct queue_kind *kind, const struct queue_config *config);
/* any: sweeps and retention end. */
void queue_stop_looking(struct queue *queue);
/* any: nothing new is claimed. done(arg) when nothing is claimed any more; what is left at
 * last_call_mono_ms is given back as it is or cancelled. done NULL: nobody waits. Statements may be
 * under way still: background_wait(). */
void queue_drain(struct queue *queue, int64_t last_call_mono_ms, loop_fn done, void *arg);
/* loop: the end of a daemon, once: sweeps and retention of its queues end, then the bus, then they
 * are drained. done(arg) when nothing of the first is claimed any more and no task is alive. */
#define QUEUES_MAX 4
void queue_end(struct bus *bus,
               struct queue *const *queues,
               size_t count,
               int64_t last_call_mono_ms,
               loop_fn done,
               void *arg);
bool queue_draining(const struct queue *queue);
/* loop: frees it; nothing runs any more. */
void queue_stop(struct queue *queue);

/* any: the project may have such work. */
void queue_due(struct queue *queue, int64_t number);
/* any: notifies other processes. */
void queue_notify(struct queue *queue, const struct project *project);
/* any: work was just stored by this process: it is done here; without a free slot others
 * are notified. */
void queue_stored(struct queue *queue, const struct project *project, unsigned count);
/* any: how many rows that queue_stored() told of have not been claimed, as far as is known here. */
unsigned queue_waiting(struct queue *queue, int64_t number);
/* any: of kinds with .pass: the project's next one begins after so long, or after queue_resume().
 */
void queue_pause(struct queue *queue, int64_t number, int64_t ms);
void queue_resume(struct queue *queue, int64_t number);
/* any: the row may not be ours any more: when it is claimed here the database is asked at once. */
void queue_recheck(struct queue *queue, int64_t number, int64_t id);

/* --- rows that a statement of the owner's has made and claimed --- */

/* any: keeps slots for rows that are about to be made, as many of `wanted` as are free while nobody
 * waits for one. queue_adopt() ends the reservation. */
unsigned queue_reserve(struct queue *queue, int64_t number, unsigned wanted);
/* co: rows (NULL = none) as a claim returns them, those without an id aside, are items now.
 * sent_ms (mono): before the statement was sent. begin(item) is to call queue_begin() when it has
 * come to it; NULL = at once. */
AWAITS void queue_adopt(struct task *task,
                        struct queue *queue,
                        const struct db *db,
                        unsigned reserved,
                        const struct rows *rows,
                        int64_t sent_ms,
                        void (*begin)(struct queue_item *item));
/* any: runs an item that was handed to begin(). */
void queue_begin(struct queue_item *item);

/* --- what an item's run asks --- */

static inline bool queue_lost(const struct queue_item *item)
{
    return item->state == QUEUE_LOST;
}
static inline bool queue_releasing(const struct queue_item *item)
{
    return item->state == QUEUE_RELEASING;
}

/* --- sweeps, numbers --- */

/* This process among those that share the sweeps: projects whose number modulo `count` is `index`
 * are its own. */
struct queue_share {
    size_t index, count;
};
struct queue_share queue_share(const struct queue *queue);

struct queue_stats {
    uint64_t claimed, done, released, lost, rescued, quarantined;
    unsigned running;
    size_t projects;
};
/* any: NULL: before it started, or after its end: zeros. Borrowed until the next call. */
const struct queue_stats *queue_stats(struct queue *queue);
/* any: the numbers of all queues as metrics. */
void queue_measure(void);
