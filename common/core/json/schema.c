/* Body schemas: one pass over the array of fields checks a body and fills the struct. */
#include "json/schema.h"

#include <math.h>
#include <stdarg.h>

#include "base/email.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/result.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define TEXT_MAX    65536              /* characters, when the field sets no limit */
#define LIST_MAX    1000               /* items, when the field sets no limit */
#define EXACT_MAX   9007199254740992.0 /* 2^53: doubles represent all integers up to here */
#define SHOWN_BYTES 100  /* bytes of an unknown member's name that an answer repeats */
#define PATH_BYTES  4096 /* bytes of a field path */
#define PATH_DEPTH  32   /* names of a field path; deeper paths lose their beginning */

/* Position of the decoder in the body. Printed only for a finding. */
struct schema_path {
    const struct schema_path *parent;
    struct str name; /* without a pointer: an array item, at `index` */
    size_t index;
};

struct schema_decoder {
    struct arena *arena;
    struct schema_errors *errors;
};

/* --- findings --- */

/* Counts a finding. Returns false when the array of findings is full. */
static bool finding_reserve(struct schema_errors *errors)
{
    return errors->count++ < ARRAY_LEN(errors->items);
}

static void finding_set(struct arena *arena,
                        struct schema_errors *errors,
                        struct str field,
                        const char *code,
                        const char *format,
                        va_list args)
{
    struct str message = arena_vprintf(arena, format, args);
    errors->items[errors->count - 1] = (struct schema_error){field, code, message};
}

void schema_error_add(struct arena *arena,
                      struct schema_errors *errors,
                      struct str field,
                      enum problem code,
                      const char *format,
                      ...)
{
    if (!finding_reserve(errors))
        return;
    va_list args;
    va_start(args, format);
    finding_set(arena, errors, arena_dup(arena, field), problem_code(code), format, args);
    va_end(args);
}

void schema_error_add_code(struct arena *arena,
                           struct schema_errors *errors,
                           struct str field,
                           const char *code,
                           const char *format,
                           ...)
{
    if (!finding_reserve(errors))
        return;
    va_list args;
    va_start(args, format);
    finding_set(arena, errors, arena_dup(arena, field), code, format, args);
    va_end(args);
}

/* Prints a field path such as "items[3].price". */
static struct str schema_path_print(struct arena *arena, const struct schema_path *path)
{
    const struct schema_path *chain[PATH_DEPTH];
    size_t count = 0;
    for (; path != NULL && count < PATH_DEPTH; path = path->parent)
        chain[count++] = path;
    struct strbuf out;
    strbuf_init(&out, arena, PATH_BYTES);
    while (count > 0) {
        const struct schema_path *part = chain[--count];
        if (part->name.ptr == NULL) {
            strbuf_printf(&out, "[%zu]", part->index);
            continue;
        }
        if (out.len > 0)
            strbuf_char(&out, '.');
        strbuf_str(&out, part->name);
    }
    return strbuf_view(&out);
}

static void PRINTF_LIKE(4, 5) finding_add_at(const struct schema_decoder *decoder,
                                             const struct schema_path *at,
                                             enum problem code,
                                             const char *format,
                                             ...)
{
    struct schema_errors *errors = decoder->errors;
    if (!finding_reserve(errors))
        return;
    va_list args;
    va_start(args, format);
    finding_set(decoder->arena,
                errors,
                schema_path_print(decoder->arena, at),
                problem_code(code),
                format,
                args);
    va_end(args);
}

/* --- texts --- */

