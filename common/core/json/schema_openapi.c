/* Writes a schema as an OpenAPI 3.0 schema object (OpenAPI 3.0.3, "Schema Object"). */
#include <math.h>

#include "base/result.h"
#include "json/schema.h"

#define SLUG_PATTERN  "^[a-z][a-z0-9-]{1,47}$"
#define NAME_PATTERN  "^[a-z][a-z0-9_]{0,47}$"
#define KEY_PATTERN   "^[a-z0-9_]+$"
#define COLOR_PATTERN "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$"

/* Maps our formats to formats that OpenAPI tools know, or to a pattern. */
static const struct {
    const char *ours;
    const char *format;
    const char *pattern;
} format_map[] = {
    {"email", "email", NULL},
    {"url", "uri", NULL},
    {"uri", "uri", NULL},
    {"password", "password", NULL},
    {"date", "date", NULL},
    {"date-time", "date-time", NULL},
    {"uuid", "uuid", NULL},
    {"slug", NULL, SLUG_PATTERN},
    {"name", NULL, NAME_PATTERN},
    {"key", NULL, KEY_PATTERN},
    {"color", NULL, COLOR_PATTERN},
};

static void write_format(struct jw *w, const char *ours)
{
    for (size_t i = 0; i < ARRAY_LEN(format_map); i++) {
        if (strcmp(ours, format_map[i].ours) != 0)
            continue;
        if (format_map[i].format != NULL)
            JW_CSTR(w, "format", format_map[i].format);
        if (format_map[i].pattern != NULL)
            JW_CSTR(w, "pattern", format_map[i].pattern);
        return;
    }
    JW_CSTR(w, "format", ours);
}

/* Writes whole numbers without an exponent, so that generated clients do not churn. */
static void write_limit(struct jw *w, const char *key, double value)
{
    jw_lit(w, key);
    if (value == floor(value) && fabs(value) <= 9007199254740992.0)
        jw_i64(w, (int64_t)value);
    else
        jw_f64(w, value);
}

/* An enum that takes null must list it (OpenAPI 3.0.3, proposal "clarify nullable"). */
static void write_enum(struct jw *w, const char *const *values, bool nullable)
{
    jw_lit(w, "enum");
    jw_arr(w);
    for (; *values != NULL; values++)
        jw_cstr(w, *values);
    if (nullable)
        jw_null(w);
    jw_arr_end(w);
}

static void write_ref(struct jw *w, const struct schema *schema)
{
    jw_lit(w, "$ref");
    struct strbuf *out = w->out;
    struct str ref = arena_printf(out->arena, "#/components/schemas/%s", schema->name);
    jw_str(w, ref);
}

static void write_text(struct jw *w, const struct field *field)
{
    JW_CSTR(w, "type", "string");
    if (field->format != NULL)
        write_format(w, field->format);
    else if (field->type == FIELD_TIME)
        JW_CSTR(w, "format", "date-time");
    if (field->min > 0)
        write_limit(w, "minLength", field->min);
    if (field->max > 0)
        write_limit(w, "maxLength", field->max);
    if (field->values != NULL)
        write_enum(w, field->values, field->nullable);
}

static void write_number(struct jw *w, const struct field *field)
{
    bool integer = field->type == FIELD_I64;
    JW_CSTR(w, "type", integer ? "integer" : "number");
    if (field->format == NULL)
        JW_CSTR(w, "format", integer ? "int64" : "double");
    if (field->has_min)
        write_limit(w, "minimum", field->min);
    if (field->has_max)
        write_limit(w, "maximum", field->max);
}

static void write_any_object(struct jw *w)
{
    JW_CSTR(w, "type", "object");
    JW_BOOL(w, "additionalProperties", true);
}

static void write_list(struct jw *w, const struct field *field)
{
    JW_CSTR(w, "type", "array");
    jw_lit(w, "items");
    jw_obj(w);
    if (field->type == FIELD_LIST && field->sub == NULL) {
        write_any_object(w);
    } else if (field->type == FIELD_LIST) {
        write_ref(w, field->sub);
    } else if (field->type == FIELD_IDS) {
        JW_CSTR(w, "type", "integer");
        JW_CSTR(w, "format", "int64");
    } else {
        JW_CSTR(w, "type", "string");
        if (field->format != NULL)
            write_format(w, field->format);
        if (field->values != NULL)
            write_enum(w, field->values, false);
    }
    jw_obj_end(w);
    if (field->min > 0)
        write_limit(w, "minItems", field->min);
    if (field->max > 0)
        write_limit(w, "maxItems", field->max);
}

