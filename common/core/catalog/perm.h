#pragma once
/*
 * Permissions: the 92 system permissions in perm.def, and the rights a caller has. Pure data.
 * An entity permission is (entity id, action); its name is "{entity}:{action}".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum perm_holder { PERM_STANDARD, PERM_ADMINISTRATOR, PERM_OPT_IN };
enum perm_action { ACT_READ, ACT_CREATE, ACT_UPDATE, ACT_DELETE, ACT_TRIGGER };

enum perm {
    PERM_NONE = 0, /* the route asks for none */
#define PERM(symbol, resource, action, holder) symbol,
#include "catalog/perm.def"
#undef PERM
    PERM_COUNT, /* number of system permissions + 1 */
    /* "{entity}:action" of the entity named in the path */
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

/* Bits 1..PERM_COUNT-1. */
struct perm_set {
    uint64_t bits[2];
};

const struct perm_info *perm_info(enum perm perm); /* system permissions only */
/* The name of any permission a route may ask for: "svc_users:read", "{entity}:read". */
const char *perm_name(enum perm perm);
/* PERM_NONE when there is no such system permission. Exact case. */
enum perm perm_find(struct str name);
bool perm_set_has(const struct perm_set *set, enum perm perm);
void perm_set_add(struct perm_set *set, enum perm perm);
void perm_set_intersect(struct perm_set *set, const struct perm_set *other);
/* "read", "create", ... and back; -1 when unknown. */
const char *perm_action_name(enum perm_action action);
int perm_action_find(struct str name);
/* "standard", "administrator", "opt_in". */
const char *perm_holder_name(enum perm_holder holder);
