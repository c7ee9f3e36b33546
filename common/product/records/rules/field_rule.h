#pragma once
/* The field rule, and which entities a caller may read at all. */
#include "records/records.h"

/* The caller may read records of the entity at all (relations lead to other entities). */
bool field_rule_entity(const struct records_ctx *ctx, const struct entity *entity);
/* Field rule of the context: public fields only on the public route, else caller_field(). A secret
 * or relation field is like any other here. Use this, not caller_field(), everywhere in records/.
 */
bool field_rule_allows(const struct records_ctx *ctx,
                       const struct model_field *field,
                       enum perm_action action);
/* Readable field by name; NULL when there is none or the caller may not read it: one answer. */
const struct model_field *
field_rule_find(const struct records_ctx *ctx, const struct entity *entity, struct str name);
