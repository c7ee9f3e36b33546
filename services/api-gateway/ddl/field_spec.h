#pragma once
/*
 * Definitions of fields in bodies: what they look like and which of them make sense. A definition
 * that passes is a struct model_field as it is going to be, without an id yet.
 */
#include "app.h"

#define ENTITY_FIELDS_MAX 200

struct field_options_in {
    struct in_i64 max_length;
    struct in_f64 min, max;
    struct in_str values; /* name of an enum */
    struct in_str entity;
    struct in_bool many;
    struct in_str on_delete;
    struct in_i64 search_weight;
};

struct field_in {
    struct in_str name, type;
    struct in_bool required, unique, indexed, searchable, is_public;
    struct in_json fallback;
    struct in_obj options; /* struct field_options_in */
};

extern const struct schema field_create_schema;
extern const struct schema field_update_schema;
extern const struct schema field_out_schema;

/* Who reads definitions: findings go to errors under `prefix` ("fields[2]." or ""). */
struct field_spec {
    struct arena *arena;
    const struct model *model;
    const struct entity *entity; /* whose field it is; its name may not be in the model yet */
    const char *prefix;
    struct schema_errors *errors;
};

/* any: a new field; findings instead of a usable *ret_field when it makes no sense. */
void field_spec_create(const struct field_spec *spec,
                       const struct field_in *in,
                       struct model_field *ret_field);
/* any: what `old` becomes: members left out keep their value, null clears. */
void field_spec_update(const struct field_spec *spec,
                       const struct model_field *old,
                       const struct field_in *in,
                       struct model_field *ret_field);
/* any: a name that entities and fields may have; `pg_` is kept free as PostgreSQL keeps it. */
bool entity_name_ok(struct str name);
bool field_name_ok(struct str name);
#define NAME_WORDS "must be 1 to 48 of a-z, 0-9 and \"_\", start with a letter, and not be reserved"
