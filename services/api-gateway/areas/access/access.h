#pragma once
/*
 * Rules of granting rights: no caller grants rights, through a role, a key or a user, that the
 * caller does not hold. Shared by the areas users, roles and api_keys.
 */
#include "app.h"

/* Permissions as they are stored: entity_ids[i] is 0 and permissions[i] a system permission's name,
 * or they are an entity and an action. */
struct access_list {
    int64_t *entity_ids;
    struct str *permissions;
    struct str *names; /* as the caller wrote them */
    size_t count;
    struct str *refused; /* names that are unknown or that the caller does not hold */
    size_t refused_count;
};

/* any: Resolves names ("orders:read", "svc_users:read") by the catalogue and the model and drops
 * duplicates. Names that are unknown, or that the caller does not hold, go into ret->refused.
 * Arena-owned. Call it before the handler has any effect: when a name is refused for the first
 * time, access_resolve() returns a status. The handler ends with this status, and then runs again
 * with the current model and rights. Otherwise access_resolve() returns 0. */
int access_resolve(struct req *r, const struct in_strs *names, struct access_list *ret) MUSTCHECK;
/* Returns 0 when no name was refused. Otherwise puts 400 naming the first permission that does not
 * exist, or else 403 naming the first that the caller does not hold. */
int access_need_all(struct req *r, const struct access_list *list) MUSTCHECK;

/* co: Puts 403 unless the caller holds everything that these roles give, including field access and
 * records granted to the roles; administrators hold everything. Puts 400 on `member` when a role
 * does not exist. */
AWAITS int
access_need_roles(struct req *r, const char *member, const int64_t *role_ids, size_t count)
    MUSTCHECK;
/* co: Makes the check of access_need_roles() for the roles that the user has now. The caller may
 * act on the user's account only if the check passes. */
AWAITS int access_need_user(struct req *r, int64_t user_id) MUSTCHECK;
/* co: Finds out whether the entity has a record with this id. Row rules do not apply. With `lock`
 * the transaction locks the record against changes and deletion until the transaction ends. */
AWAITS int access_find_record(
    struct req *r, const struct entity *entity, int64_t id, bool lock, bool *ret_found) MUSTCHECK;
/* co: Reads the roles that a user gets when the request names none. Arena-owned. */
AWAITS int access_default_roles(struct req *r, struct in_ids *ret_roles) MUSTCHECK;

/* co: Serialises changes that could take away an administrator. Call it inside the transaction,
 * before the change. */
AWAITS int access_lock_admins(struct req *r) MUSTCHECK;
/* co: Puts 409 last_administrator when no administrator is left who can sign in. Call it inside the
 * transaction of access_lock_admins(), after the change. */
AWAITS int access_check_admins(struct req *r) MUSTCHECK;
/* co: Makes the check of access_check_admins() as if the project's settings had the value
 * `confirmed` for require_confirmed_email and `issuer` for oidc_issuer. */
AWAITS int access_check_admins_if(struct req *r, bool confirmed, struct str issuer) MUSTCHECK;

/* any: Puts 400 too_long on `member` when an object that is stored with a user has more than 16 KB
 * as JSON. Every list of users includes such objects. */
int access_check_map_size(struct req *r, const char *member, const struct in_json *in) MUSTCHECK;
