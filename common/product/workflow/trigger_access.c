/* Checks who may see the data of an event. */
#include "workflow/trigger_access.h"

#include "catalog/event.h"

bool trigger_is_allowed(const struct caller *caller, struct str event, const struct entity *entity)
{
    enum event_kind kind = event_find(event);

    if (caller_is_admin(caller))
        return true;
    if (kind == EVENT_KINDS)
        return false;
    enum perm perm = event_permission(event_info(kind)->subject);
    if (perm == PERM_ENTITY_READ)
        return entity != NULL && caller_has_api_access(caller) &&
               caller_can_entity(caller, entity->id, ACT_READ);
    return perm != PERM_NONE && caller_can(caller, perm);
}

static bool trigger_may_read(const struct trigger_view *view, struct str name)
{
    const struct model_field *field = entity_field(view->entity, name);

    return field != NULL && caller_can_field(view->caller, field, ACT_READ) &&
           (field->system || field->updated_ms <= view->at_ms);
}

void trigger_data_trim(const struct trigger_view *view, json_t *data)
{
    const char *name;
    json_t *value;
    size_t len;
    void *next;

    if (caller_has_all_rows(view->caller))
        return;
    json_object_keylen_foreach_safe(data, next, name, len, value)
    {
        if (!trigger_may_read(view, (struct str){name, len}))
            (void)json_object_deln(data, name, len);
    }
}

static int trigger_check_name(const struct reference_view *reference, void *arg)
{
    return trigger_may_read(arg, reference->text) ? 0 : -1;
}

bool trigger_filter_is_allowed(const struct trigger_view *view, const struct condition *filter)
{
    return filter == NULL || caller_has_all_rows(view->caller) ||
           condition_visit(filter, trigger_check_name, (void *)view) == 0;
}
