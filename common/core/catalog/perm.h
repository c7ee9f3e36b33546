#pragma once
/*
 * Permissions: the 92 system permissions of perm.def, and sets of permissions. Pure data.
 * An entity permission is a pair of entity id and action; its name is "{entity}:{action}".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The role that has a permission in a new project; PERM_OPT_IN: no role. */
enum perm_holder { PERM_STANDARD, PERM_ADMINISTRATOR, PERM_OPT_IN };
enum perm_action { ACT_READ, ACT_CREATE, ACT_UPDATE, ACT_DELETE, ACT_TRIGGER };

enum perm {
    PERM_NONE = 0, /* the route requires no permission */
#define PERM(symbol, resource, action, holder) symbol,
#include "catalog/perm.def"
#undef PERM
    PERM_COUNT, /* number of system permissions + 1 */
    /* "{entity}:{action}" for the entity that the path names */
    PERM_ENTITY_READ,
    PERM_ENTITY_CREATE,
    PERM_ENTITY_UPDATE,
    PERM_ENTITY_DELETE,
};

struct perm_info {
    const char *name; /* "svc_users:read" */
    const char *resource;
    const char *action;
    enum perm_holder holder;
};

/* A set of system permissions: bits 1 to PERM_COUNT - 1. */
struct perm_set {
    uint64_t bits[2];
};

/* Returns the static properties of a system permission. */
const struct perm_info *perm_info(enum perm perm);
/* Returns the name of a permission that a route may require: "svc_users:read", "{entity}:read". */
const char *perm_name(enum perm perm);
/* Returns the system permission of this name in exact case, PERM_NONE when there is none. */
enum perm perm_find(struct str name);
/* Check for a permission in a set, add a permission, and remove permissions that `other` lacks. */
bool perm_set_has(const struct perm_set *set, enum perm perm);
void perm_set_add(struct perm_set *set, enum perm perm);
void perm_set_intersect(struct perm_set *set, const struct perm_set *other);
/* Convert an action to its name ("read", "create", ...) and back; -1 for an unknown name. */
const char *perm_action_name(enum perm_action action);
int perm_action_find(struct str name);
/* Returns "standard", "administrator" or "opt_in". */
const char *perm_holder_name(enum perm_holder holder);
