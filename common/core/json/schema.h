#pragma once
/*
 * Body schemas: one array of fields is the validator, the decoder into a C struct, and the OpenAPI
 * schema. Members are decoded by offset into in_* types, which distinguish "left out", "null" and a
 * value, so PUT can merge.
 *
 *   struct menu_in { struct in_str key; struct in_str label; struct in_json items; };
 *   static const struct field menu_fields[] = {
 *       {.name = "key", FIELD_AT(struct menu_in, key), .type = FIELD_STR, .required = true,
 *        .max = 48, .format = "slug", .doc = "Stable name", .example = "\"main\""},
 *   };
 *   const struct schema menu_schema = SCHEMA("MenuCreate", struct menu_in, menu_fields);
 *
 * Response schemas use the same arrays without offsets, for documents alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "catalog/problem.h"
#include "json/jr.h"
#include "json/jw.h"

struct in_str {
    bool set, null;
    struct str value;
};
struct in_i64 {
    bool set, null;
    int64_t value;
};
struct in_f64 {
    bool set, null;
    double value;
    const json_t *json;
}; /* json: to the last digit */
struct in_bool {
    bool set, null, value;
};
struct in_json {
    bool set, null;
    json_t *value;
}; /* borrowed from the body */
struct in_ids {
    bool set, null;
    size_t count;
    int64_t *items;
};
struct in_strs {
    bool set, null;
    size_t count;
    struct str *items;
};
struct in_list {
    bool set, null;
    size_t count;
    void *items;
}; /* structs of the sub-schema */
struct in_obj {
    bool set, null;
    void *value;
}; /* struct of the sub-schema */

enum field_type {
    FIELD_STR,
    FIELD_I64,
    FIELD_F64,
    FIELD_BOOL,
    FIELD_TIME, /* RFC 3339, decoded as in_str, checked */
    FIELD_JSON, /* any JSON value */
    FIELD_MAP,  /* any JSON object, decoded as in_json */
    FIELD_IDS,  /* array of integers */
    FIELD_STRS, /* array of texts */
    FIELD_LIST, /* array of objects of .sub; in a loose schema NULL: of any */
    FIELD_OBJ,  /* object of .sub */
};

struct schema;
struct field {
    const char *name;
    size_t offset;
    enum field_type type;
    bool required;
    bool nullable;
    bool has_min;    /* min is meaningful (numbers) */
    bool has_max;    /* max of a number is meaningful; for texts and lists max > 0 suffices */
    bool write_only; /* passwords */
    bool noted;      /* of answers: the service writes it down by itself, nobody edits it */
    double min;      /* number; text: fewest characters; list: fewest items */
    double max;      /* number; text: most characters (0 = 65,536); list: most items (0 = 1,000) */
    const char *const *values; /* enum, NULL-terminated */
    const char *format; /* email, slug, name, url, password, date, date-time, uri: checked and
                           documented; of an integer "" keeps it to itself that it has 64 bits */
    const struct schema *sub;
    const char *doc;
    const char *example; /* JSON text */
};
#define FIELD_AT(type, member) .offset = offsetof(type, member)

struct schema {
    const char *name; /* component name in OpenAPI, unique */
    const struct field *fields;
    size_t count;
    size_t struct_bytes;
    bool open; /* unknown members are ignored (only where they are documented to be) */
    const char *doc;
    const char *example; /* JSON text */
    bool loose; /* what reads it checks it: decoded as raw ones are, the fields are for documents
                   only */
    /* Instead of fields: one value, whatever its shape (records, data). Nothing inside is checked.
     */
    const struct field *value;
};
#define SCHEMA(component, type, array)                                                             \
    {                                                                                              \
        .name = (component), .fields = (array), .count = ARRAY_LEN(array),                         \
        .struct_bytes = sizeof(type)                                                               \
    }
/* Documentation only. */
#define SCHEMA_OUT(component, array)                                                               \
    {                                                                                              \
        .name = (component), .fields = (array), .count = ARRAY_LEN(array)                          \
    }

/* One finding: field path ("items[3].price"), code (catalog/problem.h) and message; arena-owned. */
struct schema_error {
    struct str field;
    const char *code;
    struct str message;
};
struct schema_errors {
    struct schema_error items[20]; /* the first 20 */
    size_t count;                  /* all */
};
/* any: adds a finding; message and field are copied into the arena. */
void schema_error_add(struct arena *arena,
                      struct schema_errors *errors,
                      struct str field,
                      enum problem code,
                      const char *format,
                      ...) PRINTF_LIKE(5, 6);
/* The same with a code that is not ours, such as the processor's; it is borrowed. */
void schema_error_add_code(struct arena *arena,
                           struct schema_errors *errors,
                           struct str field,
                           const char *code,
                           const char *format,
                           ...) PRINTF_LIKE(5, 6);

/* any: checks `body` against the schema and fills *ret_struct (zeroed first, struct_bytes). Members
 * named id, created_at, updated_at that the schema lacks are `read_only`, others `unknown_field`.
 * Codes: required, type_mismatch, too_long (also lists), out_of_range (also too short, not in the
 * enum), pattern (format), read_only, unknown_field. A body that is no object is one type_mismatch
 * with an empty field. A member that is null is {set, null}; FIELD_JSON takes null always and then
 * has the null as value too. Reals count as integers when integral and within +-2^53. A `raw`
 * schema only asks for an object and writes nothing; as .sub of FIELD_OBJ or FIELD_LIST it hands
 * out the json_t (in_obj.value, or an array of json_t * in in_list.items). Texts borrow from
 * `body`, arrays and structs are arena-owned. Findings are added to *errors: the caller zeroes it
 * first. */
bool schema_decode(struct arena *arena,
                   const struct schema *schema,
                   const json_t *body,
                   void *ret_struct,
                   struct schema_errors *errors);
/* True when `value` satisfies the named format ("email", ...); unknown formats are true. */
bool schema_format_ok(const char *format, struct str value);
/* Writes the OpenAPI 3.0 schema object; sub-schemas as $ref "#/components/schemas/Name", but those
 * of objects that may be null where they stand. */
void schema_openapi(struct jw *w, const struct schema *schema);
