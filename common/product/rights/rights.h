#pragma once
/*
 * Who calls and what they may do. Rights are loaded once per user or key and cached by the project
 * until its epoch moves or five seconds passed, whichever is first, so that a revocation holds
 * everywhere within a second and a missed hint for no longer than five.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "catalog/perm.h"
#include "db/db.h"
#include "model/model.h"

struct project;

/* What a caller may do with one entity; actions are bits 1 << enum perm_action. */
struct entity_right {
    int64_t entity_id;
    unsigned actions;
    /* Field rules by action read, create, update: all fields, or the listed ids (sorted). */
    struct field_rule {
        bool all;
        const int64_t *ids;
        size_t count;
    } fields[3];
    uint64_t field_key; /* equal for equal `fields` (caller_field_key) */
};

/* Immutable, shared, reference counted. */
struct rights {
    int64_t user_id;
    int64_t key_id; /* 0 = the user itself */
    struct str email;
    bool active;     /* status allows calls: active, confirmed, not suspended */
    bool is_admin;   /* bypasses permission checks and may call administrator routes; never a key */
    bool all_rows;   /* the user (or the key's creator) is an administrator: no row or field rule */
    bool api_access; /* entity records over the API */
    struct perm_set perms;
    struct entity_right *entities; /* sorted by entity id */
    size_t entity_count;
    int64_t *role_ids;
    size_t role_count;
    int64_t *group_ids;
    size_t group_count; /* groups the user is a member of */
    struct arena *arena;
    int64_t loaded_ms;
    int64_t model_version; /* of the project when the rights were read */
    int refs;
};

enum caller_kind { CALLER_NONE, CALLER_USER, CALLER_KEY, CALLER_OPERATOR, CALLER_SYSTEM };

/* One per request, on its arena. */
struct caller {
    enum caller_kind kind;
    int64_t user_id;
    int64_t session_id;
    int64_t key_id;
    const struct rights *rights; /* NULL for none, operator, system */
    int64_t group_scope;         /* X-Group-Id that was checked, 0 = none */
    int64_t ends_ms;             /* of its credential, wall */
};

/* co: rights of a user or a key from the database. 0 with one reference, RIGHTS_GONE when there is
 * no such user or key (or it expired), or a DB_*. */
AWAITS int rights_load(struct task *task,
                       struct db *db,
                       int64_t user_id,
                       int64_t key_id,
                       struct rights **ret_rights) MUSTCHECK;
/* co: what a user with exactly these roles would hold; ids of no role count for nothing. One
 * reference, or a DB_*. */
AWAITS int rights_load_roles(struct task *task,
                             struct db *db,
                             const int64_t *role_ids,
                             size_t count,
                             struct rights **ret_rights) MUSTCHECK;
struct rights *rights_ref(struct rights *rights);
void rights_unref(struct rights *rights);

/* any: permission checks; administrators and the system hold everything. */
bool caller_can(const struct caller *caller, enum perm perm);
bool caller_can_entity(const struct caller *caller, int64_t entity_id, enum perm_action action);
/* Roles with the API Access flag, administrators, the system. */
bool caller_api_access(const struct caller *caller);
bool caller_is_admin(const struct caller *caller);
/* No row and no field rule applies. */
bool caller_all_rows(const struct caller *caller);
/* Field rule: ACT_READ, ACT_CREATE or ACT_UPDATE on a field. System fields are always readable. */
bool caller_field(const struct caller *caller,
                  const struct model_field *field,
                  enum perm_action action);
/* A number that is equal for callers with the same field rule on the entity (statement cache key).
 */
uint64_t caller_field_key(const struct caller *caller, const struct entity *entity);
