/* The checks of a caller's rights on a route. */
#include "stages/checks.h"

#include "base/num.h"
#include "base/panic.h"

static const struct {
    const char *name;
    enum refusal refusal;
} checks[CHECK_COUNT] = {
    [CHECK_ADMINISTRATOR] = {"administrator", REFUSE_ADMIN},
    [CHECK_USER] = {"user", REFUSE_FORBIDDEN},
    [CHECK_PERMISSION_TOO] = {"permission", REFUSE_FORBIDDEN},
    [CHECK_PERMISSION] = {"permission", REFUSE_FORBIDDEN},
    [CHECK_ENTITY_PERMISSION] = {"permission", REFUSE_FORBIDDEN},
    [CHECK_API_ACCESS] = {"api_access", REFUSE_API_ACCESS},
};

const char *check_answer_name(enum access_check check)
{
    return checks[check].name;
}

enum refusal check_refusal(enum access_check check)
{
    return checks[check].refusal;
}

static bool is_open(const struct route *route)
{
    return route->auth == AUTH_PUBLIC || route->auth == AUTH_OPTIONAL;
}

static bool is_of_records(const struct route *route)
{
    return route->perm > PERM_COUNT;
}

static enum perm_action action_of(const struct route *route)
{
    return (enum perm_action)(route->perm - PERM_ENTITY_READ);
}

bool check_applies(enum access_check check, const struct route *route)
{
    if (is_open(route))
        return false;
    switch (check) {
    case CHECK_ADMINISTRATOR:
        return route->auth == AUTH_ADMIN;
    case CHECK_USER:
        return route->auth == AUTH_USER;
    case CHECK_PERMISSION_TOO:
        return route->perm_and != PERM_NONE;
    case CHECK_PERMISSION:
        return route->perm != PERM_NONE && !is_of_records(route);
    case CHECK_ENTITY_PERMISSION:
    case CHECK_API_ACCESS:
        return is_of_records(route);
    case CHECK_COUNT:
        break;
    }
    PANIC("no check %d", (int)check);
}

bool check_needs_entity(enum access_check check)
{
    return check == CHECK_ENTITY_PERMISSION || check == CHECK_API_ACCESS;
}

const struct entity *
check_placeholder_entity(struct arena *arena, const struct caller *caller, struct str name)
{
    if (!name.ptr || caller_can(caller, PERM_SVC_ENTITIES_READ))
        return NULL;
    struct entity *entity = ARENA_NEW(arena, entity);
    entity->name = name;
    return entity;
}

bool check_passes(enum access_check check,
                  const struct route *route,
                  const struct caller *caller,
                  const struct entity *entity)
{
    switch (check) {
    case CHECK_ADMINISTRATOR:
        return caller_is_admin(caller);
    case CHECK_USER:
        return caller->kind == CALLER_USER;
    case CHECK_PERMISSION_TOO:
        return caller_can(caller, route->perm_and);
    case CHECK_PERMISSION:
        return caller_can(caller, route->perm) ||
               (route->perm_or != PERM_NONE && caller_can(caller, route->perm_or));
    case CHECK_ENTITY_PERMISSION:
        return caller_can_entity(caller, entity->id, action_of(route));
    case CHECK_API_ACCESS:
        return caller_has_api_access(caller);
    case CHECK_COUNT:
        break;
    }
    PANIC("no check %d", (int)check);
}

bool check_is_waived(enum access_check check,
                     const struct route *route,
                     const struct caller *caller,
                     struct str own)
{
    int64_t id;

    return check == CHECK_PERMISSION && route->own_param && caller->kind == CALLER_USER &&
           num_parse_i64(own, &id) && id == caller->user_id;
}

struct str check_permission(struct arena *arena,
                            enum access_check check,
                            const struct route *route,
                            const struct entity *entity)
{
    switch (check) {
    case CHECK_PERMISSION_TOO:
        return str_from(perm_info(route->perm_and)->name);
    case CHECK_PERMISSION:
        return str_from(perm_info(route->perm)->name);
    case CHECK_ENTITY_PERMISSION:
        return arena_printf(
            arena, "%.*s:%s", STR_ARG(entity->name), perm_action_name(action_of(route)));
    default:
        return STR_NONE;
    }
}

struct str check_message(struct arena *arena,
                         enum access_check check,
                         const struct route *route,
                         const struct entity *entity)
{
    struct str permission = check_permission(arena, check, route, entity);

    if (permission.ptr)
        return arena_printf(arena, "This needs the permission %.*s.", STR_ARG(permission));
    switch (check) {
    case CHECK_ADMINISTRATOR:
        return STR("Only an administrator of the project may do this.");
    case CHECK_USER:
        return STR("This needs a user's access token, not an API key.");
    case CHECK_API_ACCESS:
        return STR("None of the caller's roles has API access, which entity records need.");
    default:
        PANIC("no sentence for check %d", (int)check);
    }
}
