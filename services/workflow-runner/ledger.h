#pragma once
/* The rows that a job leaves behind. */
#include "catalog/status.h"
#include "job.h"

/* A row of job_steps. JSON texts may be STR_NONE. */
struct ledger_step {
    int seq;
    struct str key;
    enum step_action action;
    enum status status;              /* of a step */
    int64_t started_ms, finished_ms; /* database clock; finished 0 = open */
    struct str input, output, error, log;
};
struct ledger_entry {
    const struct ledger_step *steps; /* inserted, or replaced when the seq exists */
    size_t count;
    enum status status; /* the job's new one; QUEUED = given back, NONE = as it is */
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
/* co: opens a transaction whose first statement locks the job's lease by token. */
AWAITS int ledger_begin(struct job *job, struct task *task, struct db **ret_tx) MUSTCHECK;
/* co: commits. When the connection is lost while committing, asks (by the step's row, behind the
 * lease's lock) whether it happened: *ret_committed. 0, JOB_LOST, JOB_STORE_DOWN. */
AWAITS int
ledger_commit(struct job *job, struct task *task, struct db *tx, int seq, bool *ret_committed)
    MUSTCHECK;
