/*
 * RunIntegration: runs one operation of an integration, at most once. As in CallAnApi, the history
 * row is committed as `sent` before the request leaves the process. An access token is fetched
 * before that, if one is needed.
 */
#include "base/clock.h"
#include "integrations/use.h"
#include "json/jr.h"
#include "room.h"
#include "run_step.h"
#include "step.h"

#define BEFORE_STEP_MS                                                                             \
    100 /* the request times out before the step, so that both report the same failure */

static int integration_failed(struct step_call *call, const struct integration_use *use, int rc)
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
    step_own(call, call->input);
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
AWAITS static int note_params(struct step_call *call, const struct integration_use *use)
{
    const struct integration_param *params = use->work.params.items;
    json_t *shown = step_own(call, json_object());

    for (size_t i = 0; i < use->work.params.count; i++) {
        const char *name = arena_cstr(call->task->arena, params[i].name.value);
        if (use->values.items[i] == NULL)
            continue;
        if (fill_is_hidden(&use->work, &params[i]))
            (void)json_object_set_new(shown, name, json_string(SECRETS_MASK));
        else
            (void)json_object_set(shown, name, use->values.items[i]);
    }
    TRY(integration_hide(call->task, use, &shown));
    (void)json_object_set(call->input, "params", shown);
    return 0;
}

static int integration_answered(struct step_call *call, struct integration_use *use)
{
    json_t *data;

    call->error.status_code = use->response.status;
    int rc = integration_take(call->task, use, &data);
    if (rc != 0)
        return rc > 0 ? integration_failed(call, use, rc) : rc;
    if (!integration_went_well(use)) {
        call->error.response = data;
        return step_fail(
            call, PROBLEM_HTTP_STATUS, "The address answered %ld.", use->response.status);
    }
    call->output = step_own(call,
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
AWAITS static int integration_counted(struct step_call *call, struct integration_use *use)
{
    struct room_moment moment;

    int rc = room_moment(call->task, jr_tree_bytes(use->answer.text), &moment);
    if (rc == ROOM_NONE)
        return step_fail(call, PROBLEM_RESPONSE_TOO_LARGE, "The answer holds too many values.");
    TRY(rc);
    rc = integration_answered(call, use);
    room_moment_end(&moment);
    return rc;
}

int step_run_integration(struct step_call *call)
{
    struct integration_use *use = ARENA_NEW(call->task->arena, use);

    TRY(integration_read(call, use));
    int rc = integration_prepare(call->task, use);
    if (rc != 0)
        return rc > 0 ? integration_failed(call, use, rc) : rc;
    TRY(note_params(call, use));
    TRY(step_sent(call));
    rc = integration_send(call->task, use);
    if (rc == 0)
        rc = integration_counted(call, use);
    else if (rc > 0)
        rc = integration_failed(call, use, rc);
    fetch_room_leave(&use->room);
    return rc;
}
