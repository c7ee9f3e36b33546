#pragma once
/* The field rule, and the entities that a caller may read. */
#include "records/records.h"

/* any: whether the caller may read records of the entity at all. Needed where relations lead to
 * other entities. */
bool field_rule_can_read_entity(const struct records_ctx *ctx, const struct entity *entity);
/* any: the field rule of the context: on the public route only public fields, else
 * caller_can_field(). Secret and relation fields are like any other. records/ must use this
 * function and not caller_can_field(). */
bool field_rule_allows(const struct records_ctx *ctx,
                       const struct model_field *field,
                       enum perm_action action);
/* any: finds a readable field by name. NULL both if there is none and if the caller may not read
 * it. */
const struct model_field *
field_rule_find(const struct records_ctx *ctx, const struct entity *entity, struct str name);
