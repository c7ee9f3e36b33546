#pragma once
/*
 * One step of a running job, as the implementation of an action (steps/) sees it.
 *
 * run_step.c prepares the call. The action evaluates its parameters and does its work. run_step.c
 * then masks secrets, writes the history row (in the step's transaction when the action opened one)
 * and continues with the next step.
 */
#include "job.h"
#include "loop/shares.h"
#include "workflow/secrets.h"
#include "workflow/template.h"

struct step_error {
    /* Stable: template_unresolved, not_found, http_status, timeout, script_error, ... */
    const char *code;
    struct str message;
    long status_code; /* CallAnApi, RunIntegration: status of the answer, 0 = none */
    json_t *response; /* CallAnApi, RunIntegration: the answer of a failed request, NULL = none */
    const struct schema_errors *fields; /* findings of data steps and RunIntegration, NULL = none */
};

struct run;
struct step_call {
    struct run *run;   /* the run that the step belongs to */
    struct task *task; /* the job's task; its deadline is the step's */
    struct job *job;
    const struct definition *definition;
    const struct step *step;
    int seq;
    int64_t started_ms;
    const json_t *context;               /* the root that templates read */
    const struct secret_values *secrets; /* opened secrets of this workflow, NULL = it names none */
    const struct caller *caller;         /* the workflow's last editor, with the current rights */

    /* Filled while the action runs. JSON values are arena-owned. */
    json_t *input;         /* parameters as evaluated, for the history */
    json_t *output;        /* object, "data" in it */
    json_t *log;           /* array of texts */
    bool holds;            /* Condition: the outcome */
    struct db *tx;         /* set by step_begin() */
    struct shares *shares; /* quota of which the attempt holds one unit, released when the attempt
                              is over; NULL = none */
    struct share *share;
    int64_t waited_ms;  /* time that the attempt waited for its unit of `shares` */
    bool sent;          /* set by step_sent() */
    bool notify_events; /* outbox rows may have been written: notify after the commit */
    struct step_error error;
};

/* An action (AWAITS). 0, STEP_FAILED, STEP_STOP, or a negative (-ETIMEDOUT: the step's time is
 * over; -ECANCELED). */
typedef int (*step_fn)(struct step_call *call);

#define STEP(constant, action, function, kind, seconds, about) int function(struct step_call *call);
#include "catalog/step.def"

/* --- functions for actions (run_step.c, step_param.c) --- */

/* any: Fails the step with the problem's code and a formatted message. Returns STEP_FAILED. */
int step_fail(struct step_call *call, enum problem problem, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: Fails the step because the parameter `name` cannot be evaluated: rc is a TEMPLATE_*. Returns
 * STEP_FAILED. */
int step_template_fail(struct step_call *call, struct str name, int rc, struct str reason);
/* co: Evaluates a parameter by name, on a thread when the parameter or the context is large.
 * *ret_value is NULL when the parameter is not given. Only with `secrets` may its templates read
 * secrets. 0, or STEP_FAILED with a template's problem such as template_unresolved or
 * template_too_large. */
AWAITS int step_param(struct step_call *call, const char *name, bool secrets, json_t **ret_value)
    MUSTCHECK;
/* co: Evaluates a parameter like step_param() without secrets. [*] means the item `row` of its list
 * (template_context.row). */
AWAITS int step_param_row(struct step_call *call, const char *name, size_t row, json_t **ret_value)
    MUSTCHECK;
/* any: Counts the rows of a parameter's [*]. SIZE_MAX = the parameter has no [*]. 0, or
 * STEP_FAILED. */
int step_param_rows(struct step_call *call, const char *name, size_t *ret_rows) MUSTCHECK;
/* co: Evaluates a parameter like step_param() without secrets, as a text: numbers and booleans are
 * printed. STR_NONE when the parameter is not given. STEP_FAILED with type_mismatch for other
 * types. */
AWAITS int step_param_text(struct step_call *call, const char *name, struct str *ret_text)
    MUSTCHECK;
/* co: Evaluates a parameter like step_param_text(), but escapes values that templates insert for
 * HTML. */
AWAITS int step_param_html(struct step_call *call, const char *name, struct str *ret_text)
    MUSTCHECK;
/* any: Gives a new JSON value to the task's arena, which drops it at its end. Returns the value. */
json_t *step_own_json(struct step_call *call, json_t *value);
/* co: Reads a positive id from a number or a text of digits. STEP_FAILED with `required` when the
 * parameter is not given, or with type_mismatch. */
AWAITS int step_param_id(struct step_call *call, const char *name, int64_t *ret_id) MUSTCHECK;