static bool has_annotations(const struct field *field)
{
    return field->nullable || field->write_only || field->doc != NULL || field->example != NULL;
}

static void openapi_write_object(struct jw *w, const struct schema *schema);

/* In OpenAPI 3.0, $ref allows no sibling members. `nullable` next to allOf has no effect, because
 * the parts of allOf still refuse null (OpenAPI 3.0.3, proposal "clarify nullable"). A nullable
 * object is therefore written in place. */
/* NOLINTNEXTLINE(misc-no-recursion): recursion follows static data */
static void write_object_ref(struct jw *w, const struct field *field)
{
    if (field->nullable && field->sub->value == NULL) {
        openapi_write_object(w, field->sub);
        return;
    }
    if (!has_annotations(field)) {
        write_ref(w, field->sub);
        return;
    }
    jw_lit(w, "allOf");
    jw_arr(w);
    jw_obj(w);
    write_ref(w, field->sub);
    jw_obj_end(w);
    jw_arr_end(w);
}

/* NOLINTNEXTLINE(misc-no-recursion): recursion follows static data */
static void write_type(struct jw *w, const struct field *field)
{
    switch (field->type) {
    case FIELD_STR:
    case FIELD_TIME:
        write_text(w, field);
        break;
    case FIELD_I64:
    case FIELD_F64:
        write_number(w, field);
        break;
    case FIELD_BOOL:
        JW_CSTR(w, "type", "boolean");
        break;
    case FIELD_JSON:
        break; /* no type: any value */
    case FIELD_MAP:
        write_any_object(w);
        break;
    case FIELD_IDS:
    case FIELD_STRS:
    case FIELD_LIST:
        write_list(w, field);
        break;
    case FIELD_OBJ:
        write_object_ref(w, field);
        break;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): recursion follows static data */
static void write_field(struct jw *w, const struct field *field)
{
    jw_obj(w);
    write_type(w, field);
    if (field->nullable && field->type != FIELD_JSON)
        JW_BOOL(w, "nullable", true);
    if (field->write_only)
        JW_BOOL(w, "writeOnly", true);
    if (field->doc != NULL)
        JW_CSTR(w, "description", field->doc);
    if (field->example != NULL) {
        jw_lit(w, "example");
        jw_raw(w, str_from(field->example));
    }
    jw_obj_end(w);
}

/* An empty "required" is not allowed. */
static void write_required(struct jw *w, const struct schema *schema)
{
    bool any = false;
    for (size_t i = 0; i < schema->count; i++) {
        if (!schema->fields[i].required)
            continue;
        if (!any) {
            jw_lit(w, "required");
            jw_arr(w);
        }
        any = true;
        jw_cstr(w, schema->fields[i].name);
    }
    if (any)
        jw_arr_end(w);
}

/* Writes the members of an object's schema. */
/* NOLINTNEXTLINE(misc-no-recursion): recursion follows static data */
static void openapi_write_object(struct jw *w, const struct schema *schema)
{
    JW_CSTR(w, "type", "object");
    write_required(w, schema);
    if (schema->count > 0) {
        jw_lit(w, "properties");
        jw_obj(w);
        for (size_t i = 0; i < schema->count; i++) {
            jw_key(w, str_from(schema->fields[i].name));
            write_field(w, &schema->fields[i]);
        }
        jw_obj_end(w);
    }
    bool output = schema->struct_bytes == 0;
    if (!output && !schema->allows_unknown)
        JW_BOOL(w, "additionalProperties", false);
}

void schema_openapi(struct jw *w, const struct schema *schema)
{
    if (schema->value != NULL) {
        write_field(w, schema->value);
        return;
    }
    jw_obj(w);
    if (schema->doc != NULL)
        JW_CSTR(w, "description", schema->doc);
    openapi_write_object(w, schema);
    if (schema->example != NULL) {
        jw_lit(w, "example");
        jw_raw(w, str_from(schema->example));
    }
    jw_obj_end(w);
}
