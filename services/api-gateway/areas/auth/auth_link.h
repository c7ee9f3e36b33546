#pragma once
/* Finds the account that an issuer's identity signs in to, and decides whether the identity may be
 * linked to an account. */
#include "areas/auth/auth_oidc.h"

struct auth_link {
    int64_t link_user_id; /* in: the signed-in user who asks to link, or 0 */
    int64_t user_id;      /* out */
    bool is_new;          /* out: this sign-in created the account or accepted its invitation */
    bool rights_changed;  /* out: the caller must call gateway_raise_epoch() after the commit */
};

/*
 * co: Finds, links or creates the account, within the caller's open transaction. Refuses with 403
 * email_not_verified, signup_disabled or user_suspended, or 409 identity_link_required or conflict.
 */
AWAITS int auth_link_find(struct req *r,
                          const struct oidc_client *client,
                          const struct oidc_identity *identity,
                          struct auth_link *link) MUSTCHECK;
