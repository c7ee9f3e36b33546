/* Condition: decides whether `then` or `else` follows. */
#include "workflow/condition.h"
#include "json/jr_off_thread.h"
#include "loop/work.h"
#include "step.h"

struct condition_evaluation {
    struct step_call *call;
    struct str reason;
    int rc;
};

static void condition_run(void *arg)
{
    struct condition_evaluation *in = arg;
    struct step_call *call = in->call;
    const struct template_context context = {.root = call->context};

    in->rc = condition_eval(
        call->task->arena, call->step->condition, &context, &call->holds, &in->reason);
}

/* Uses a thread when there is much to compare: a [*] may walk a million items. */
int step_condition(struct step_call *call)
{
    struct condition_evaluation in = {.call = call};

    call->input = (json_t *)call->step->params;
    if (jr_is_large(call->context) || jr_is_large(call->step->params))
        work_off_thread(call->task, condition_run, &in);
    else
        condition_run(&in);
    if (in.rc != 0)
        return step_template_fail(call, STR("condition"), in.rc, in.reason);
    call->output = step_own_json(call, json_pack("{s:{s:b}}", "data", "result", (int)call->holds));
    return 0;
}
