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

/* What an owner may change. */
struct me_in {
    struct in_str password;
    struct in_str current_password;
    struct in_json metadata;
};

/* The same as clients of GoTrue send it. */
struct account_in {
    struct me_in me; /* metadata: what is merged */
    struct in_str email;
    struct in_json challenge, challenge_method; /* for links in mails, of which none is sent here */
};

extern const char *const user_statuses[];
extern const struct schema user_create_schema;
extern const struct schema user_update_schema;
extern const struct schema me_schema;
extern const struct schema account_schema;
extern const struct schema user_out_schema;
extern const struct schema me_out_schema;    /* of the caller: with what it may do */
extern const struct schema auth_user_schema; /* the same in answers of /auth */

/* A member as a parameter; null = {}. */
struct str users_json(struct req *r, const struct in_json *in);
/* co: the user as it is now, from the open transaction, with an audit row; then commit. */
AWAITS int users_finish(struct req *r,
                        int64_t id,
                        const char *action,
                        const struct audit_change *change,
                        struct rows *ret_user) MUSTCHECK;
