#pragma once
/* Writes the rows of a job: its lease, its end and the history of its steps. */
#include "catalog/status.h"
#include "job.h"

/* A row of job_steps. JSON texts may be STR_NONE. */
struct ledger_step {
    int seq;
    struct str key;
    enum step_action action;
    enum status status;              /* a STATUS_STEP_* */
    int64_t started_ms, finished_ms; /* by the database's clock; finished 0 = still open */
    struct str input, output, error, log;
};
struct ledger_entry {
    const struct ledger_step *steps; /* rows to insert, or to replace where the seq exists */
    size_t count;
    enum status status; /* the job's new status; QUEUED = release it, NONE = unchanged */
    struct str error;   /* JSON text of a failed job */
    struct str reason;  /* why a job was skipped */
};
/* co: Makes the entry durable. Entries of a project that arrive while a write is under way are
 * written together by the next one. 0, JOB_LOST, JOB_STORE_DOWN, or a negative. */
AWAITS int ledger_write(struct job *job, const struct ledger_entry *entry) MUSTCHECK;
/* co: Writes the entry in the job's own open transaction (ledger_begin()). Results as
 * ledger_write(). */
AWAITS int ledger_write_tx(struct job *job, struct db *tx, const struct ledger_entry *entry)
    MUSTCHECK;
/* any: Stores the statements of a write without a row in `calls` (room for LEDGER_CALLS) and
 * returns their number. Running them prepares a connection for later writes. The statements are
 * arena-owned. */
enum { LEDGER_CALLS = 2 };
size_t ledger_prepare_calls(struct arena *arena, struct db_call *calls);
/* co: Opens a transaction whose first statement locks the job's lease by its token. 0, JOB_LOST,
 * JOB_STORE_DOWN, or a negative. */
AWAITS int ledger_begin(struct job *job, struct task *task, struct db **ret_tx) MUSTCHECK;
/* co: Commits. When the connection is lost during the commit, this waits for the lock on the lease
 * and then checks whether the step's row `seq` exists: *ret_committed. 0, JOB_LOST, JOB_STORE_DOWN,
 * or a negative. */
AWAITS int
ledger_commit(struct job *job, struct task *task, struct db *tx, int seq, bool *ret_committed)
    MUSTCHECK;
