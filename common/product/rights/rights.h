#pragma once
/*
 * The caller of a request and its rights. Rights are loaded once per user or key. The project
 * caches them until its epoch moves, but for five seconds at most. A revocation therefore takes
 * effect everywhere within a second, and within five seconds when the notification of the new epoch
 * is lost.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "catalog/perm.h"
#include "db/db.h"
#include "model/model.h"

struct project;

/* Rights on one entity. Actions are bits 1 << enum perm_action. */
struct entity_right {
    int64_t entity_id;
    unsigned actions;
    /* Field rules of the actions read, create and update: all fields, or the listed ids
     * (sorted). */
    struct field_rule {
        bool all;
        const int64_t *ids;
        size_t count;
    } fields[3];
    uint64_t field_key; /* equal for equal `fields` (caller_field_key) */
};

/* Immutable, shared, counted references. */
struct rights {
    int64_t user_id;
    int64_t key_id; /* 0 = the rights of the user itself */
    struct str email;
    bool active;     /* status allows calls: active, confirmed, not suspended */
    bool is_admin;   /* bypasses permission checks and may call administrator routes; never a key */
    bool all_rows;   /* the user (or the key's creator) is an administrator: no row or field rule */
    bool api_access; /* may use records over the API */
    struct perm_set perms;
    struct entity_right *entities; /* sorted by entity id */
    size_t entity_count;
    int64_t *role_ids;
    size_t role_count;
    int64_t *group_ids;
    size_t group_count; /* groups that the user belongs to */
    struct arena *arena;
    int64_t loaded_ms;
    int64_t model_version; /* version of the project's model when the rights were read */
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
    int64_t group_scope;         /* X-Group-Id after its check, 0 = none */
    int64_t ends_ms;             /* wall time when the credential expires */
};

/* co: Reads the rights of a user or a key from the database. Returns 0 with one reference,
 * RIGHTS_NOT_FOUND when the user or key does not exist or the key has expired, or a DB_*. */
AWAITS int rights_load(struct task *task,
                       struct db *db,
                       int64_t user_id,
                       int64_t key_id,
                       struct rights **ret_rights) MUSTCHECK;
/* co: Reads the rights that a user with exactly these roles would have. Unknown role ids are
 * ignored. Returns 0 with one reference, or a DB_*. */
AWAITS int rights_load_roles(struct task *task,
                             struct db *db,
                             const int64_t *role_ids,
                             size_t count,
                             struct rights **ret_rights) MUSTCHECK;
/* any: rights_ref() adds a reference, rights_unref() drops one; NULL is allowed for
 * rights_unref(). */
struct rights *rights_ref(struct rights *rights);
void rights_unref(struct rights *rights);

/* any: caller_can() returns whether the caller has a permission, caller_can_entity() whether the
 * caller may do the action with records of the entity. Administrators and the system have every
 * permission. */
bool caller_can(const struct caller *caller, enum perm perm);
bool caller_can_entity(const struct caller *caller, int64_t entity_id, enum perm_action action);
/* any: Whether the caller may use records over the API: through a role with the API Access flag, as
 * an administrator or as the system. */
bool caller_has_api_access(const struct caller *caller);
/* any: Whether the caller is an administrator or the system. Never true for a key. */
bool caller_is_admin(const struct caller *caller);
/* any: Whether no row rule and no field rule applies to the caller. */
bool caller_has_all_rows(const struct caller *caller);
/* any: Whether the field rules allow ACT_READ, ACT_CREATE or ACT_UPDATE on the field. System fields
 * can always be read and never be written. */
bool caller_can_field(const struct caller *caller,
                      const struct model_field *field,
                      enum perm_action action);
/* any: Returns a number that is equal for callers with equal field rules on the entity, as a key
 * for cached statements. */
uint64_t caller_field_key(const struct caller *caller, const struct entity *entity);
