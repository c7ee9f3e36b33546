#pragma once
/* The context of a run: the values that its templates can read. */
#include "run.h"

/* co: Makes run->root as it is before the first step. Returns false when the trigger's data cannot
 * be parsed. */
AWAITS bool context_init(struct run *run);
/* any: Set the value of `$svc.steps.<key>` for the steps that follow: context_output() to the
 * step's output, context_error() to {"error": error}. Each takes a reference of its own. */
void context_output(struct run *run, struct str key, json_t *output);
void context_error(struct run *run, struct str key, json_t *error);
/* co: Reads the history of a job that was started before, and puts the outputs and errors of its
 * steps into the context. 0, JOB_LOST, JOB_STORE_DOWN, or -EINVAL when a row cannot be parsed. */
AWAITS int context_history(struct run *run) MUSTCHECK;
/* any: The history row of a step in this run, or NULL when the step has not run. It lives as long
 * as the run. */
const struct step_history *context_find_history(const struct run *run, struct str key);
