/* Schemas of the model endpoints: a field in requests and in answers. */
#include "ddl/field_spec.h"

static const char *const on_delete_names[] = {"restrict", "set_null", "cascade", NULL};

static const struct field option_fields[] = {
    {.name = "max_length",
     FIELD_AT(struct field_options_in, max_length),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 1000000,
     .doc = "Maximum length in characters, of varchar (at most 10,000; default 255) and text"},
    {.name = "min",
     FIELD_AT(struct field_options_in, min),
     .type = FIELD_F64,
     .nullable = true,
     .doc = "Minimum value, of integer, float and decimal"},
    {.name = "max",
     FIELD_AT(struct field_options_in, max),
     .type = FIELD_F64,
     .nullable = true,
     .doc = "Maximum value, of integer, float and decimal"},
    {.name = "enum",
     FIELD_AT(struct field_options_in, values),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "Name of the enum with the values of the field; required for type enum"},
    {.name = "entity",
     FIELD_AT(struct field_options_in, entity),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "Name of the entity that a relation refers to; required for type relation"},
    {.name = "many",
     FIELD_AT(struct field_options_in, is_many),
     .type = FIELD_BOOL,
     .nullable = true,
     .doc = "A relation to many records, read and written as an array of ids"},
    {.name = "on_delete",
     FIELD_AT(struct field_options_in, on_delete),
     .type = FIELD_STR,
     .nullable = true,
     .values = on_delete_names,
     .doc = "What happens when a record that the relation refers to is deleted; a relation to "
            "many allows restrict and set_null, which removes the id from the array"},
#define SEARCH_OPTION(member, most, text)                                                          \
    {.name = #member,                                                                              \
     FIELD_AT(struct field_options_in, member),                                                    \
     .type = FIELD_I64,                                                                            \
     .nullable = true,                                                                             \
     .has_min = true,                                                                              \
     .min = 0,                                                                                     \
     .has_max = true,                                                                              \
     .max = (most),                                                                                \
     .doc = (text)},
#include "model/search_option.def"
};
static const struct schema options_schema =
    SCHEMA("FieldOptions", struct field_options_in, option_fields);

/* Members of FieldCreate and FieldUpdate; only FieldCreate requires name and type. */
#define FIELD_MEMBERS(must)                                                                        \
    {.name = "name",                                                                               \
     FIELD_AT(struct field_in, name),                                                              \
     .type = FIELD_STR,                                                                            \
     .required = (must),                                                                           \
     .max = 200,                                                                                   \
     .doc = "1 to 48 lower-case letters, digits and '_', starting with a letter",                  \
     .example = "\"price\""},                                                                      \
        {.name = "type",                                                                           \
         FIELD_AT(struct field_in, type),                                                          \
         .type = FIELD_STR,                                                                        \
         .required = (must),                                                                       \
         .values = model_type_names,                                                               \
         .example = "\"float\""},                                                                  \
        {.name = "required", FIELD_AT(struct field_in, required), .type = FIELD_BOOL},             \
        {.name = "unique", FIELD_AT(struct field_in, unique), .type = FIELD_BOOL},                 \
        {.name = "indexed", FIELD_AT(struct field_in, indexed), .type = FIELD_BOOL},               \
        {.name = "default",                                                                        \
         FIELD_AT(struct field_in, default_value),                                                 \
         .type = FIELD_JSON,                                                                       \
         .nullable = true,                                                                         \
         .doc = "Value of the field in records that are created without a value for the field"},   \
        {.name = "searchable", FIELD_AT(struct field_in, searchable), .type = FIELD_BOOL},         \
        {.name = "public",                                                                         \
         FIELD_AT(struct field_in, is_public),                                                     \
         .type = FIELD_BOOL,                                                                       \
         .doc = "The field can be read without credentials if the entity has public_read"},        \
    {                                                                                              \
        .name = "options", FIELD_AT(struct field_in, options), .type = FIELD_OBJ,                  \
        .sub = &options_schema                                                                     \
    }

static const struct field create_fields[] = {FIELD_MEMBERS(true)};
static const struct field update_fields[] = {FIELD_MEMBERS(false)};
const struct schema field_create_schema = SCHEMA("FieldCreate", struct field_in, create_fields);
const struct schema field_update_schema = SCHEMA("FieldUpdate", struct field_in, update_fields);

static const struct field option_out_fields[] = {
    {.name = "max_length", .type = FIELD_I64},
    {.name = "min", .type = FIELD_F64},
    {.name = "max", .type = FIELD_F64},
    {.name = "enum", .type = FIELD_STR},
    {.name = "entity", .type = FIELD_STR},
    {.name = "many", .type = FIELD_BOOL},
    {.name = "on_delete", .type = FIELD_STR, .values = on_delete_names},
#define SEARCH_OPTION(member, ...) {.name = #member, .type = FIELD_I64},
#include "model/search_option.def"
};
static const struct schema options_out_schema = SCHEMA_OUT("FieldOptionsShown", option_out_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .example = "31"},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"price\""},
    {.name = "type", .type = FIELD_STR, .required = true, .values = model_type_names},
    {.name = "required", .type = FIELD_BOOL, .required = true},
    {.name = "unique", .type = FIELD_BOOL, .required = true},
    {.name = "indexed", .type = FIELD_BOOL, .required = true},
    {.name = "default", .type = FIELD_JSON, .required = true, .nullable = true},
    {.name = "searchable", .type = FIELD_BOOL, .required = true},
    {.name = "public", .type = FIELD_BOOL, .required = true},
    {.name = "options", .type = FIELD_OBJ, .required = true, .sub = &options_out_schema},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema field_out_schema = SCHEMA_OUT("Field", out_fields);
