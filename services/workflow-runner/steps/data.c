/* Code that the data steps share. */
#include "steps/data.h"

#include "app.h"
#include "run.h"
#include "run_step.h"
#include "runner_run_sql.h"

void data_set_input(struct step_call *call, const char *name, json_t *value)
{
    if (call->input == NULL)
        call->input = step_own_json(call, json_object());
    if (value != NULL)
        (void)json_object_set(call->input, name, value);
}

int data_find_entity(struct step_call *call, enum perm_action action, struct data_step *ret_data)
{
    struct job *job = call->job;
    const struct model *model = job->item.project->model;
    struct str name;

    TRY(step_param_text(call, "entity", &name));
    data_set_input(call, "entity", json_object_get(call->step->params, "entity"));
    const struct entity *entity = model_entity(model, name);
    if (entity == NULL)
        return step_fail(call, PROBLEM_NOT_FOUND, "There is no entity \"%.*s\".", STR_ARG(name));
    if (!caller_can_entity(call->caller, entity->id, action))
        return step_fail(call,
                         PROBLEM_FORBIDDEN,
                         "The workflow's last editor lacks the permission %.*s:%s.",
                         STR_ARG(entity->name),
                         perm_action_name(action));
    if (!caller_has_api_access(call->caller))
        return step_fail(call,
                         PROBLEM_API_ACCESS_DISABLED,
                         "None of the roles of the workflow's last editor has API access.");
    *ret_data = (struct data_step){
        .ctx = {.task = call->task,
                .directory = runner_directory(),
                .project = job->item.project,
                .db = &job->item.project->db,
                .model = model,
                .caller = call->caller,
                .depth = job->depth + 1,
                .root = job->root,
                .traceparent = job->traceparent,
                .values = step_own_json(call, json_array()),
                .values_bytes = 2 * STEP_OUTPUT_BYTES}, /* rough: the exact limit applies when the
                                                           output is printed */
        .entity = entity,
    };
    return 0;
}

int data_charge(struct step_call *call, size_t records)
{
    const struct job *job = call->job;
    int64_t most = runner_conf()->fan_out_records;
    struct rows rows;

    if (job->depth == 0 || records == 0 || call->run->fan_out_seq == call->seq)
        return 0;
    int rc = db_query(call->task,
                      &job->item.project->db,
                      SQL_RUN_FAN_OUT(.root = job->root, .records = (int64_t)records),
                      &rows);
    if (rc > 0)
        return step_fail(
            call, PROBLEM_DEPENDENCY_UNAVAILABLE, "The database is not available at the moment.");
    TRY(rc);
    call->run->fan_out_seq = call->seq;
    if (sql_run_fan_out_row(&rows, 0).records <= most)
        return 0;
    return step_fail(call,
                     PROBLEM_FAN_OUT_GUARD,
                     "The jobs of this chain of events would create more than %lld records.",
                     (long long)most);
}

int data_begin(struct step_call *call, struct data_step *data)
{
    TRY(step_begin(call));
    data->ctx.db = call->tx;
    return 0;
}

int data_translate_result(struct step_call *call, struct data_step *data, int rc)
{
    const struct records_error *error = &data->ctx.error;

    if (rc != RECORDS_FAILED)
        return rc;
    struct schema_errors *fields = ARENA_NEW(call->task->arena, fields);
    *fields = error->fields;
    call->error.fields = fields;
    return step_fail(call, error->code, "%.*s", STR_ARG(error->detail));
}

int data_set_output(struct step_call *call, const struct data_step *data)
{
    call->output = step_own_json(call, json_pack("{s:O}", "data", data->ctx.values));
    return 0;
}

void data_notify(struct step_call *call, const struct data_step *data, enum event_kind event)
{
    if (entity_consumers(data->entity, event) != 0 || data->ctx.model->live)
        call->notify_events = true;
}
