/* History of records: calls the procedures of 0011_live.sql when the model changes. */
#include "ddl/ddl.h"

void ddl_history_start(struct ddl *ddl, const struct entity *entity)
{
    ddl_add(ddl, "call {p}.history_on(%lld)", (long long)entity->id);
}

void ddl_history_end(struct ddl *ddl, const struct entity *entity)
{
    ddl_add(ddl, "call {p}.history_off(%lld)", (long long)entity->id);
}

void ddl_history_update(struct ddl *ddl, const struct entity *entity)
{
    if (entity->history_days > 0)
        ddl_add(ddl, "call {p}.history_shape(%lld)", (long long)entity->id);
}

/* PostgreSQL does not drop a column that a trigger refers to, so the trigger is dropped first. */
void ddl_history_drop_field(struct ddl *ddl, const struct model_field *field)
{
    if (field->entity->history_days > 0 && field->type == TYPE_RELATION && !field->is_many)
        ddl_add(ddl,
                "drop trigger if exists hn_%lld on {p}.e_%lld",
                (long long)field->id,
                (long long)field->entity->id);
}
