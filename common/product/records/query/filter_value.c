/* Parses values of filters by the type of their field. */
#include "records/query/filter_value.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "records/query/filter_tree.h"

static const char *filter_read_enum(const struct model_field *field, struct str text)
{
    for (size_t i = 0; field->values != NULL && i < field->values->count; i++)
        if (str_eq(field->values->values[i], text))
            return NULL;
    return "is not one of the field's values";
}

static const char *filter_read_i64(struct str text, struct db_param *ret_value)
{
    int64_t value;

    if (!num_parse_i64(text, &value))
        return "must be a whole number";
    *ret_value = P_I64(value);
    return NULL;
}

static const char *filter_read_f64(struct str text, struct db_param *ret_value)
{
    double value;

    if (!num_parse_f64(text, &value))
        return "must be a number";
    *ret_value = P_F64(value);
    return NULL;
}

/* The text is sent unchanged, because numeric compares exactly. num_parse_f64() bounds length and
 * exponent. */
static const char *check_decimal(struct str text)
{
    double value;

    return num_parse_f64(text, &value) ? NULL : "must be a number";
}

static const char *filter_read_bool(struct str text, struct db_param *ret_value)
{
    bool value = str_is(text, "true");

    if (!value && !str_is(text, "false"))
        return "must be true or false";
    *ret_value = P_BOOL(value);
    return NULL;
}

static const char *check_date(struct str text)
{
    bool ok = clock_parse_date(text) && !str_starts(text, STR("0000"));

    return ok ? NULL : "must be a date like 2026-01-31";
}

static const char *
read_time(const struct project *project, struct str text, struct db_param *ret_value)
{
    const int64_t year_1_ms = -62135596800000LL; /* PostgreSQL has no year 0 */
    int64_t value;

    if (!project_time_parse(project, text, &value) || value < year_1_ms)
        return "must be a time like 2026-01-31T12:00:00Z";
    *ret_value = P_TIME(value);
    return NULL;
}

const char *filter_value(const struct project *project,
                         const struct model_field *field,
                         struct str text,
                         struct db_param *ret_value)
{
    *ret_value = P_STR(text);
    switch (field->type) {
    case TYPE_VARCHAR:
    case TYPE_TEXT:
        return NULL;
    case TYPE_ENUM:
        return filter_read_enum(field, text);
    case TYPE_INTEGER:
    case TYPE_FILE:
    case TYPE_RELATION:
        return filter_read_i64(text, ret_value);
    case TYPE_FLOAT:
        return filter_read_f64(text, ret_value);
    case TYPE_DECIMAL:
        return check_decimal(text);
    case TYPE_BOOL:
        return filter_read_bool(text, ret_value);
    case TYPE_DATE:
        return check_date(text);
    case TYPE_DATETIME:
        return read_time(project, text, ret_value);
    case TYPE_JSON:
    case TYPE_SECRET:
    case TYPE_COUNT:
        break;
    }
    PANIC("fields of type %d take no filter values", (int)field->type);
}
