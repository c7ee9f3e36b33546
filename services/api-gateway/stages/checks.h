#pragma once
/*
 * The checks of a known caller's rights on a route, in one list. The stage authorize refuses by
 * this list; GET /permissions/explain and POST /permissions/simulate report it. Pure functions:
 * nothing here waits.
 */
#include "stages/refusals.h"

/* In the order in which the checks are made. */
enum access_check {
    CHECK_ADMINISTRATOR,     /* the route is for administrators only */
    CHECK_USER,              /* a user's access token, not an API key */
    CHECK_PERMISSION_TOO,    /* route.perm_and */
    CHECK_PERMISSION,        /* a system permission: route.perm or route.perm_or */
    CHECK_ENTITY_PERMISSION, /* "{entity}:action" of the entity in the path */
    CHECK_API_ACCESS,        /* a role's flag, which routes of records also need */
    CHECK_COUNT,
};

/* Returns the name of the check in answers: "administrator", "user", "permission", ... Static
 * text. */
const char *check_answer_name(enum access_check check);
/* Returns whether the route makes this check at all. */
bool check_applies(enum access_check check, const struct route *route);
/* Returns whether the check is about the entity of the path. The functions below then need that
 * entity. */
bool check_needs_entity(enum access_check check);
/* Returns a placeholder for an entity that does not exist, when the caller may not know which
 * entities exist: an entity of this name on which the caller has no right. NULL: the caller may
 * know, or there is no name. Arena-owned. */
const struct entity *
check_placeholder_entity(struct arena *arena, const struct caller *caller, struct str name);
/* Returns whether the caller passes the check. `entity` may be NULL for checks that need no
 * entity. */
bool check_passes(enum access_check check,
                  const struct route *route,
                  const struct caller *caller,
                  const struct entity *entity);
/* Returns whether a user needs no permission because the object is its own. `own`: the path's value
 * of route.own. An API key needs the permission even then. */
bool check_is_waived(enum access_check check,
                     const struct route *route,
                     const struct caller *caller,
                     struct str own);
/* Returns the permission that the check requires, such as "orders:read"; STR_NONE when it requires
 * none. Arena-owned or static. */
struct str check_permission(struct arena *arena,
                            enum access_check check,
                            const struct route *route,
                            const struct entity *entity);
/* check_message() returns the explanation for a caller who fails the check, arena-owned or static.
 * check_refusal() returns the refusal. */
struct str check_message(struct arena *arena,
                         enum access_check check,
                         const struct route *route,
                         const struct entity *entity);
enum refusal check_refusal(enum access_check check);
