#pragma once
/*
 * Who may give what: nobody gives, through a role, a key or a user, what they do not hold. Shared
 * by the areas users, roles and api_keys.
 */
#include "app.h"

/* A permission as it is stored: entity_id 0 and a system name, or an entity and an action. */
struct access_list {
    int64_t *entity_ids;
    struct str *permissions;
    struct str *names; /* as the caller wrote them */
    size_t count;
    struct str *refused; /* names that are unknown or that the caller does not hold */
    size_t refused_count;
};

/* any: resolves names ("orders:read", "svc_users:read") against the catalogue and the model, drops
 * duplicates, and sorts out what the caller does not hold. Arena-owned. 0, or the first time that
 * something is refused a status with which the handler ends, to begin again as of now: before
 * anything is done. */
int access_resolve(struct req *r, const struct in_strs *names, struct access_list *ret) MUSTCHECK;
/* 403 naming the first permission the caller does not hold, 400 naming the first that does not
 * exist. */
int access_need_all(struct req *r, const struct access_list *list) MUSTCHECK;

/* co: 403 unless the caller holds everything that these roles give, down to fields and to records
 * that were granted to them (administrators do). 400 on `member` when a role does not exist. */
AWAITS int
access_need_roles(struct req *r, const char *member, const int64_t *role_ids, size_t count)
    MUSTCHECK;
/* co: the same for the roles that a user has now: only then may the caller act on that account. */
AWAITS int access_need_user(struct req *r, int64_t user_id) MUSTCHECK;
/* co: whether the entity has a record of this id; row rules are not asked. With `lock` the
 * transaction locks the record against deletion until it ends. */
AWAITS int access_find_record(
    struct req *r, const struct entity *entity, int64_t id, bool lock, bool *ret_found) MUSTCHECK;
/* co: the roles that a user without a choice of roles gets. Arena-owned. */
AWAITS int access_default_roles(struct req *r, struct in_ids *ret_roles) MUSTCHECK;

/* co: inside a transaction, before a change that could take away an administrator: serialises such
 * changes. */
AWAITS int access_lock_admins(struct req *r) MUSTCHECK;
/* co: inside the same transaction, after the change: 409 last_administrator when nobody is left who
 * is one and can sign in. */
AWAITS int access_check_admins(struct req *r) MUSTCHECK;
/* co: the same as if the project asked for confirmed addresses or not, and had this issuer. */
AWAITS int access_check_admins_if(struct req *r, bool confirmed, struct str issuer) MUSTCHECK;

/* any: 400 too_long on `member` when an object that is kept with a user has more than 16 KB as
 * JSON: it comes with every list of users. */
int access_small_map(struct req *r, const char *member, const struct in_json *in) MUSTCHECK;
