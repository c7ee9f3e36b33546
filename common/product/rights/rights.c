/* Checks of a caller's rights. Every request runs them, so no function here allocates or waits. */
#include "rights/rights.h"

#include "base/arena.h"
#include "base/panic.h"

/* Keys of callers without any field rule, and of callers that may see no field of the entity. */
#define FIELD_KEY_ALL  0ULL
#define FIELD_KEY_NONE 1ULL

struct rights *rights_ref(struct rights *rights)
{
    MUST(rights->refs > 0);
    rights->refs++;
    return rights;
}

void rights_unref(struct rights *rights)
{
    if (rights == NULL)
        return;
    MUST(rights->refs > 0);
    if (--rights->refs == 0)
        arena_free(rights->arena); /* the arena contains the rights themselves */
}

bool caller_is_admin(const struct caller *caller)
{
    if (caller->kind == CALLER_SYSTEM)
        return true;
    return caller->kind == CALLER_USER && caller->rights != NULL && caller->rights->is_admin;
}

bool caller_has_all_rows(const struct caller *caller)
{
    if (caller->kind == CALLER_SYSTEM)
        return true;
    return caller->rights != NULL && caller->rights->all_rows;
}

bool caller_has_api_access(const struct caller *caller)
{
    if (caller->kind == CALLER_SYSTEM)
        return true;
    return caller->rights != NULL && caller->rights->api_access;
}

bool caller_can(const struct caller *caller, enum perm perm)
{
    if (perm == PERM_NONE || caller_is_admin(caller))
        return true;
    if (caller->rights == NULL || perm >= PERM_COUNT)
        return false;
    return perm_set_has(&caller->rights->perms, perm);
}

static const struct entity_right *rights_find_entity(const struct rights *rights, int64_t entity_id)
{
    size_t low = 0;
    size_t high = rights->entity_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rights->entities[middle].entity_id < entity_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rights->entity_count && rights->entities[low].entity_id == entity_id
               ? &rights->entities[low]
               : NULL;
}

bool caller_can_entity(const struct caller *caller, int64_t entity_id, enum perm_action action)
{
    if (caller_is_admin(caller))
        return true;
    if (caller->rights == NULL)
        return false;
    const struct entity_right *right = rights_find_entity(caller->rights, entity_id);
    return right != NULL && (right->actions & (1U << action)) != 0;
}

static bool rule_has(const struct field_rule *rule, int64_t field_id)
{
    size_t low = 0;
    size_t high = rule->count;

    if (rule->all)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rule->ids[middle] < field_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rule->count && rule->ids[low] == field_id;
}

bool caller_can_field(const struct caller *caller,
                      const struct model_field *field,
                      enum perm_action action)
{
    if (field->system)
        return action == ACT_READ;
    if (caller_is_admin(caller))
        return true;
    if (caller->rights == NULL || action > ACT_UPDATE)
        return false;
    const struct entity_right *right = rights_find_entity(caller->rights, field->entity->id);
    return right != NULL && rule_has(&right->fields[action], field->id);
}

uint64_t caller_field_key(const struct caller *caller, const struct entity *entity)
{
    if (caller_is_admin(caller))
        return FIELD_KEY_ALL;
    if (caller->rights == NULL)
        return FIELD_KEY_NONE;
    const struct entity_right *right = rights_find_entity(caller->rights, entity->id);
    return right != NULL ? right->field_key : FIELD_KEY_NONE;
}
