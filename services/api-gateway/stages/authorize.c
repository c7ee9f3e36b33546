/* Rights of a known caller on its route: administrator-only, permission, API Access flag. */
#include "stages/refusals.h"
#include "stages/stages.h"

static int need_permission(struct req *r, const char *name)
{
    return refusal(r, REFUSE_FORBIDDEN, "This needs the permission %s.", name);
}

static int check_system(struct req *r)
{
    enum perm perm = r->route->perm;

    if (caller_can(r->scope->caller, perm))
        return 0;
    if (r->route->perm_or != PERM_NONE && caller_can(r->scope->caller, r->route->perm_or))
        return 0;
    return need_permission(r, perm_info(perm)->name);
}

static int check_entity(struct req *r)
{
    enum perm_action action = (enum perm_action)(r->route->perm - PERM_ENTITY_READ);

    TRY(gateway_entity(r, &r->scope->entity));
    if (!caller_can_entity(r->scope->caller, r->scope->entity->id, action))
        return refusal(r,
                       REFUSE_FORBIDDEN,
                       "This needs the permission %.*s:%s.",
                       STR_ARG(r->scope->entity->name),
                       perm_action_name(action));
    if (!caller_api_access(r->scope->caller))
        return refusal(r,
                       REFUSE_API_ACCESS,
                       "None of the caller's roles has API access, which entity records need.");
    return 0;
}

int authorize_run(struct req *r)
{
    enum route_auth auth = r->route->auth;

    if (auth == AUTH_PUBLIC || auth == AUTH_OPTIONAL)
        return 0;
    if (auth == AUTH_ADMIN && !caller_is_admin(r->scope->caller))
        return refusal(r, REFUSE_ADMIN, "Only an administrator of the project may do this.");
    if (auth == AUTH_USER && r->scope->caller->kind != CALLER_USER)
        return refusal(r, REFUSE_FORBIDDEN, "This needs a user's access token, not an API key.");
    if (r->route->perm == PERM_NONE)
        return 0;
    if (r->route->perm_and != PERM_NONE && !caller_can(r->scope->caller, r->route->perm_and))
        return need_permission(r, perm_info(r->route->perm_and)->name);
    return r->route->perm < PERM_COUNT ? check_system(r) : check_entity(r);
}
