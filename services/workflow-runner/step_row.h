#pragma once
/* The outcome of a step as history stores it and as later steps see it: masked, and within its
 * limits. Internal to run_step.c. */
#include "ledger.h"
#include "run.h"

struct step_outcome {
    struct ledger_step row; /* its texts live as long as the job */
    json_t *output, *error; /* what later steps see: one of the two, owned by the step's arena */
    size_t output_bytes;
};

/* co: Masks and prints what the call has produced; `rc` is 0 or STEP_FAILED. A step whose output
 * exceeds a limit has failed. Returns 0, or STEP_FAILED with call->error. */
AWAITS int step_settle(struct step_call *call, int rc, struct step_outcome *ret_outcome) MUSTCHECK;
/* co: The call's masked input as JSON text for its `sent` row. It lives as long as the job. */
AWAITS struct str step_input_text(struct step_call *call);
