/* Rights of a known caller on its route: the first check that is not passed answers. */
#include "stages/checks.h"
#include "stages/stages.h"

int authorize_run(struct req *r)
{
    const struct route *route = r->route;

    for (enum access_check check = 0; check < CHECK_COUNT; check++) {
        if (!check_asked(check, route))
            continue;
        if (check == CHECK_ENTITY_PERMISSION)
            TRY(gateway_entity(r, &r->scope->entity));
        if (check_passed(check, route, r->scope->caller, r->scope->entity))
            continue;
        struct str why = check_sentence(r->task.arena, check, route, r->scope->entity);
        return refusal(r, check_refusal(check), "%.*s", STR_ARG(why));
    }
    return 0;
}
