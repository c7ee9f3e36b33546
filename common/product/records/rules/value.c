/* Reads values of writes, cells of imports and values of filters: a table has three small readers
 * for each field type. */
#include "records/rules/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/secret_mask.h"
#include "base/utf8.h"
#include "crypto/aead.h"
#include "json/jr.h"
#include "project/unseal.h"

#define YEAR_1_MS    (-62135596800000LL) /* 0001-01-01: PostgreSQL has no year 0 */
#define YEAR_9999_MS 253402300799999LL
#define NUMBER_BYTES 32

/* The input of a reader. */
struct input {
    const struct value_scope *scope;
    const struct model_field *field;
    const json_t *json;
};

static bool value_refuse(const struct input *in, enum problem code, const char *message)
{
    schema_error_add(in->scope->arena, in->scope->errors, in->field->name, code, "%s", message);
    return false;
}

static struct str json_text_view(const json_t *json)
{
    return (struct str){json_string_value(json), json_string_length(json)};
}

static bool
value_out_of_range(const struct input *in, const char *word, double bound, struct str exact)
{
    struct arena *arena = in->scope->arena;
    struct str text = arena_printf(arena, "%.15g", bound);

    if (exact.len > 0 && num_compare(text, exact) != 0)
        text = exact;
    schema_error_add(arena,
                     in->scope->errors,
                     in->field->name,
                     PROBLEM_OUT_OF_RANGE,
                     "must be at %s %.*s",
                     word,
                     STR_ARG(text));
    return false;
}

static struct str value_bound_text(double bound, struct str exact, char *buf)
{
    return exact.len > 0 ? exact : (struct str){buf, num_print_f64(buf, bound)};
}

/* Checks min and max of a numeric field. Numbers are compared digit by digit, without rounding. */
static bool value_in_range(const struct input *in, struct str number)
{
    const struct model_field *field = in->field;
    char min[NUMBER_BYTES];
    char max[NUMBER_BYTES];

    if (field->has_min &&
        num_compare(number, value_bound_text(field->min, field->min_text, min)) < 0)
        return value_out_of_range(in, "least", field->min, field->min_text);
    if (field->has_max &&
        num_compare(number, value_bound_text(field->max, field->max_text, max)) > 0)
        return value_out_of_range(in, "most", field->max, field->max_text);
    return true;
}

static bool value_too_long(const struct input *in, int64_t limit, const char *unit)
{
    schema_error_add(in->scope->arena,
                     in->scope->errors,
                     in->field->name,
                     PROBLEM_TOO_LONG,
                     "must be at most %lld %s",
                     (long long)limit,
                     unit);
    return false;
}

static bool value_read_text(const struct input *in, struct value *ret_value)
{
    int64_t limit = in->field->max_length;

    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a text");
    struct str text = json_text_view(in->json);
    if (limit <= 0 && in->field->type == TYPE_VARCHAR)
        limit = VALUE_VARCHAR_CHARS;
    if (limit > 0 && utf8_length(text) > (size_t)limit)
        return value_too_long(in, limit, "characters");
    if (text.len > VALUE_TEXT_BYTES)
        return value_too_long(in, VALUE_TEXT_BYTES, "bytes");
    if ((in->field->unique || in->field->indexed) && text.len > VALUE_INDEXED_BYTES)
        return value_too_long(in, VALUE_INDEXED_BYTES, "bytes");
    ret_value->param = P_STR(text);
    return true;
}

/* Reads a whole number: an integer, or a real without a fraction. */
static bool value_read_whole(const json_t *json, int64_t *ret_number)
{
    char buf[NUMBER_BYTES];

    return json_is_number(json) && num_parse_whole(jr_number(json, buf), ret_number);
}

static bool value_read_integer(const struct input *in, struct value *ret_value)
{
    char buf[NUMBER_BYTES];
    int64_t number = 0;

    if (!value_read_whole(in->json, &number))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected an integer");
    ret_value->param = P_I64(number);
    return value_in_range(in, (struct str){buf, num_print_i64(buf, number)});
}

