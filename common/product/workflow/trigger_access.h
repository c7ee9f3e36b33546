#pragma once
/*
 * Limits the data of an event to what a caller may see. A workflow gets only the data of its
 * trigger that its last editor may read, and its history shows no more. Row rules are not checked
 * here. catalog/event.def has the permission that each event requires. Administrators may see all
 * data.
 */
#include <jansson.h>

#include "rights/rights.h"
#include "workflow/condition.h"

/* any: Whether the caller may know of such an event at all. `entity` is the entity of an entity
 * event, or NULL when the entity is gone: only administrators may know of such an event, or of an
 * event with an unknown name. */
bool trigger_is_allowed(const struct caller *caller, struct str event, const struct entity *entity);

/* A caller who reads the record of an entity event, and the time of the event. */
struct trigger_view {
    const struct caller *caller;
    const struct entity *entity;
    int64_t at_ms;
};
/* any: Removes the members of a record that the caller may not read (changes `data`). Also removes
 * members that are no longer fields of the entity, and members of fields that were changed after
 * the event: the name may have belonged to another field. Callers who see all rows keep all
 * members. */
void trigger_data_trim(const struct trigger_view *view, json_t *data);
/* any: Whether a trigger's filter over a record (NULL = no filter) tests only fields that the
 * caller may read: a filter that matched reveals the record too. */
bool trigger_filter_is_allowed(const struct trigger_view *view, const struct condition *filter);
