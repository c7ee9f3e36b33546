#pragma once
/*
 * One claimed job in this process: an item of the queue with what its row says. It belongs to us as
 * long as its row carries our token; every write is guarded by it, and whoever finds the token gone
 * stops at once (JOB_LOST).
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/list.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "project/project.h"
#include "queue/queue.h"
#include "workflow/definition.h"

/* Between tries of what is refused for the moment. */
#define JOB_PAUSE ((struct backoff){.first_ms = 50, .most_ms = 1000})

struct job {
    struct queue_item item; /* its .project is NULL until run.c has found it; .task.arena is the
                               job's own, during a step one of the step's */
    struct list turn; /* of a tick: waits for its turn to begin, or has just begun (begin.c) */
    int64_t begun_ms; /* mono */
    int64_t workflow_id;
    int64_t root; /* of its chain of events; itself below 0 when no event began it */
    int version, run, attempt, depth;
    bool resumed;           /* it ran before: read its history first */
    bool orphan;            /* its workflow was deleted while it was made */
    bool disabled;          /* its workflow is not enabled, and it has not begun yet */
    struct str resume_step; /* a retry begins here; empty = start */
    struct str trigger_kind, trigger_event, trigger_entity; /* may be empty */
    int64_t trigger_id, trigger_entity_id;                  /* 0 = none */
    struct str trigger_data;                                /* JSON text, STR_NONE = none */
    bool large; /* trigger_data is more than a claim brings: read when there is room for it */
    int64_t trigger_at_ms; /* of an event or a tick: when it was */
    struct str traceparent;
    int64_t
        claimed_ms; /* the database's clock at the claim, so that times in the history are its */
};

/* any: now by the database's clock (wall ms). */
int64_t job_now_ms(const struct job *job);
/* any: the row that claimed it (runner_claim.sql) into the struct. */
void job_read(struct queue_item *item);

/* --- running (run.c) --- */

/* co: the whole job. */
AWAITS enum queue_outcome job_run(struct task *task, struct queue_item *item);

/* --- beginning together (begin.c) --- */

/* any: runs the job of a tick when its turn has come: what many projects need at once is not asked
 * for all at once. */
void begin_in_turn(struct queue_item *item);
/* any: it ended. */
void begin_ended(struct job *job);
/* any: while ticks are being made hardly anything begins. */
void begin_hold(bool hold);

/* --- bookkeeping (ledger.c) --- */

/* A row of job_steps. JSON texts may be STR_NONE. */
struct ledger_step {
    int seq;
    struct str key;
    enum step_action action;
    const char *status;              /* sent succeeded failed skipped interrupted */
    int64_t started_ms, finished_ms; /* database clock; finished 0 = open */
    struct str input, output, error, log;
};
struct ledger_entry {
    const struct ledger_step *steps; /* inserted, or replaced when the seq exists */
    size_t count;
    const char *status; /* the job's new status: waiting, running, succeeded failed skipped, queued
                           (given back); NULL = as it is */
    struct str error;   /* JSON text of a failed job */
    struct str reason;
};
/* co: makes the entry durable. Entries of a project that come while a write is under way go out
 * together in the next one. 0, JOB_LOST, JOB_STORE_DOWN, or a negative. */
AWAITS int ledger_write(struct job *job, const struct ledger_entry *entry) MUSTCHECK;
/* co: the same rows inside the job's own open transaction (ledger_begin). */
AWAITS int ledger_write_tx(struct job *job, struct db *tx, const struct ledger_entry *entry)
    MUSTCHECK;
/* any: the statements of a write without a row: whoever runs them makes them known to a
 * connection. Arena-owned; returns how many of LEDGER_CALLS. */
enum { LEDGER_CALLS = 2 };
size_t ledger_nothing(struct arena *arena, struct db_call *calls);
/* co: opens a transaction whose first statement locks the job's row by token. */
AWAITS int ledger_begin(struct job *job, struct task *task, struct db **ret_tx) MUSTCHECK;
/* co: commits. When the connection is lost while committing, asks (by the step's row, behind the
 * job row's lock) whether it happened: *ret_committed. 0, JOB_LOST, JOB_STORE_DOWN. */
AWAITS int
ledger_commit(struct job *job, struct task *task, struct db *tx, int seq, bool *ret_committed)
    MUSTCHECK;
