#pragma once
/*
 * What of an event somebody may see: a workflow is given no more of its trigger's data than its
 * last editor may read, and its history shows no more. Row rules are not looked at here. The
 * permission that each event asks for stands in catalog/event.def. Administrators may see all of
 * it.
 */
#include <jansson.h>

#include "rights/rights.h"
#include "workflow/condition.h"

/* any: whether the caller may know of such an event at all. `entity` is that of an entity event;
 * NULL when it is gone: then nobody but administrators may. An event of no known name is for
 * administrators, too. */
bool trigger_allowed(const struct caller *caller, struct str event, const struct entity *entity);

/* Who looks at the record of an entity event, and when it was. */
struct trigger_view {
    const struct caller *caller;
    const struct entity *entity;
    int64_t at_ms;
};
/* any: takes members that the caller may not read out of a record (changes `data`). Members that
 * are no fields of the entity any more are left out, and so are those of fields that were changed
 * since: the name may have been another one's. */
void trigger_trim(const struct trigger_view *view, json_t *data);
/* any: whether a trigger's filter over a record (NULL = none) asks only for what the caller may
 * read: that it held reveals the record, too. */
bool trigger_filter_allowed(const struct trigger_view *view, const struct condition *filter);
