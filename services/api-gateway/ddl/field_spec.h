#pragma once
/*
 * Definitions of fields in request bodies: their schemas and their validation. A valid definition
 * becomes a struct model_field; a new field has no id yet.
 */
#include "app.h"

#define ENTITY_FIELDS_MAX 200

struct field_options_in {
    struct in_i64 max_length;
    struct in_f64 min, max;
    struct in_str values; /* name of an enum */
    struct in_str entity;
    struct in_bool is_many;
    struct in_str on_delete;
#define SEARCH_OPTION(member, ...) struct in_i64 member;
#include "model/search_option.def"
};

struct field_in {
    struct in_str name, type;
    struct in_bool required, unique, indexed, searchable, is_public;
    struct in_json default_value;
    struct in_obj options; /* struct field_options_in */
};

extern const struct schema field_create_schema;
extern const struct schema field_update_schema;
extern const struct schema field_out_schema;

/* Context for reading a definition. Errors are added to `errors`, with `prefix` ("fields[2]." or
 * "") before the member's name. */
struct field_spec {
    struct arena *arena;
    const struct project *project;
    const struct model *model;
    const struct entity *entity; /* the entity of the field; may not be in the model yet */
    const char *prefix;
    struct schema_errors *errors;
};

/* any: Reads a new field. Adds errors if the definition is invalid; *ret_field is unusable then. */
void field_spec_create(const struct field_spec *spec,
                       const struct field_in *in,
                       struct model_field *ret_field);
/* any: Applies `in` to `old`: members left out keep their value, null clears them. Adds errors as
 * field_spec_create() does. */
void field_spec_update(const struct field_spec *spec,
                       const struct model_field *old,
                       const struct field_in *in,
                       struct model_field *ret_field);
/* any: Return whether an entity or a field may have this name. The prefix `pg_` is reserved, as in
 * PostgreSQL; fields have further reserved names. */
bool entity_name_ok(struct str name);
bool field_name_ok(struct str name);
#define NAME_WORDS "must be 1 to 48 of a-z, 0-9 and \"_\", start with a letter, and not be reserved"