static struct str schema_text_of(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

/* A limit in characters or items; `otherwise` when the field sets none. */
static size_t schema_limit_of(double max, size_t otherwise)
{
    return max > 0 ? (size_t)max : otherwise;
}

static const char *format_error_text(const char *format)
{
    static const struct {
        const char *format;
        const char *words;
    } known[] = {
        {"email", "must be an e-mail address"},
        {"slug", "must be 2 to 48 characters of a-z, 0-9 and \"-\", starting with a letter"},
        {"name", "must be 1 to 48 characters of a-z, 0-9 and \"_\", starting with a letter"},
        {"url", "must be an absolute http or https address"},
        {"uri", "must be an absolute http or https address"},
        {"date", "must be a date such as 2026-01-31"},
        {"date-time", "must be a time such as 2026-01-31T12:00:00Z"},
        {"uuid", "must be a UUID"},
        {"color", "must be a color such as #1a2b3c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(format, known[i].format) == 0)
            return known[i].words;
    return "has the wrong format";
}

static void schema_check_values(const struct schema_decoder *decoder,
                                const struct schema_path *at,
                                const char *const *values,
                                struct str text)
{
    for (const char *const *it = values; *it != NULL; it++)
        if (str_is(text, *it))
            return;
    struct strbuf list;
    strbuf_init(&list, decoder->arena, PATH_BYTES);
    for (const char *const *it = values; *it != NULL; it++)
        strbuf_printf(&list, "%s%s", it == values ? "" : ", ", *it);
    finding_add_at(
        decoder, at, PROBLEM_OUT_OF_RANGE, "must be one of: %.*s", STR_ARG(strbuf_view(&list)));
}

/* Checks enum and format of a text, or of an item of a list of texts. */
static void check_enum_and_format(const struct schema_decoder *decoder,
                                  const struct schema_path *at,
                                  const struct field *field,
                                  struct str text)
{
    if (field->values != NULL)
        schema_check_values(decoder, at, field->values, text);
    const char *format = field->format;
    if (field->type == FIELD_TIME && format == NULL)
        format = "date-time";
    if (format != NULL && !schema_format_ok(format, text))
        finding_add_at(decoder, at, PROBLEM_PATTERN, "%s", format_error_text(format));
}

static void check_length(const struct schema_decoder *decoder,
                         const struct schema_path *at,
                         size_t min,
                         size_t max,
                         struct str text)
{
    if (text.len > max && utf8_length(text) > max)
        finding_add_at(decoder, at, PROBLEM_TOO_LONG, "must be at most %zu characters", max);
    else if (min == 1 && text.len == 0)
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must not be empty");
    else if (min > 1 && utf8_length(text) < min)
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must be at least %zu characters", min);
}

static void schema_read_text(const struct schema_decoder *decoder,
                             const struct schema_path *at,
                             const struct field *field,
                             const json_t *value,
                             struct in_str *out)
{
    if (!json_is_string(value)) {
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected a string");
        return;
    }
    struct str text = schema_text_of(value);
    if (field->format != NULL && strcmp(field->format, "email") == 0)
        text = email_trim(text);
    check_length(decoder, at, (size_t)field->min, schema_limit_of(field->max, TEXT_MAX), text);
    check_enum_and_format(decoder, at, field, text);
    out->value = text;
}

/* --- numbers --- */

static const char *number_print(char buf[40], double value)
{
    bool whole = value == floor(value) && fabs(value) <= EXACT_MAX;
    size_t len = whole ? num_print_i64(buf, (int64_t)value) : num_print_f64(buf, value);
    buf[len] = '\0';
    return buf;
}

static void check_bounds(const struct schema_decoder *decoder,
                         const struct schema_path *at,
                         const struct field *field,
                         double value)
{
    char min[40];
    char max[40];
    bool low = field->has_min && value < field->min;
    bool high = field->has_max && value > field->max;
    if (!low && !high)
        return;
    number_print(min, field->min);
    number_print(max, field->max);
    if (field->has_min && field->has_max)
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must be between %s and %s", min, max);
    else if (low)
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must be at least %s", min);
    else
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must be at most %s", max);
}

/* Accepts an integer, or a real with an integral value. */
static bool schema_read_integer(const struct schema_decoder *decoder,
                                const struct schema_path *at,
                                const json_t *value,
                                int64_t *ret_number)
{
    if (json_is_integer(value)) {
        *ret_number = json_integer_value(value);
        return true;
    }
    double real = json_real_value(value); /* 0 for anything else */
    if (!json_is_real(value) || real != floor(real)) {
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected an integer");
        return false;
    }
    if (fabs(real) > EXACT_MAX) {
        finding_add_at(
            decoder, at, PROBLEM_OUT_OF_RANGE, "must be written as an integer without an exponent");
        return false;
    }
    *ret_number = (int64_t)real;
    return true;
}

static void schema_read_i64(const struct schema_decoder *decoder,
                            const struct schema_path *at,
                            const struct field *field,
                            const json_t *value,
                            struct in_i64 *out)
{
    if (schema_read_integer(decoder, at, value, &out->value))
        check_bounds(decoder, at, field, (double)out->value);
}

static void schema_read_f64(const struct schema_decoder *decoder,
                            const struct schema_path *at,
                            const struct field *field,
                            const json_t *value,
                            struct in_f64 *out)
{
    if (!json_is_number(value)) {
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected a number");
        return;
    }
    out->value = json_number_value(value);
    out->json = value;
    check_bounds(decoder, at, field, out->value);
}

static void schema_read_bool(const struct schema_decoder *decoder,
                             const struct schema_path *at,
                             const json_t *value,
                             struct in_bool *out)
{
    if (!json_is_boolean(value))
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected true or false");
    out->value = json_is_true(value);
}

/* --- containers --- */

static void decode_object(const struct schema_decoder *decoder,
                          const struct schema_path *at,
                          const struct schema *schema,
                          const json_t *object,
                          char *out);

static void schema_read_json(const struct schema_decoder *decoder,
                             const struct schema_path *at,
                             const struct field *field,
                             const json_t *value,
                             struct in_json *out)
{
    if (field->type == FIELD_MAP && !json_is_object(value))
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected an object");
    out->value = (json_t *)value;
}

static bool schema_check_list(const struct schema_decoder *decoder,
                              const struct schema_path *at,
                              const struct field *field,
                              const json_t *value)
{
    if (!json_is_array(value)) {
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected an array");
        return false;
    }
    size_t count = json_array_size(value);
    size_t min = (size_t)field->min;
    size_t max = schema_limit_of(field->max, LIST_MAX);
    if (count > max)
        finding_add_at(decoder, at, PROBLEM_TOO_LONG, "must have at most %zu items", max);
    else if (count < min)
        finding_add_at(decoder, at, PROBLEM_OUT_OF_RANGE, "must have at least %zu items", min);
    return count <= max;
}

static void schema_read_ids(const struct schema_decoder *decoder,
                            const struct schema_path *at,
                            const json_t *array,
                            struct in_ids *out)
{
    out->count = json_array_size(array);
    out->items = ARENA_ARRAY(decoder->arena, out->items, out->count);
    for (size_t i = 0; i < out->count; i++) {
        struct schema_path item = {.parent = at, .index = i};
        (void)schema_read_integer(decoder, &item, json_array_get(array, i), &out->items[i]);
    }
}

static void read_texts(const struct schema_decoder *decoder,
                       const struct schema_path *at,
                       const struct field *field,
                       const json_t *array,
                       struct in_strs *out)
{
    out->count = json_array_size(array);
    out->items = ARENA_ARRAY(decoder->arena, out->items, out->count);
    for (size_t i = 0; i < out->count; i++) {
        struct schema_path item = {.parent = at, .index = i};
        const json_t *value = json_array_get(array, i);
        if (!json_is_string(value)) {
            finding_add_at(decoder, &item, PROBLEM_TYPE_MISMATCH, "expected a string");
            continue;
        }
        out->items[i] = schema_text_of(value);
        check_length(decoder, &item, 0, TEXT_MAX, out->items[i]);
        check_enum_and_format(decoder, &item, field, out->items[i]);
    }
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the body, which jr.c limits, and the schema */

/* Whether the schema does not describe the members of its object. */
static bool is_loose(const struct schema *schema)
{
    return schema->value != NULL || schema->is_unchecked;
}

/* Decodes a value of a sub-schema. Returns false when the value is not an object. */
static bool read_sub_object(const struct schema_decoder *decoder,
                            const struct schema_path *at,
                            const struct schema *sub,
                            const json_t *value,
                            char *out)
{
    if (!json_is_object(value)) {
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "expected an object");
        return false;
    }
    if (!is_loose(sub))
        decode_object(decoder, at, sub, value, out);
    return true;
}

static void schema_read_list(const struct schema_decoder *decoder,
                             const struct schema_path *at,
                             const struct schema *sub,
                             const json_t *array,
                             struct in_list *out)
{
    size_t size = is_loose(sub) ? sizeof(json_t *) : sub->struct_bytes;
    out->count = json_array_size(array);
    out->items = arena_zalloc(decoder->arena, out->count * size);
    for (size_t i = 0; i < out->count; i++) {
        struct schema_path item = {.parent = at, .index = i};
        json_t *value = json_array_get(array, i);
        char *to = (char *)out->items + i * size;
        if (read_sub_object(decoder, &item, sub, value, to) && is_loose(sub))
            memcpy(to, &value, sizeof(value));
    }
}

static void schema_read_object(const struct schema_decoder *decoder,
                               const struct schema_path *at,
                               const struct schema *sub,
                               const json_t *value,
                               struct in_obj *out)
{
    char *to = is_loose(sub) ? NULL : arena_zalloc(decoder->arena, sub->struct_bytes);
    if (read_sub_object(decoder, at, sub, value, to))
        out->value = is_loose(sub) ? (void *)value : to;
}

/* --- members --- */

/* `out` is the in_* member of the struct. */
static void schema_read_value(const struct schema_decoder *decoder,
                              const struct schema_path *at,
                              const struct field *field,
                              const json_t *value,
                              void *out)
{
    switch (field->type) {
    case FIELD_STR:
    case FIELD_TIME:
        schema_read_text(decoder, at, field, value, out);
        return;
    case FIELD_I64:
        schema_read_i64(decoder, at, field, value, out);
        return;
    case FIELD_F64:
        schema_read_f64(decoder, at, field, value, out);
        return;
    case FIELD_BOOL:
        schema_read_bool(decoder, at, value, out);
        return;
    case FIELD_JSON:
    case FIELD_MAP:
        schema_read_json(decoder, at, field, value, out);
        return;
    case FIELD_OBJ:
        schema_read_object(decoder, at, field->sub, value, out);
        return;
    case FIELD_IDS:
    case FIELD_STRS:
    case FIELD_LIST:
        break;
    }
    if (!schema_check_list(decoder, at, field, value))
        return;
    if (field->type == FIELD_IDS)
        schema_read_ids(decoder, at, value, out);
    else if (field->type == FIELD_STRS)
        read_texts(decoder, at, field, value, out);
    else
        schema_read_list(decoder, at, field->sub, value, out);
}

/* Sets `set` and `null`, with which every in_* struct begins. */
static void schema_set_flags(void *out, bool null)
{
    _Static_assert(offsetof(struct in_obj, set) == 0 && offsetof(struct in_obj, null) == 1,
                   "flags");
    bool *flags = out;
    flags[0] = true;
    flags[1] = null;
}

static void schema_read_member(const struct schema_decoder *decoder,
                               const struct schema_path *at,
                               const struct field *field,
                               const json_t *value,
                               void *out)
{
    bool null = json_is_null(value);
    schema_set_flags(out, null);
    if (!null || field->type == FIELD_JSON)
        schema_read_value(decoder, at, field, value, out);
    else if (!field->nullable)
        finding_add_at(decoder, at, PROBLEM_TYPE_MISMATCH, "must not be null");
}

static bool schema_has(const struct schema *schema, struct str name)
{
    for (size_t i = 0; i < schema->count; i++)
        if (str_is(name, schema->fields[i].name))
            return true;
    return false;
}

static bool is_set_by_service(struct str name)
{
    return str_is(name, "id") || str_is(name, "created_at") || str_is(name, "updated_at");
}

/* Reports unknown members. A name may have any length, so the answer repeats its beginning. */
static void report_unknown(const struct schema_decoder *decoder,
                           const struct schema_path *at,
                           const struct schema *schema,
                           json_t *object)
{
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        struct str name = {json_object_iter_key(it), json_object_iter_key_len(it)};
        if (schema_has(schema, name))
            continue;
        struct schema_path member = {.parent = at, .name = utf8_cut(name, SHOWN_BYTES)};
        if (is_set_by_service(name))
            finding_add_at(decoder, &member, PROBLEM_READ_ONLY, "is set by the service");
        else
            finding_add_at(decoder, &member, PROBLEM_UNKNOWN_FIELD, "is not a known field");
    }
}

static void decode_object(const struct schema_decoder *decoder,
                          const struct schema_path *at,
                          const struct schema *schema,
                          const json_t *object,
                          char *out)
{
    size_t known = 0;
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        struct schema_path member = {.parent = at, .name = str_from(field->name)};
        const json_t *value = json_object_get(object, field->name);
        if (value != NULL) {
            known++;
            schema_read_member(decoder, &member, field, value, out + field->offset);
        } else if (field->required) {
            finding_add_at(decoder, &member, PROBLEM_REQUIRED, "is required");
        }
    }
    if (known < json_object_size(object) && !schema->allows_unknown)
        report_unknown(decoder, at, schema, (json_t *)object); /* iterating changes nothing */
}

/* NOLINTEND(misc-no-recursion) */

/* --- interface --- */

bool schema_decode(struct arena *arena,
                   const struct schema *schema,
                   const json_t *body,
                   void *ret_struct,
                   struct schema_errors *errors)
{
    struct schema_decoder decoder = {.arena = arena, .errors = errors};
    bool loose = is_loose(schema);
    MUST(loose || schema->struct_bytes > 0);
    if (!loose)
        memset(ret_struct, 0, schema->struct_bytes);
    if (!json_is_object(body))
        finding_add_at(&decoder, NULL, PROBLEM_TYPE_MISMATCH, "expected an object");
    else if (!loose)
        decode_object(&decoder, NULL, schema, body, ret_struct);
    return errors->count == 0;
}
