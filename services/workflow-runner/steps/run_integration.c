/*
 * RunIntegration: runs one operation of an integration, at most once. As in CallAnApi, the history
 * row is committed as `sent` before the request leaves the process. An access token is fetched
 * before that, if one is needed.
 */
#include "base/clock.h"
#include "integrations/use.h"
#include "job_budget.h"
#include "json/jr.h"
#include "run_step.h"
#include "step.h"

#define BEFORE_STEP_MS                                                                             \
    100 /* the request times out before the step, so that both report the same failure */

static int fail_integration(struct step_call *call, const struct integration_use *use, int rc)
{
    if (rc == INTEGRATION_BAD)
        return step_fail(call, PROBLEM_INTERNAL, "The integration cannot be read.");
    if (rc == INTEGRATION_FAILED) {
        call->error.fields = use->findings;
        if (use->error.problem == PROBLEM_UNREADABLE_ANSWER)
            call->error.status_code = use->response.status;
        return step_fail(call, use->error.problem, "%.*s", STR_ARG(use->error.message));
    }
    /* run_step.c retries this as long as nothing has been sent. */
    return step_fail(
        call, PROBLEM_DEPENDENCY_UNAVAILABLE, "The database is not available at the moment.");
}

AWAITS static int integration_read(struct step_call *call, struct integration_use *use)
{
    json_t *params;

    if (!caller_can(call->caller, PERM_SVC_INTEGRATIONS_READ))
        return step_fail(call,
                         PROBLEM_FORBIDDEN,
                         "The workflow's last editor lacks the permission svc_integrations:read.");
    TRY(step_param(call, "params", false, &params));
    call->input = json_pack("{s:O, s:O}",
                            "integration",
                            json_object_get(call->step->params, "integration"),
                            "operation",
                            json_object_get(call->step->params, "operation"));
    step_own_json(call, call->input);
    use->project = call->job->item.project;
    use->caller = call->caller;
    use->integration = jr_str(call->step->params, "integration");
    use->operation = jr_str(call->step->params, "operation");
    use->connection_id = jr_i64(call->step->params, "connection_id", 0);
    use->job_id = call->job->item.id;
    use->params = params;
    use->traceparent = call->job->traceparent;
    use->deadline_ms = call->task->deadline_ms - BEFORE_STEP_MS;
    return 0;
}

/* co: Adds the parameters to the step's history, without credentials. */
AWAITS static int store_shown_params(struct step_call *call, const struct integration_use *use)
{
    const struct integration_param *params = use->parsed_operation.params.items;
    json_t *shown = step_own_json(call, json_object());

    for (size_t i = 0; i < use->parsed_operation.params.count; i++) {
        const char *name = arena_cstr(call->task->arena, params[i].name.value);
        if (use->values.items[i] == NULL)
            continue;
        if (fill_is_hidden(&use->parsed_operation, &params[i]))
            (void)json_object_set_new(shown, name, json_string(SECRETS_MASK));
        else
            (void)json_object_set(shown, name, use->values.items[i]);
    }
    TRY(integration_mask(call->task, use, &shown));
    (void)json_object_set(call->input, "params", shown);
    return 0;
}

static int take_integration_answer(struct step_call *call, struct integration_use *use)
{
    json_t *data;

    call->error.status_code = use->response.status;
    int rc = integration_read_answer(call->task, use, &data);
    if (rc != 0)
        return rc > 0 ? fail_integration(call, use, rc) : rc;
    if (!integration_has_succeeded(use)) {
        call->error.response = data;
        return step_fail(
            call, PROBLEM_HTTP_STATUS, "The address answered %ld.", use->response.status);
    }
    call->output = step_own_json(call,
                                 json_pack("{s:O, s:I, s:O, s:I}",
                                           "data",
                                           data,
                                           "status_code",
                                           (json_int_t)use->response.status,
                                           "headers",
                                           use->headers,
                                           "call_id",
                                           (json_int_t)use->call_id));
    return 0;
}

/* co: Takes the answer when the memory budget allows the tree that it may become. */
AWAITS static int take_integration_answer_in_budget(struct step_call *call,
                                                    struct integration_use *use)
{
    struct job_budget_temporary moment;

    int rc = job_budget_temporary_acquire(call->task, jr_tree_bytes(use->answer.text), &moment);
    if (rc == BUDGET_EXCEEDED)
        return step_fail(call, PROBLEM_RESPONSE_TOO_LARGE, "The answer holds too many values.");
    TRY(rc);
    rc = take_integration_answer(call, use);
    job_budget_temporary_release(&moment);
    return rc;
}

int step_run_integration(struct step_call *call)
{
    struct integration_use *use = ARENA_NEW(call->task->arena, use);

    TRY(integration_read(call, use));
    int rc = integration_prepare(call->task, use);
    if (rc != 0)
        return rc > 0 ? fail_integration(call, use, rc) : rc;
    TRY(store_shown_params(call, use));
    TRY(step_sent(call));
    rc = integration_send(call->task, use);
    if (rc == 0)
        rc = take_integration_answer_in_budget(call, use);
    else if (rc > 0)
        rc = fail_integration(call, use, rc);
    fetch_budget_release(&use->room);
    return rc;
}
