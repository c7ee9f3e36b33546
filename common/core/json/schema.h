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
}; /* `json` keeps the exact digits */
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
    FIELD_LIST, /* array of objects of .sub; .sub may be NULL in a loose schema: any objects */
    FIELD_OBJ,  /* object of .sub */
};

struct schema;
struct field {
    const char *name;
    size_t offset;
    enum field_type type;
    bool required;
    bool nullable;
    bool has_min;     /* min is meaningful (numbers) */
    bool has_max;     /* max is meaningful (numbers); texts and lists need only max */
    bool write_only;  /* passwords */
    bool is_volatile; /* in responses: the service changes this without an edit by a client */
    double min;       /* number; text: fewest characters; list: fewest items */
    double max;       /* number; text: most characters (0 = 65,536); list: most items (0 = 1,000) */
    const char *const *values; /* enum, NULL-terminated */
    const char *format; /* email, slug, name, url, uri, date, date-time, uuid, color: checked and
                           documented; password, key: only documented; "" on an integer omits the
                           format int64 in documents */
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
    bool allows_unknown; /* ignore unknown members (only where the documentation says so) */
    const char *doc;
    const char *example; /* JSON text */
    bool is_unchecked; /* the handler checks the body: decoded as json_t, `fields` is documentation
                          only */
    /* Instead of fields: one value of any shape (records, data). Its content is not checked. */
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

/* One finding, arena-owned. `field`: path of the field ("items[3].price"). `code`: see
 * catalog/problem.h. */
struct schema_error {
    struct str field;
    const char *code;
    struct str message;
};
struct schema_errors {
    struct schema_error items[20]; /* the first 20 */
    size_t count;                  /* also counts findings after the first 20 */
};
/* any: Adds a finding. Copies field and message into the arena. */
void schema_error_add(struct arena *arena,
                      struct schema_errors *errors,
                      struct str field,
                      enum problem code,
                      const char *format,
                      ...) PRINTF_LIKE(5, 6);
/* any: Like schema_error_add(), with a code that is not in catalog/problem.h, such as one of the
 * payment processor. The code is borrowed. */
void schema_error_add_code(struct arena *arena,
                           struct schema_errors *errors,
                           struct str field,
                           const char *code,
                           const char *format,
                           ...) PRINTF_LIKE(5, 6);

/* any: Checks `body` against the schema and fills *ret_struct, which is zeroed first. Returns true
 * when *errors is empty. Findings are added to *errors, which the caller must have zeroed.
 *
 * Codes: required, type_mismatch, too_long (also lists), out_of_range (also too short, or not in
 * the enum), pattern (format), read_only (a member named id, created_at or updated_at that the
 * schema lacks), unknown_field (any other member that the schema lacks). A body that is not an
 * object gives one type_mismatch with an empty field.
 *
 * A member that is null becomes {set, null}. FIELD_JSON always accepts null, and then also has the
 * null as value. Reals count as integers when they are integral and within +-2^53. Of a schema with
 * `is_unchecked` or `value`, only whether `body` is an object is checked, and *ret_struct is not
 * written. As .sub of FIELD_OBJ or FIELD_LIST such a schema yields the json_t (in_obj.value, or an
 * array of json_t * in in_list.items). Texts are borrowed from `body`, arrays and structs are
 * arena-owned.
 */
bool schema_decode(struct arena *arena,
                   const struct schema *schema,
                   const json_t *body,
                   void *ret_struct,
                   struct schema_errors *errors);
/* any: Whether `value` satisfies the named format ("email", ...). True for unknown formats. */
bool schema_format_ok(const char *format, struct str value);
/* Writes the schema as an OpenAPI 3.0 schema object. Sub-schemas become $ref
 * "#/components/schemas/Name", except nullable objects, which are written in place. */
void schema_openapi(struct jw *w, const struct schema *schema);
