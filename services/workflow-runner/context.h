#pragma once
/* What templates of a run see. */
#include "run.h"

/* co: root as it is before the first step. False when the trigger's data cannot be read. */
AWAITS bool context_init(struct run *run);
/* any: what `$svc.steps.<key>` is from now on: the step's output, or {"error": ...}. Takes a
 * reference. */
void context_output(struct run *run, struct str key, json_t *output);
void context_error(struct run *run, struct str key, json_t *error);
/* co: of a job that was started before: reads its history; outputs of steps that succeeded are in
 * the context. 0, JOB_LOST, JOB_STORE_DOWN, or -EINVAL (it cannot be read). */
AWAITS int context_history(struct run *run) MUSTCHECK;
/* any: the row of a step in this run, NULL = it did not run. */
const struct past *context_past(const struct run *run, struct str key);
