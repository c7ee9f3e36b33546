/* Checks default values when the model changes. */
#include "records/default.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "json/jr.h"
#include "records/rules/value.h"

#define OFFSET_MS_MAX (14LL * 3600 * 1000)

/* A column's default keeps more digits than a write does, and PostgreSQL refuses offsets that no
 * zone has. */
static bool is_plain_time(struct str text)
{
    const char *point = memchr(text.ptr, '.', text.len);
    struct clock_reading reading;
    size_t digits = 0;

    while (point && point + 1 + digits < text.ptr + text.len &&
           ascii_is_in(point[1 + digits], "0123456789"))
        digits++;
    return clock_read(text, &reading) && reading.has_offset && digits <= 3 &&
           llabs(reading.offset_ms) <= OFFSET_MS_MAX;
}

/* Returns the number that a text of digits is, with all of its digits, or NULL. */
static const json_t *number_of_text(struct arena *arena, const json_t *text)
{
    struct jr_error error;
    json_t *number;

    if (jr_parse(arena,
                 (struct str){json_string_value(text), json_string_length(text)},
                 &number,
                 &error) != 0)
        return NULL;
    return json_is_number(number) ? number : NULL;
}

bool record_default_read(struct arena *arena,
                         const struct project *project,
                         struct model_field *field,
                         struct str *ret_fault)
{
    struct schema_errors errors = {.count = 0};
    struct value_scope scope = {arena, project, &errors};
    const json_t *json = field->default_value;
    struct value value;

    *ret_fault = STR("");
    if (field->type == TYPE_INTEGER && json_is_real(json))
        *ret_fault = STR("must be written without a fraction");
    else if (field->type == TYPE_DATETIME && json_is_string(json) &&
             !is_plain_time((struct str){json_string_value(json), json_string_length(json)}))
        *ret_fault = STR("expected a time with a time zone such as 2026-01-31T12:00:00.000Z");
    else if (field->type == TYPE_DECIMAL && json_is_string(json))
        json = number_of_text(arena, json);
    if (ret_fault->len > 0)
        return false;
    if (json == NULL)
        *ret_fault = STR("expected a number");
    else if (!value_read(&scope, field, json, &value))
        *ret_fault = errors.items[0].message;
    field->default_value = json;
    return ret_fault->len == 0;
}
