/* Checks the rights of a known caller on its route. The first failed check is the answer. */
#include "stages/checks.h"
#include "stages/stages.h"

/* Only callers who may read the data model learn which entities exist. To other callers a missing
 * entity looks like an entity on which they have no right. */
static int find_entity(struct req *r, const struct entity **ret_entity)
{
    int rc = gateway_entity(r, ret_entity);

    if (rc != 404)
        return rc;
    *ret_entity = check_placeholder_entity(r->task.arena, r->scope->caller, req_param(r, "entity"));
    if (!*ret_entity)
        return rc;
    handler_discard_answer(r, r->extra_headers.len);
    return 0;
}

int authorize_run(struct req *r)
{
    const struct route *route = r->route;

    for (enum access_check check = 0; check < CHECK_COUNT; check++) {
        if (!check_applies(check, route))
            continue;
        if (check == CHECK_ENTITY_PERMISSION)
            TRY(find_entity(r, &r->scope->entity));
        if (check_passes(check, route, r->scope->caller, r->scope->entity))
            continue;
        if (route->own_param &&
            check_is_waived(check, route, r->scope->caller, req_param(r, route->own_param)))
            continue;
        struct str why = check_message(r->task.arena, check, route, r->scope->entity);
        return refusal(r, check_refusal(check), "%.*s", STR_ARG(why));
    }
    return 0;
}
