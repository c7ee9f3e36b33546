#pragma once
/*
 * A job while it runs. run.c runs the steps in order, run_step.c runs one step, and context.c holds
 * the values that templates can read. History rows of steps without an effect wait in `pending`
 * until the next write that must be durable.
 */
#include "catalog/status.h"
#include "definition_cache.h"
#include "step.h"

#define STEP_OUTPUT_BYTES ((size_t)1 << 20) /* of one step's output, as JSON text */
#define JOB_OUTPUT_BYTES  ((size_t)8 << 20) /* of the outputs of all steps of a job */

/* The last history row of a step, in a resumed job. */
struct step_history {
    struct str key;
    int seq, run;
    enum status status;
    struct str input; /* JSON text */
    json_t *output, *error;
    int64_t started_ms;
};

struct run {
    struct job *job;
    const struct workflow_version *version;
    struct secret_values *secrets; /* NULL = the workflow names no secret */
    json_t *root, *steps;     /* values that templates can read; `steps` is a member of `root` */
    struct arena *step_arena; /* of the running step; emptied before each attempt */
    struct ledger_step *pending;
    size_t pending_count, pending_cap;
    int64_t pending_since_ms; /* mono, when the oldest row was added */
    int seq;                  /* number of the last step in the history */
    size_t output_bytes;
    struct step_history *history;
    size_t history_count;
    struct share *budget_share; /* share of quotas_large (job_budget.c) */
    uint64_t budget_bytes;      /* bytes that the job holds of that share */
    int fan_out_seq; /* number of the step whose records were last charged to the chain of events */
    bool unprepared; /* the step has not begun, because the project or the editor's rights cannot be
                        read: it is retried as long as the lease lasts */
    int stop_reason; /* JOB_LOST or JOB_STORE_DOWN when a step had to stop, else 0 */
    bool finished;   /* the job's end was written together with its last step */
    struct str error; /* JSON text, when the job has failed */
};

/* A value of *ret_next of run_step(): the job has failed, and run->error says why. */
#define RUN_FAILED (-2)

/* --- run.c --- */

/* any: Adds a row to run->pending. Its texts must live as long as the job. */
void run_add_pending(struct run *run, const struct ledger_step *row);
/* any: Makes the error of a job as JSON text, which lives as long as the job. `key` is the step's,
 * or empty; status_code 0 = none. */
struct str run_job_error(
    struct run *run, struct str key, const char *code, long status_code, struct str message);

/* --- run_step.c --- */

/* co: Runs the step. *ret_next is the index of the next step, STEP_NONE at the end of the job, or
 * RUN_FAILED. 0, JOB_LOST, JOB_STORE_DOWN, RUN_RELEASING, or a negative. */
AWAITS int run_step(struct run *run, const struct step *step, int *ret_next) MUSTCHECK;
/* any: The index of the step that follows `step`, which did not fail, or STEP_NONE. `holds` is the
 * outcome of a Condition. */
int run_next(const struct step *step, bool holds);

/* co: Runs the whole job. */
AWAITS enum queue_outcome job_run(struct task *task, struct queue_item *item);
