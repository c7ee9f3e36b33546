/*
 * CreateData, UpdateData, DeleteData: write one record in the step's transaction. The record, the
 * events that it causes and the step's history are committed together or not at all.
 */
#include "steps/data.h"

int step_create_data(struct step_call *call)
{
    struct data_step data;
    json_t *values;
    int64_t version;
    int64_t id;

    TRY(data_find_entity(call, ACT_CREATE, &data));
    TRY(step_param(call, "values", false, &values));
    data_set_input(call, "values", values);
    TRY(data_charge(call, 1));
    TRY(data_begin(call, &data));
    TRY(data_translate_result(
        call, &data, records_create(&data.ctx, data.entity, values, NULL, &id, &version)));
    data_notify(call, &data, EVENT_CREATED);
    return data_set_output(call, &data);
}

int step_update_data(struct step_call *call)
{
    struct data_step data;
    json_t *values;
    int64_t version;
    int64_t id;

    TRY(data_find_entity(call, ACT_UPDATE, &data));
    TRY(step_param_id(call, "id", &id));
    data_set_input(call, "id", step_own_json(call, json_integer(id)));
    TRY(step_param(call, "values", false, &values));
    data_set_input(call, "values", values);
    TRY(data_begin(call, &data));
    TRY(data_translate_result(
        call, &data, records_update(&data.ctx, data.entity, id, values, 0, NULL, &version)));
    data_notify(call, &data, EVENT_UPDATED);
    return data_set_output(call, &data);
}

int step_delete_data(struct step_call *call)
{
    struct data_step data;
    int64_t id;

    TRY(data_find_entity(call, ACT_DELETE, &data));
    TRY(step_param_id(call, "id", &id));
    data_set_input(call, "id", step_own_json(call, json_integer(id)));
    TRY(data_begin(call, &data));
    TRY(data_translate_result(call, &data, records_delete(&data.ctx, data.entity, id, 0)));
    (void)json_array_append_new(data.ctx.values, json_pack("{s:I}", "id", (json_int_t)id));
    data_notify(call, &data, EVENT_DELETED);
    return data_set_output(call, &data);
}
