/* BulkCreateData: a record for each item, all or none, in the step's transaction. */
#include "steps/data.h"

/* {"data": [{"id": 1}, ...], "created": n}, in the order of the items. */
static int put_output(struct step_call *call, const json_t *answer)
{
    const json_t *results = json_object_get(answer, "results");
    json_t *list = json_array();
    json_t *result;
    size_t i;

    call->output = step_own(call, json_pack("{s:o}", "data", list));
    (void)json_object_set(call->output, "created", json_object_get(answer, "created"));
    json_array_foreach(results, i, result)(void)
        json_array_append_new(list, json_pack("{s:O}", "id", json_object_get(result, "id")));
    return 0;
}

int step_bulk_create_data(struct step_call *call)
{
    struct records_bulk in = {.atomic = true};
    struct data_step data;
    json_t *answer;
    json_t *items;

    TRY(data_open(call, ACT_CREATE, &data));
    TRY(step_param(call, "items", false, &items));
    data_input(call, "items", items);
    in.items = items;
    TRY(data_charge(call, json_array_size(items)));
    TRY(data_begin(call, &data));
    TRY(data_check(call, &data, records_bulk(&data.ctx, data.entity, &in, &data.out)));
    TRY(data_read_out(call, &data, &answer));
    data_notify(call, &data, EVENT_CREATED);
    return put_output(call, answer);
}
