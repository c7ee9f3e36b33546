#pragma once
/*
 * A job while it runs: run.c walks its steps, run_step.c makes one step, context.c keeps what
 * templates see. History of steps without effect waits in `pending` for the next point that has to
 * be durable.
 */
#include "catalog/status.h"
#include "definition_cache.h"
#include "step.h"

#define STEP_OUTPUT_BYTES ((size_t)1 << 20) /* of one step, as JSON */
#define JOB_OUTPUT_BYTES  ((size_t)8 << 20) /* of all steps of a job together */

/* A step's last row in the history of a resumed job. */
struct past {
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
    struct secret_values *secrets; /* NULL = the workflow names none */
    json_t *root, *steps;          /* what templates see; steps is in root */
    struct arena *step_arena;      /* of the step that runs; emptied before each */
    struct ledger_step *pending;
    size_t pending_count, pending_cap;
    int64_t pending_since_ms; /* mono, of the oldest */
    int seq;                  /* of the last step in the history */
    size_t output_bytes;
    struct past *past;
    size_t past_count;
    struct share *share; /* room.c ... */
    uint64_t room;       /* ... of which it has so much */
    int fan_out_seq;     /* the step whose records the chain of events has been charged for */
    bool unprepared;  /* what the step needs to begin cannot be read: it waits as long as the lease
                         lasts */
    int gone;         /* JOB_LOST or JOB_STORE_DOWN: why a step had to stop */
    bool finished;    /* the job's end was written together with its last step */
    struct str error; /* JSON text, of a job that failed */
};

/* run_step(): the job has failed, run->error says why. */
#define RUN_FAILED (-2)

/* --- run.c --- */

/* any: adds a row to those that wait to be written. Texts are the job's. */
void run_pending(struct run *run, const struct ledger_step *row);
/* any: error of a job as JSON text. `key` may be empty. */
struct str run_job_error(
    struct run *run, struct str key, const char *code, long status_code, struct str message);

/* --- run_step.c --- */

/* co: runs the step; *ret_next is the next one, STEP_NONE at the end, or RUN_FAILED. 0, JOB_LOST,
 * JOB_STORE_DOWN, RUN_RELEASING, or a negative. */
AWAITS int run_step(struct run *run, const struct step *step, int *ret_next) MUSTCHECK;
/* any: where a step leads that ended without failing. */
int run_next(const struct step *step, bool holds);

/* co: the whole job. */
AWAITS enum queue_outcome job_run(struct task *task, struct queue_item *item);
