#pragma once
/*
 * What a route asks of a known caller, as one list: the stage authorize refuses by it, and
 * GET /permissions/explain and POST /permissions/simulate tell of it. Pure: nothing here waits.
 */
#include "stages/refusals.h"

/* In the order in which they are made. */
enum access_check {
    CHECK_ADMINISTRATOR,     /* the route is for administrators alone */
    CHECK_USER,              /* a user's access token, not an API key */
    CHECK_PERMISSION_TOO,    /* route.perm_and */
    CHECK_PERMISSION,        /* a system permission, or the other one that also opens the route */
    CHECK_ENTITY_PERMISSION, /* "{entity}:action" of the entity in the path */
    CHECK_API_ACCESS,        /* a role's flag, which records need besides */
    CHECK_COUNT,
};

/* "administrator", "user", "permission", ... */
const char *check_word(enum access_check check);
/* Does the route make this check at all? */
bool check_asked(enum access_check check, const struct route *route);
/* Is it about the entity of the path? Then the others are given one that is there. */
bool check_needs_entity(enum access_check check);
/* What stands for an entity that is not there before a caller who may not know that: one of this
 * name that nobody else has a right on. NULL: the caller may know. Arena-owned. */
const struct entity *
check_unknown_entity(struct arena *arena, const struct caller *caller, struct str name);
/* `entity` may be NULL for checks that need none. */
bool check_passed(enum access_check check,
                  const struct route *route,
                  const struct caller *caller,
                  const struct entity *entity);
/* A user needs no permission for its own object: `own` is the path's value of route.own. An API key
 * needs it there too. */
bool check_is_waived(enum access_check check,
                     const struct route *route,
                     const struct caller *caller,
                     struct str own);
/* The permission that it asks for, "orders:read"; STR_NONE when it asks for none. Arena-owned. */
struct str check_permission(struct arena *arena,
                            enum access_check check,
                            const struct route *route,
                            const struct entity *entity);
/* What a caller who does not pass is told. Arena-owned. */
struct str check_sentence(struct arena *arena,
                          enum access_check check,
                          const struct route *route,
                          const struct entity *entity);
enum refusal check_refusal(enum access_check check);
