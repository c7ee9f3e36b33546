#pragma once
/*
 * When a field rule hides a field from a caller who reads the entity's records, the endpoints of
 * the model hide the field too. A caller who may not read records of the entity sees all of its
 * definitions, as far as svc_fields and svc_entities permit.
 */
#include "app.h"

/* any: Whether the caller may see the field. */
bool field_is_visible(const struct req *r, const struct model_field *field);
/* Parameters of statements that list fields: of these entities only these fields are visible. */
struct visible_fields {
    struct sql_i64s entities, fields;
};
/* any: Returns the fields that the caller may see. Arena-owned. */
struct visible_fields visible_fields_read(struct req *r);
