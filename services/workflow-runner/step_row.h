#pragma once
/* How a step ended, as history keeps it and as later steps see it: masked, within its bounds.
 * Internal to run_step.c. */
#include "ledger.h"
#include "run.h"

struct step_outcome {
    struct ledger_step row; /* texts are the job's */
    json_t *output, *error; /* what later steps see: one of them; the step's arena owns it */
    size_t output_bytes;
};

/* co: masks and prints what the call has left; `rc` is 0 or STEP_FAILED. A step whose output is
 * not within bounds has failed: returns STEP_FAILED with call->error. */
AWAITS int step_settle(struct step_call *call, int rc, struct step_outcome *ret_outcome) MUSTCHECK;
/* co: the call's input alone, masked, for its `sent` row. */
AWAITS struct str step_input_text(struct step_call *call);
