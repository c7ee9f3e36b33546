/* Functions with which actions read their parameters and report failures. */
#include <stdarg.h>

#include "base/num.h"
#include "base/panic.h"
#include "json/jr_off_thread.h"
#include "loop/work.h"
#include "step.h"

int step_fail(struct step_call *call, enum problem problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    call->error.code = problem_code(problem);
    call->error.message = arena_vprintf(call->task->arena, format, args);
    va_end(args);
    return STEP_FAILED;
}

json_t *step_own_json(struct step_call *call, json_t *value)
{
    MUST(value != NULL);
    jr_attach_large(call->task->arena, value);
    return value;
}

static enum problem template_problem(int rc)
{
    switch (rc) {
    case TEMPLATE_SYNTAX:
        return PROBLEM_TEMPLATE_SYNTAX;
    case TEMPLATE_UNRESOLVED:
        return PROBLEM_TEMPLATE_UNRESOLVED;
    case TEMPLATE_FORBIDDEN:
        return PROBLEM_TEMPLATE_FORBIDDEN;
    default:
        return PROBLEM_TEMPLATE_TOO_LARGE;
    }
}

int step_template_fail(struct step_call *call, struct str name, int rc, struct str reason)
{
    return step_fail(call, template_problem(rc), "%.*s: %.*s", STR_ARG(name), STR_ARG(reason));
}

struct evaluation {
    struct arena *arena;
    const json_t *given;
    const struct template_context *context;
    json_t *value;
    struct str reason;
    int rc;
};

static void eval_run(void *arg)
{
    struct evaluation *in = arg;

    in->rc = template_eval(in->arena, in->given, in->context, &in->value, &in->reason);
}

/* co: Evaluates a parameter, on a thread when the parameter has thousands of expressions or reads
 * from a large context: a result may have a megabyte, and a [*] may walk a million items. One row
 * of a list is small. */
AWAITS static void eval_off_thread(struct step_call *call, struct evaluation *in)
{
    bool large = jr_is_large(in->given) || (!in->context->by_row && jr_is_large(in->context->root));

    in->arena = call->task->arena;
    if (large)
        work_off_thread(call->task, eval_run, in);
    else
        eval_run(in);
}

AWAITS static int eval_param(struct step_call *call,
                             const char *name,
                             struct template_context *context,
                             json_t **ret_value)
{
    const json_t *given = json_object_get(call->step->params, name);
    struct evaluation in = {.given = given, .context = context};

    *ret_value = NULL;
    if (given == NULL)
        return 0;
    context->root = call->context;
    eval_off_thread(call, &in);
    *ret_value = in.value;
    return in.rc == 0 ? 0 : step_template_fail(call, str_from(name), in.rc, in.reason);
}

/* Evaluates a parameter that may use secrets. An editor who may not read secrets cannot find out
 * through a workflow which secrets exist. */
AWAITS static int eval_secret(struct step_call *call, const char *name, json_t **ret_value)
{
    struct template_context context = {.root = call->context};
    const json_t *given = json_object_get(call->step->params, name);
    struct evaluation in = {.given = given, .context = &context};

    *ret_value = NULL;
    if (given == NULL)
        return 0;
    if (caller_can(call->caller, PERM_SVC_SECRETS_READ)) {
        context.secret = secrets_value;
        context.secret_arg = (void *)call->secrets;
    }
    eval_off_thread(call, &in);
    *ret_value = in.value;
    if (in.rc == TEMPLATE_FORBIDDEN)
        return step_fail(call,
                         PROBLEM_FORBIDDEN,
                         "The workflow's last editor lacks the permission svc_secrets:read.");
    return in.rc == 0 ? 0 : step_template_fail(call, str_from(name), in.rc, in.reason);
}

int step_param(struct step_call *call, const char *name, bool secrets, json_t **ret_value)
{
    struct template_context context = {0};

    return secrets ? eval_secret(call, name, ret_value)
                   : eval_param(call, name, &context, ret_value);
}

int step_param_row(struct step_call *call, const char *name, size_t row, json_t **ret_value)
{
    struct template_context context = {.by_row = true, .row = row};

    return eval_param(call, name, &context, ret_value);
}

int step_param_rows(struct step_call *call, const char *name, size_t *ret_rows)
{
    const struct template_context context = {.root = call->context};
    const json_t *given = json_object_get(call->step->params, name);
    struct str reason;

    *ret_rows = SIZE_MAX;
    if (given == NULL)
        return 0;
    int rc = template_rows(call->task->arena, given, &context, ret_rows, &reason);
    return rc == 0 ? 0 : step_template_fail(call, str_from(name), rc, reason);
}

static int
param_as_text(struct step_call *call, const char *name, const json_t *value, struct str *ret_text)
{
    *ret_text = STR_NONE;
    if (value == NULL || json_is_null(value))
        return 0;
    if (json_is_string(value))
        *ret_text = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value) || json_is_boolean(value))
        *ret_text = jr_print(call->task->arena, value);
    else
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected a text", name);
    return 0;
}

int step_param_text(struct step_call *call, const char *name, struct str *ret_text)
{
    json_t *value;

    TRY(step_param(call, name, false, &value));
    return param_as_text(call, name, value, ret_text);
}

int step_param_html(struct step_call *call, const char *name, struct str *ret_text)
{
    struct template_context context = {.html = true};
    json_t *value;

    TRY(eval_param(call, name, &context, &value));
    return param_as_text(call, name, value, ret_text);
}

static bool read_id(const json_t *value, int64_t *ret_id)
{
    if (json_is_integer(value))
        *ret_id = json_integer_value(value);
    else if (!json_is_string(value) ||
             !num_parse_i64((struct str){json_string_value(value), json_string_length(value)},
                            ret_id))
        return false;
    return *ret_id > 0;
}

int step_param_id(struct step_call *call, const char *name, int64_t *ret_id)
{
    json_t *value;
    int64_t id;

    TRY(step_param(call, name, false, &value));
    if (value == NULL || json_is_null(value))
        return step_fail(call, PROBLEM_REQUIRED, "%s: is required", name);
    if (!read_id(value, &id))
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected the id of a record", name);
    *ret_id = id;
    return 0;
}
