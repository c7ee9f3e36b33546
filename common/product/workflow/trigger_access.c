/* Who may see an event's data. */
#include "workflow/trigger_access.h"

#include "workflow/definition.h"

static enum perm event_permission(int event)
{
    switch (event) {
    case WF_PAYMENT_CREATED:
    case WF_PAYMENT_SUCCEEDED:
    case WF_PAYMENT_FAILED:
        return PERM_SVC_PAYMENTS_READ;
    case WF_SUBSCRIPTION_CREATED:
    case WF_SUBSCRIPTION_ACTIVATED:
    case WF_SUBSCRIPTION_EXPIRED:
        return PERM_SVC_SUBSCRIPTIONS_READ;
    case WF_METHOD_CAPTURED:
    case WF_METHOD_CAPTURE_FAILED:
    case WF_METHOD_REMOVED:
        return PERM_SVC_PAYMENT_METHODS_READ;
    case WF_PUSH_ACTION_TAKEN:
        return PERM_SVC_TENANT_PUSH_CATEGORIES_UPDATE;
    default:
        return PERM_NONE;
    }
}

bool trigger_allowed(const struct caller *caller, struct str event, const struct entity *entity)
{
    int number = workflow_event_find(event);

    if (caller_is_admin(caller))
        return true;
    if (number < 0)
        return false;
    if (number <= WF_ENTITY_DELETED)
        return entity != NULL && caller_api_access(caller) &&
               caller_can_entity(caller, entity->id, ACT_READ);
    enum perm perm = event_permission(number);
    return perm != PERM_NONE && caller_can(caller, perm);
}

static bool may_read(const struct trigger_view *view, struct str name)
{
    const struct model_field *field = entity_field(view->entity, name);

    return field != NULL && caller_field(view->caller, field, ACT_READ) &&
           (field->system || field->updated_ms <= view->at_ms);
}

void trigger_trim(const struct trigger_view *view, json_t *data)
{
    const char *name;
    json_t *value;
    size_t len;
    void *next;

    if (caller_all_rows(view->caller))
        return;
    json_object_keylen_foreach_safe(data, next, name, len, value)
    {
        if (!may_read(view, (struct str){name, len}))
            (void)json_object_deln(data, name, len);
    }
}

static int check_name(const struct reference_view *reference, void *arg)
{
    return may_read(arg, reference->text) ? 0 : -1;
}

bool trigger_filter_allowed(const struct trigger_view *view, const struct condition *filter)
{
    return filter == NULL || caller_all_rows(view->caller) ||
           condition_visit(filter, check_name, (void *)view) == 0;
}
