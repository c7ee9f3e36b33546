/* BulkCreateData: creates a record for each item in the step's transaction, all or none. */
#include "steps/data.h"

int step_bulk_create_data(struct step_call *call)
{
    struct records_bulk in = {.atomic = true};
    struct data_step data;
    struct records_bulk_outcome made;
    json_t *items;

    TRY(data_find_entity(call, ACT_CREATE, &data));
    TRY(step_param(call, "items", false, &items));
    data_set_input(call, "items", items);
    in.items = items;
    TRY(data_charge(call, json_array_size(items)));
    TRY(data_begin(call, &data));
    TRY(data_translate_result(call, &data, records_bulk_write(&data.ctx, data.entity, &in, &made)));
    data_notify(call, &data, EVENT_CREATED);
    /* {"data": [{"id": 1}, ...], "created": n}, in the order of the items */
    for (size_t i = 0; i < made.count; i++)
        (void)json_array_append_new(data.ctx.values,
                                    json_pack("{s:I}", "id", (json_int_t)made.results[i].id));
    TRY(data_set_output(call, &data));
    (void)json_object_set_new(call->output, "created", json_integer(made.created));
    return 0;
}
