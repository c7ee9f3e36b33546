#pragma once
/* Bodies of the users area. */
#include "areas/access/access.h"
#include "stages/stages.h"

struct user_in {
    struct in_str email;
    struct in_str password;
    struct in_str status; /* update only */
    struct in_ids role_ids;
    struct in_json metadata;
    struct in_bool send_invite; /* create only */
};

/* Members of the account that its own user may change. */
struct me_in {
    struct in_str password;
    struct in_str current_password;
    struct in_json metadata;
};

/* The members of me_in as clients of GoTrue send them. */
struct account_in {
    struct me_in me; /* me.metadata is merged into the stored metadata */
    struct in_str email;
    struct in_json challenge,
        challenge_method; /* ignored: they concern links in mails; PUT /auth/v1/user sends none */
};

extern const char *const user_statuses[];
extern const struct schema user_create_schema;
extern const struct schema user_update_schema;
extern const struct schema me_schema;
extern const struct schema account_schema;
extern const struct schema user_out_schema;
extern const struct schema me_out_schema;    /* the caller, with its permissions */
extern const struct schema auth_user_schema; /* user_out_schema for answers of /auth */

/* Returns an object of the body as a statement's parameter: JSON text, or STR_NONE when the object
 * is null or left out. Statements store {} for null. Arena-owned. */
struct str users_json(struct req *r, const struct in_json *in);
/* co: Reads the user from the open transaction into ret_user, writes the audit row of `change` and
 * commits. */
AWAITS int users_commit_change(struct req *r,
                               int64_t id,
                               const char *action,
                               const struct audit_change *change,
                               struct rows *ret_user) MUSTCHECK;
/* co: Begins a transaction and locks the account. Puts 404 when there is no such account, and 403
 * when the account has rights that the caller does not hold. */
AWAITS int users_lock(struct req *r, int64_t id, struct rows *ret_user) MUSTCHECK;
/* co: Guard of routes that change the account {id}: makes the checks of users_lock(). */
AWAITS int users_guard(struct req *r) MUSTCHECK;