static bool value_read_float(const struct input *in, struct value *ret_value)
{
    char buf[NUMBER_BYTES];

    if (!json_is_number(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a number");
    double number = json_number_value(in->json);
    ret_value->param = P_F64(number);
    return value_in_range(in, (struct str){buf, num_print_f64(buf, number)});
}

/* Reads the power of ten after 'e'. Returns false when no column could hold such a number. */
static bool decimal_read_exponent(struct str text, int64_t *ret_power)
{
    bool minus = text.ptr[0] == '-';

    if (minus || text.ptr[0] == '+')
        text = (struct str){text.ptr + 1, text.len - 1};
    while (text.len > 1 && text.ptr[0] == '0')
        text = (struct str){text.ptr + 1, text.len - 1};
    if (!num_parse_i64(text, ret_power) || *ret_power > 1000)
        return false;
    *ret_power = minus ? -*ret_power : *ret_power;
    return true;
}

/* Counts the digits that a JSON-style number needs before and after its decimal point. Returns
 * false when the exponent alone makes the number too large or too small. */
static bool value_decimal_digits(struct str text, int64_t *ret_before, int64_t *ret_after)
{
    int64_t whole = 0;    /* digits before the point, without leading zeros */
    int64_t fraction = 0; /* digits after the point */
    int64_t leading = 0;  /* zeros right after the point, when only zeros precede it */
    int64_t power = 0;
    bool point = false;
    bool counts = false;
    size_t at = text.ptr[0] == '-' ? 1 : 0;

    for (; at < text.len && text.ptr[at] != 'e' && text.ptr[at] != 'E'; at++) {
        if (text.ptr[at] == '.') {
            point = true;
            continue;
        }
        counts = counts || text.ptr[at] != '0';
        fraction += point;
        whole += !point && counts;
        leading += point && !counts;
    }
    if (at < text.len &&
        !decimal_read_exponent((struct str){text.ptr + at + 1, text.len - at - 1}, &power))
        return false;
    int64_t before = whole > 0 ? whole + power : power - leading;
    *ret_before = counts && before > 0 ? before : 0;
    *ret_after = fraction - power > 0 ? fraction - power : 0;
    return true;
}

/* Limits the digits, because PostgreSQL's type numeric stores all of them: the 8 bytes of
 * "1e131071" would become 131,072 digits. A JSON number is taken exactly as it is written in the
 * body. */
static bool value_read_decimal(const struct input *in, struct value *ret_value)
{
    struct arena *arena = in->scope->arena;
    char buf[NUMBER_BYTES];
    double near = 0;
    int64_t before = 0;
    int64_t after = 0;

    struct str text =
        json_is_string(in->json) ? json_text_view(in->json) : jr_number(in->json, buf);
    if (text.ptr == NULL || (json_is_string(in->json) && !num_parse_f64(text, &near)))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a number, or a number as text");
    if (!value_decimal_digits(text, &before, &after) || before + after > VALUE_DECIMAL_DIGITS)
        return value_refuse(in, PROBLEM_OUT_OF_RANGE, "must have at most 38 digits");
    ret_value->param = P_STR(arena_dup(arena, text));
    return value_in_range(in, text);
}

static bool value_read_bool(const struct input *in, struct value *ret_value)
{
    if (!json_is_boolean(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected true or false");
    ret_value->param = P_BOOL(json_is_true(in->json));
    return true;
}

static bool value_read_date(const struct input *in, struct value *ret_value)
{
    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a date such as 2026-01-31");
    struct str text = json_text_view(in->json);
    if (!clock_parse_date(text))
        return value_refuse(in, PROBLEM_PATTERN, "expected a date such as 2026-01-31");
    if (str_starts(text, STR("0000")))
        return value_refuse(in, PROBLEM_OUT_OF_RANGE, "must be in the years 1 to 9999");
    ret_value->param = P_STR(text);
    return true;
}

static bool value_read_datetime(const struct input *in, struct value *ret_value)
{
    int64_t wall_ms = 0;

    if (!json_is_string(in->json))
        return value_refuse(
            in, PROBLEM_TYPE_MISMATCH, "expected a time such as 2026-01-31T12:00:00Z");
    if (!project_time_parse(in->scope->project, json_text_view(in->json), &wall_ms))
        return value_refuse(in, PROBLEM_PATTERN, "expected a time such as 2026-01-31T12:00:00Z");
    if (wall_ms < YEAR_1_MS || wall_ms > YEAR_9999_MS)
        return value_refuse(in, PROBLEM_OUT_OF_RANGE, "must be in the years 1 to 9999");
    ret_value->param = P_TIME(wall_ms);
    return true;
}

/* Returns whether the text is a time of day: HH:MM, HH:MM:SS, or HH:MM:SS with one to six digits of
 * a fraction. */
static bool is_time(struct str text)
{
    static const char form[] = "00:00:00.000000";

    if (text.len != 5 && text.len != 8 && (text.len < 10 || text.len > 15))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (form[i] == '0' ? !ascii_is_in(text.ptr[i], "0123456789") : text.ptr[i] != form[i])
            return false;
    return memcmp(text.ptr, "24", 2) < 0 && text.ptr[3] < '6' &&
           (text.len == 5 || text.ptr[6] < '6');
}

/* Equal times have equal texts: with seconds, and without zeros at the end of the fraction. */
static bool value_read_time(const struct input *in, struct value *ret_value)
{
    static const char expected[] = "expected a time of day such as 09:30:00";

    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, expected);
    struct str text = json_text_view(in->json);
    if (!is_time(text))
        return value_refuse(in, PROBLEM_PATTERN, expected);
    while (text.len > 8 && (text.ptr[text.len - 1] == '0' || text.ptr[text.len - 1] == '.'))
        text.len--;
    if (text.len == 5)
        text = arena_printf(in->scope->arena, "%.*s:00", STR_ARG(text));
    ret_value->param = P_STR(text);
    return true;
}

/* Equal UUIDs have equal texts: an upsert compares the keys of its records as texts. */
static bool value_read_uuid(const struct input *in, struct value *ret_value)
{
    static const char expected[] = "expected a UUID such as 123e4567-e89b-42d3-a456-426614174000";

    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, expected);
    struct str text = json_text_view(in->json);
    if (!schema_format_ok("uuid", text))
        return value_refuse(in, PROBLEM_PATTERN, expected);
    ret_value->param = P_STR(arena_lower(in->scope->arena, text));
    return true;
}

/* Returns the digits that PostgreSQL prints for the numbers with an exponent: 1e300 is printed as
 * 301 digits. */
static size_t json_printed_growth(struct str text)
{
    size_t grown = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"')
            in_string = !in_string;
        if (in_string && c == '\\')
            i++;
        if (in_string || (c != '-' && (c < '0' || c > '9')))
            continue;
        struct str number = {text.ptr + i, 0};
        int64_t before = 0;
        int64_t after = 0;
        while (i < text.len && ascii_is_in(text.ptr[i], "+-.0123456789eE"))
            i++;
        number.len = (size_t)(text.ptr + i-- - number.ptr);
        if (memchr(number.ptr, 'e', number.len) == NULL &&
            memchr(number.ptr, 'E', number.len) == NULL)
            continue;
        grown += value_decimal_digits(number, &before, &after) ? (size_t)(before + after)
                                                               : VALUE_JSON_BYTES;
    }
    return grown;
}

static bool value_read_json(const struct input *in, struct value *ret_value)
{
    struct str text = jr_print(in->scope->arena, in->json);

    if (text.len + json_printed_growth(text) > VALUE_JSON_BYTES)
        return value_too_long(in, VALUE_JSON_BYTES, "bytes");
    ret_value->param = P_STR(text);
    return true;
}

static bool value_read_enum(const struct input *in, struct value *ret_value)
{
    const struct model_enum *values = in->field->values;

    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a text");
    struct str text = json_text_view(in->json);
    for (size_t i = 0; values != NULL && i < values->count; i++) {
        if (!str_eq(values->values[i], text))
            continue;
        ret_value->param = P_STR(text);
        return true;
    }
    return value_refuse(in, PROBLEM_OUT_OF_RANGE, "is not one of the allowed values");
}

static bool value_read_id(const struct input *in, struct value *ret_value)
{
    int64_t id = 0;

    if (!value_read_whole(in->json, &id))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected an id");
    if (id <= 0)
        return value_refuse(in, PROBLEM_OUT_OF_RANGE, "must be at least 1");
    ret_value->param = P_I64(id);
    return true;
}

static bool has_distinct_ids(struct arena *arena, const int64_t *ids, size_t count)
{
    int64_t *sorted = ARENA_ARRAY(arena, sorted, count);

    if (count < 2)
        return true;
    memcpy(sorted, ids, count * sizeof(*ids));
    return num_sort_unique(sorted, count) == count;
}

static bool value_read_links(const struct input *in, struct value *ret_value)
{
    size_t count = json_array_size(in->json);

    if (!json_is_array(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a list of ids");
    if (count > VALUE_LINKS_MAX)
        return value_too_long(in, VALUE_LINKS_MAX, "ids");
    int64_t *ids = ARENA_ARRAY(in->scope->arena, ids, count);
    for (size_t i = 0; i < count; i++) {
        if (!value_read_whole(json_array_get(in->json, i), &ids[i]))
            return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a list of ids");
        if (ids[i] <= 0)
            return value_refuse(in, PROBLEM_OUT_OF_RANGE, "each id must be at least 1");
    }
    if (!has_distinct_ids(in->scope->arena, ids, count))
        return value_refuse(in, PROBLEM_OUT_OF_RANGE, "must not have the same id twice");
    if (count == 0 && in->field->required)
        return value_refuse(in, PROBLEM_REQUIRED, "is required");
    ret_value->ids = ids;
    ret_value->id_count = count;
    return true;
}

static bool value_read_relation(const struct input *in, struct value *ret_value)
{
    return in->field->is_many ? value_read_links(in, ret_value) : value_read_id(in, ret_value);
}

static bool value_read_secret(const struct input *in, struct value *ret_value)
{
    struct arena *arena = in->scope->arena;

    if (!json_is_string(in->json))
        return value_refuse(in, PROBLEM_TYPE_MISMATCH, "expected a text");
    struct str plain = json_text_view(in->json);
    if (secret_classify(plain, STR(SECRET_MASK)) != SECRET_NEW)
        return value_refuse(in, PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
    if (plain.len > VALUE_SECRET_BYTES)
        return value_too_long(in, VALUE_SECRET_BYTES, "bytes");
    struct str place = value_secret_aad(arena, in->scope->project, in->field);
    ret_value->param = P_BYTES(aead_seal(arena, &in->scope->project->data_key, plain, place));
    return true;
}

/* --- import cells --- */

static json_t *cell_text(const struct model_field *field, struct str cell)
{
    json_t *text = json_stringn(cell.ptr, cell.len);

    (void)field;
    return text != NULL ? text : json_string(""); /* not UTF-8; imports refuse such rows before */
}

static json_t *cell_number(const struct model_field *field, struct str cell)
{
    int64_t whole = 0;
    double real = 0;

    cell = str_trim(cell);
    if (num_parse_i64(cell, &whole))
        return json_integer(whole);
    if (field->type == TYPE_FLOAT && num_parse_f64(cell, &real))
        return json_real(real);
    return cell_text(field, cell);
}

static json_t *cell_bool(const struct model_field *field, struct str cell)
{
    static const char *const yes[] = {"true", "t", "yes", "1"};
    static const char *const no[] = {"false", "f", "no", "0"};

    cell = str_trim(cell);
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_ieq(cell, str_from(yes[i])))
            return json_true();
        if (str_ieq(cell, str_from(no[i])))
            return json_false();
    }
    return cell_text(field, cell);
}

json_t *value_document(struct str text)
{
    struct arena *arena = arena_new(0);
    struct jr_error error;
    json_t *root = NULL;

    if (jr_parse_stored(arena, text, &root, &error) == 0)
        root = json_incref(root); /* this reference outlives the arena, which holds the first one */
    else
        root = NULL;
    arena_free(arena);
    return root;
}

static json_t *cell_ids(const struct model_field *field, struct str cell)
{
    struct str rest = str_trim(cell);

    if (rest.len > 0 && rest.ptr[0] == '[') {
        json_t *list = value_document(rest);
        return list != NULL ? list : cell_text(field, cell);
    }
    json_t *list = json_array();
    while (rest.ptr != NULL) {
        (void)json_array_append_new(list, cell_number(field, str_split(&rest, ';')));
    }
    return list;
}

static json_t *cell_trimmed(const struct model_field *field, struct str cell)
{
    return cell_text(field, str_trim(cell));
}

static json_t *cell_json(const struct model_field *field, struct str cell)
{
    json_t *document = value_document(cell);

    return document != NULL ? document : cell_text(field, cell);
}

static json_t *cell_relation(const struct model_field *field, struct str cell)
{
    return field->is_many ? cell_ids(field, cell) : cell_number(field, cell);
}

/* --- values of filters --- */

/* The value of a filter. */
struct filter_input {
    const struct project *project;
    const struct model_field *field;
    struct str text;
};

static const char *filter_read_text(const struct filter_input *in, struct db_param *ret_value)
{
    *ret_value = P_STR(in->text);
    return NULL;
}

static const char *filter_read_enum(const struct filter_input *in, struct db_param *ret_value)
{
    const struct model_enum *values = in->field->values;

    for (size_t i = 0; values != NULL && i < values->count; i++)
        if (str_eq(values->values[i], in->text))
            return filter_read_text(in, ret_value);
    return "is not one of the field's values";
}

static const char *filter_read_i64(const struct filter_input *in, struct db_param *ret_value)
{
    int64_t value;

    if (!num_parse_i64(in->text, &value))
        return "must be a whole number";
    *ret_value = P_I64(value);
    return NULL;
}

static const char *filter_read_f64(const struct filter_input *in, struct db_param *ret_value)
{
    double value;

    if (!num_parse_f64(in->text, &value))
        return "must be a number";
    *ret_value = P_F64(value);
    return NULL;
}

/* The text is sent unchanged, because numeric compares exactly. num_parse_f64() bounds length and
 * exponent. */
static const char *filter_read_decimal(const struct filter_input *in, struct db_param *ret_value)
{
    double value;

    return num_parse_f64(in->text, &value) ? filter_read_text(in, ret_value) : "must be a number";
}

static const char *filter_read_bool(const struct filter_input *in, struct db_param *ret_value)
{
    bool value = str_is(in->text, "true");

    if (!value && !str_is(in->text, "false"))
        return "must be true or false";
    *ret_value = P_BOOL(value);
    return NULL;
}

static const char *filter_read_date(const struct filter_input *in, struct db_param *ret_value)
{
    bool ok = clock_parse_date(in->text) && !str_starts(in->text, STR("0000"));

    return ok ? filter_read_text(in, ret_value) : "must be a date like 2026-01-31";
}

static const char *filter_read_time(const struct filter_input *in, struct db_param *ret_value)
{
    return is_time(in->text) ? filter_read_text(in, ret_value)
                             : "must be a time of day like 09:30:00";
}

static const char *filter_read_uuid(const struct filter_input *in, struct db_param *ret_value)
{
    return schema_format_ok("uuid", in->text)
               ? filter_read_text(in, ret_value)
               : "must be a UUID like 123e4567-e89b-42d3-a456-426614174000";
}

static const char *filter_read_datetime(const struct filter_input *in, struct db_param *ret_value)
{
    int64_t value;

    if (!project_time_parse(in->project, in->text, &value) || value < YEAR_1_MS)
        return "must be a time like 2026-01-31T12:00:00Z";
    *ret_value = P_TIME(value);
    return NULL;
}

/* --- the table --- */

static const struct {
    bool (*read)(const struct input *in, struct value *ret_value);
    json_t *(*cell)(const struct model_field *field, struct str cell);
    const char *(*filter)(const struct filter_input *in, struct db_param *ret_value);
} value_types[TYPE_COUNT] = {
    [TYPE_VARCHAR] = {value_read_text, cell_text, filter_read_text},
    [TYPE_TEXT] = {value_read_text, cell_text, filter_read_text},
    [TYPE_INTEGER] = {value_read_integer, cell_number, filter_read_i64},
    [TYPE_FLOAT] = {value_read_float, cell_number, filter_read_f64},
    [TYPE_DECIMAL] = {value_read_decimal, cell_trimmed, filter_read_decimal},
    [TYPE_BOOL] = {value_read_bool, cell_bool, filter_read_bool},
    [TYPE_DATE] = {value_read_date, cell_trimmed, filter_read_date},
    [TYPE_DATETIME] = {value_read_datetime, cell_trimmed, filter_read_datetime},
    [TYPE_TIME] = {value_read_time, cell_trimmed, filter_read_time},
    [TYPE_UUID] = {value_read_uuid, cell_trimmed, filter_read_uuid},
    [TYPE_JSON] = {value_read_json, cell_json, NULL},
    [TYPE_ENUM] = {value_read_enum, cell_text, filter_read_enum},
    [TYPE_FILE] = {value_read_id, cell_number, filter_read_i64},
    [TYPE_RELATION] = {value_read_relation, cell_relation, filter_read_i64},
    [TYPE_SECRET] = {value_read_secret, cell_text, NULL},
};

bool value_read(const struct value_scope *scope,
                const struct model_field *field,
                const json_t *json,
                struct value *ret_value)
{
    struct input in = {scope, field, json};
    struct value value = {.field = field, .param = P_NULL};

    MUST(field->type < TYPE_COUNT);
    if (json == NULL || json_is_null(json)) {
        if (field->required)
            return value_refuse(&in, PROBLEM_REQUIRED, "is required");
        *ret_value = value;
        return true;
    }
    if (!value_types[field->type].read(&in, &value))
        return false;
    *ret_value = value;
    return true;
}

bool value_is_mask(const struct model_field *field, const json_t *json)
{
    return field->type == TYPE_SECRET && json_is_string(json) &&
           secret_classify(json_text_view(json), STR(SECRET_MASK)) == SECRET_SAME;
}

struct str value_text(struct arena *arena, const struct db_param *param)
{
    char *buf;

    switch (param->kind) {
    case PARAM_I64:
        buf = arena_alloc(arena, 24);
        return (struct str){buf, num_print_i64(buf, param->i64)};
    case PARAM_F64:
        buf = arena_alloc(arena, 32);
        return (struct str){buf, num_print_f64(buf, param->f64)};
    case PARAM_BOOL:
        return param->boolean ? STR("t") : STR("f");
    case PARAM_STR:
        return param->str;
    case PARAM_TIME:
        return str_from(clock_format(arena_alloc(arena, CLOCK_TEXT_BYTES), param->i64));
    case PARAM_BYTES:
        return arena_printf(arena, "\\x%.*s", STR_ARG(codec_hex(arena, param->str)));
    case PARAM_NULL:
    case PARAM_I64S:
    case PARAM_STRS:
        break;
    }
    return STR_NONE;
}

struct str value_secret_aad(struct arena *arena,
                            const struct project *project,
                            const struct model_field *field)
{
    return aad_field(arena, project->number, field->entity->id, field->id);
}

json_t *value_cell(const struct model_field *field, struct str cell)
{
    MUST(field->type < TYPE_COUNT);
    return value_types[field->type].cell(field, cell);
}

const char *value_filter(const struct project *project,
                         const struct model_field *field,
                         struct str text,
                         struct db_param *ret_value)
{
    struct filter_input in = {project, field, text};

    MUST(field->type < TYPE_COUNT && value_types[field->type].filter != NULL);
    return value_types[field->type].filter(&in, ret_value);
}
