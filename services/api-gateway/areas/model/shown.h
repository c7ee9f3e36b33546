#pragma once
/*
 * Fields that a field rule hides from who reads the entity's records are not there in the endpoints
 * of the model either. Who reads no records of an entity sees its definitions, as svc_fields and
 * svc_entities say.
 */
#include "app.h"

/* any: whether the caller is shown the field. */
bool field_shown(const struct req *r, const struct model_field *field);
/* Parameters of statements that list fields: of these entities only these fields are shown. */
struct fields_shown {
    struct sql_i64s entities, fields;
};
/* any: what the caller is shown; arena-owned. */
struct fields_shown fields_shown(struct req *r);
