/* RunScript: runs JavaScript in a sandboxed process. The output is always wrapped in an array. */
#include <errno.h>

#include "app.h"
#include "script_pool.h"
#include "step.h"

int step_run_script(struct step_call *call)
{
    json_t *script = json_object_get(call->step->params, "script");
    struct script_request request = {
        .text = {json_string_value(script), json_string_length(script)},
        .svc = call->context,
        .time_ms = runner_conf()->script_time_ms < call->step->timeout_ms
                       ? runner_conf()->script_time_ms
                       : call->step->timeout_ms,
    };
    struct script_result result;

    call->task->deadline_ms = 0; /* the sandbox enforces the script's time limit */
    int rc = script_run(call->task, &request, &result);
    if (rc == -EAGAIN)
        return step_fail(call, PROBLEM_BUSY, "Too many scripts wait to be run.");
    if (rc == -ECANCELED || rc == -ETIMEDOUT)
        return rc;
    if (rc != 0)
        return step_fail(
            call, PROBLEM_SCRIPT_UNAVAILABLE, "The sandbox for scripts cannot be started.");
    call->log = result.log;
    if (!result.ok) {
        call->error.code = arena_cstr(call->task->arena, result.code);
        call->error.message = result.line > 0 ? arena_printf(call->task->arena,
                                                             "line %lld: %.*s",
                                                             (long long)result.line,
                                                             STR_ARG(result.message))
                                              : result.message;
        return STEP_FAILED;
    }
    call->output = step_own_json(call, json_pack("{s:[O]}", "data", result.value));
    return 0;
}
