/* Condition: then or else. */
#include "workflow/condition.h"
#include "step.h"

int step_condition(struct step_call *call)
{
    const struct template_context context = {.root = call->context};
    struct str reason;

    call->input = (json_t *)call->step->params;
    int rc =
        condition_eval(call->task->arena, call->step->condition, &context, &call->holds, &reason);
    if (rc != 0)
        return step_template_fail(call, STR("condition"), rc, reason);
    call->output = step_own(call, json_pack("{s:{s:b}}", "data", "result", (int)call->holds));
    return 0;
}
