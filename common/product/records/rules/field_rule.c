/* Entities and fields that a caller may read or write. */
#include "records/rules/field_rule.h"

bool field_rule_can_read_entity(const struct records_ctx *ctx, const struct entity *entity)
{
    if (ctx->public_only)
        return entity->public_read;
    return caller_can_entity(ctx->caller, entity->id, ACT_READ);
}

bool field_rule_allows(const struct records_ctx *ctx,
                       const struct model_field *field,
                       enum perm_action action)
{
    if (ctx->public_only)
        return action == ACT_READ && field->is_public && field->entity->public_read;
    return caller_can_field(ctx->caller, field, action);
}

const struct model_field *
field_rule_find(const struct records_ctx *ctx, const struct entity *entity, struct str name)
{
    const struct model_field *field = entity_field(entity, name);

    return field != NULL && field_rule_allows(ctx, field, ACT_READ) ? field : NULL;
}
