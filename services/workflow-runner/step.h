#pragma once
/*
 * One step of a running job, as an action's implementation (steps/) sees it.
 *
 * run.c prepares the call, the action evaluates its parameters and does its work; run.c then masks
 * secrets, writes the history row (in the step's transaction when it opened one) and goes on.
 */
#include "job.h"
#include "loop/shares.h"
#include "workflow/secrets.h"
#include "workflow/template.h"

struct step_error {
    const char
        *code; /* stable: template_unresolved, not_found, http_status, timeout, script_error, ... */
    struct str message;
    long status_code;                   /* CallAnApi: of the answer, 0 = none */
    json_t *response;                   /* CallAnApi: the answer of a failure, NULL = none */
    const struct schema_errors *fields; /* data steps: findings */
};

struct run;
struct step_call {
    struct run *run;   /* run_step.c's own */
    struct task *task; /* the job's task; its deadline is the step's */
    struct job *job;
    const struct definition *definition;
    const struct step *step;
    int seq;
    int64_t started_ms;
    const json_t *context;               /* root for templates */
    const struct secret_values *secrets; /* opened ones of this workflow, NULL = it names none */
    const struct caller *caller;         /* the last editor, rights as of now */

    /* Filled by the action; arena-owned. */
    json_t *input;         /* parameters as evaluated, for the history */
    json_t *output;        /* object, "data" in it */
    json_t *log;           /* array of texts */
    bool holds;            /* Condition: the outcome */
    struct db *tx;         /* step_begin() */
    struct shares *shares; /* its turn at what all share: given back when the attempt is over */
    struct share *share;
    int64_t waited_ms;  /* for it */
    bool sent;          /* step_sent() */
    bool notify_events; /* outbox rows may have been written: notify after the commit */
    struct step_error error;
};

/* AWAITS. 0, STEP_FAILED, STEP_GONE, or a negative (-ETIMEDOUT: the step's time is over;
 * -ECANCELED). */
typedef int (*step_fn)(struct step_call *call);

#define STEP(constant, action, function, kind, seconds, about) int function(struct step_call *call);
#include "catalog/step.def"

/* --- what actions use (run_step.c) --- */

/* any: fails the step: returns STEP_FAILED. */
int step_fail(struct step_call *call, enum problem problem, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: fails the step for a TEMPLATE_* of the parameter. */
int step_template_fail(struct step_call *call, struct str name, int rc, struct str reason);
/* co: evaluates a parameter by name, on a thread when it or the context is large; *ret_value NULL
 * when it is not given. Secrets only when `secrets`. 0, or STEP_FAILED with template_unresolved,
 * template_too_large. */
AWAITS int step_param(struct step_call *call, const char *name, bool secrets, json_t **ret_value)
    MUSTCHECK;
/* co: the same, where [*] means one row of its list (template_context.row). */
AWAITS int step_param_row(struct step_call *call, const char *name, size_t row, json_t **ret_value)
    MUSTCHECK;
/* any: how many rows the [*] of a parameter has, SIZE_MAX = it has none. 0, or STEP_FAILED. */
int step_param_rows(struct step_call *call, const char *name, size_t *ret_rows) MUSTCHECK;
/* co: the same, as a text (numbers and booleans printed); STR_NONE when not given. STEP_FAILED
 * with type_mismatch. */
AWAITS int step_param_text(struct step_call *call, const char *name, struct str *ret_text)
    MUSTCHECK;
/* co: the same, with what templates insert escaped for HTML. */
AWAITS int step_param_html(struct step_call *call, const char *name, struct str *ret_text)
    MUSTCHECK;
/* any: hands a new JSON value to the task's arena, which drops it; returns it. */
json_t *step_own(struct step_call *call, json_t *value);
/* co: a positive id from a number or a text of digits; STEP_FAILED with type_mismatch or not
 * given: required. */
AWAITS int step_param_id(struct step_call *call, const char *name, int64_t *ret_id) MUSTCHECK;
