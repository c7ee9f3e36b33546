#pragma once
/*
 * The memory budget for what jobs hold: data of triggers and outputs of steps, as bytes of their
 * text, with a share for each project. A job with at most LARGE_BYTES needs no budget. No job waits
 * for budget while it holds some: a job whose steps have produced more than the free budget is
 * released, and continues from its history when it gets the budget for all of its data.
 */
#include "run.h"

/* co: Call before anything of the job is read. Waits for budget for the trigger's data and the
 * outputs of earlier runs, then reads trigger data that the claim did not return. 0, RUN_RELEASING,
 * JOB_LOST, JOB_STORE_DOWN. */
AWAITS int job_budget_acquire(struct run *run) MUSTCHECK;
/* any: Reserves budget for the outputs of the steps so far. False: none is free now. */
bool job_budget_extend(struct run *run);
/* any: Releases the job's budget. Call at the end of the job. */
void job_budget_release(struct run *run);

/* Budget for data that a step holds for a moment: the tree of an answer before its text is counted,
 * or the message of a mail (quotas_temporary). */
struct job_budget_temporary {
    struct share *share;
    uint64_t bytes;
};

/* co: Waits for a budget of `bytes`. The caller must hold no other struct job_budget_temporary. 0,
 * BUDGET_EXCEEDED when `bytes` is more than the whole budget, -ECANCELED, -ETIMEDOUT (the task's
 * deadline). */
AWAITS int job_budget_temporary_acquire(struct task *task,
                                        uint64_t bytes,
                                        struct job_budget_temporary *ret_moment) MUSTCHECK;
/* any: Releases the budget. Calling it twice is harmless. */
void job_budget_temporary_release(struct job_budget_temporary *moment);
