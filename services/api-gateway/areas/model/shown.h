#pragma once
/*
 * Fields that a field rule hides from who reads the entity's records are not there in the endpoints
 * of the model either. Who reads no records of an entity sees its definitions, as svc_fields and
 * svc_entities say.
 */
#include "app.h"

/* any: whether the caller is shown the field. */
bool field_shown(const struct req *r, const struct model_field *field);
/* any: parameters $1 and $2 of statements that list fields: of the entities $1 only the fields $2
 * are shown. */
void fields_shown(struct req *r, struct db_param *ret_params);
