/* ReadData: reads records as an array, with the filters of the list API. */
#include "steps/data.h"

AWAITS static int read_list(struct step_call *call, struct data_step *data)
{
    struct records_query query;
    int rc;

    TRY(data_read_query(call, data, &query));
    do
        rc = records_list(&data->ctx, data->entity, &query, NULL);
    while (records_should_repeat(&data->ctx, &data->entity, &rc));
    TRY(data_translate_result(call, data, rc));
    return data_set_output(call, data);
}

/* Reads one record. A missing record, or an `id` of null, gives an empty array: this is no failure,
 * and no other record is read instead. */
AWAITS static int read_one(struct step_call *call, struct data_step *data)
{
    struct records_query query = {.fields = STR_NONE};
    int64_t version;
    json_t *value;
    int64_t id;
    int rc;

    TRY(step_param(call, "id", false, &value));
    data_set_input(call, "id", value);
    if (json_is_null(value))
        return data_set_output(call, data);
    TRY(step_param_id(call, "id", &id));
    TRY(data_read_names(call, "fields", &query.fields));
    do
        rc = records_get(&data->ctx, data->entity, id, &query, NULL, &version);
    while (records_should_repeat(&data->ctx, &data->entity, &rc));
    if (rc == RECORDS_FAILED && data->ctx.error.code == PROBLEM_NOT_FOUND)
        return data_set_output(call, data);
    TRY(data_translate_result(call, data, rc));
    return data_set_output(call, data);
}

int step_read_data(struct step_call *call)
{
    struct data_step data;

    TRY(data_find_entity(call, ACT_READ, &data));
    if (json_object_get(call->step->params, "id") != NULL)
        return read_one(call, &data);
    return read_list(call, &data);
}
