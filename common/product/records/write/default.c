/* Checks default values when the model changes. */
#include "records/default.h"

#include "records/rules/value.h"

bool record_default_check(struct arena *arena,
                          const struct project *project,
                          const struct model_field *field,
                          struct str *ret_fault)
{
    const json_t *json = field->default_value;
    struct str text = {json_string_value(json), json_string_length(json)};
    struct schema_errors errors = {.count = 0};
    struct value_scope scope = {arena, project, &errors};
    struct value value;

    *ret_fault = STR("");
    if (field->type == TYPE_INTEGER && json_is_real(json))
        *ret_fault = STR("must be written without a fraction");
    else if (field->type == TYPE_DATETIME && json_is_string(json) &&
             !schema_format_ok("date-time", text))
        *ret_fault = STR("expected a time with a time zone such as 2026-01-31T12:00:00Z");
    else if (!value_read(&scope, field, json, &value))
        *ret_fault = errors.items[0].message;
    return ret_fault->len == 0;
}
