#pragma once
/*
 * The memory budget for what jobs hold: data of triggers and outputs of steps, as bytes of their
 * text, with a share for each project. A job with little data needs no budget. No job waits for
 * budget while it holds some: a job whose steps have produced more than the free budget is
 * released, and continues from its history when it gets the budget for all of its data.
 */
#include "run.h"

/* co: Call before anything of the job is read. Waits for budget for the trigger's data and the
 * outputs of earlier runs, then reads trigger data that the claim did not return. 0, RUN_RELEASING,
 * JOB_LOST, JOB_STORE_DOWN. */
AWAITS int room_wait(struct run *run) MUSTCHECK;
/* any: Reserves budget for the outputs of the steps so far. False: none is free now. */
bool room_grow(struct run *run);
/* any: Releases the job's budget. Call at the end of the job. */
void room_leave(struct run *run);

/* Budget for data that a step holds for a moment: the tree of an answer before its text is counted,
 * or the message of a mail (quotas_moments). */
struct room_moment {
    struct share *share;
    uint64_t bytes;
};

/* co: Waits for a budget of `bytes`. The caller must hold no other room_moment. 0, ROOM_NONE when
 * `bytes` is more than the whole budget, -ECANCELED, -ETIMEDOUT (the task's deadline). */
AWAITS int room_moment(struct task *task, uint64_t bytes, struct room_moment *ret_moment) MUSTCHECK;
/* any: Releases the budget. Calling it twice is harmless. */
void room_moment_end(struct room_moment *moment);
