#pragma once
/* Which account an identity of an issuer signs in to, and when it may be linked to one. */
#include "areas/auth/auth_oidc.h"

struct auth_link {
    int64_t link_user_id; /* in: the signed-in user who asks to link, or 0 */
    int64_t user_id;      /* out */
    bool is_new; /* out: the account was made, or its invitation accepted, by this sign-in */
    bool rights_changed; /* out: gateway_touch() after the commit */
};

/*
 * co: finds, links or makes the account, within the caller's open transaction. Refuses:
 * 403 email_not_verified, signup_disabled, user_suspended; 409 identity_link_required, conflict.
 */
AWAITS int auth_link_find(struct req *r,
                          const struct oidc_client *client,
                          const struct oidc_identity *identity,
                          struct auth_link *link) MUSTCHECK;
