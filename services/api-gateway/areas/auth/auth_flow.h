#pragma once
/*
 * A sign-in at an OpenID Connect issuer, or at the page /auth/ui/, that was started and not yet
 * finished. It is stored for ten minutes under the hash of its state and used once. Nonce and code
 * verifier are sealed.
 */
#include "areas/auth/auth_oidc.h"

struct auth_flow {
    struct str state;
    struct str nonce;
    struct str code_verifier;
    struct str redirect_to;
    struct str issuer;
    struct str client_id;
    struct str code_challenge; /* the client's own (RFC 7636), or empty */
    int64_t user_id;    /* the user who links an identity to this account; 0 = a plain sign-in */
    int64_t session_id; /* of the page /auth/ui/, to be passed on; the code is `nonce`. 0 = none */
};

/* co: Fills state, nonce and code_verifier of the flow and stores the flow. */
AWAITS int auth_flow_begin(struct req *r, struct auth_flow *flow) MUSTCHECK;
/* co: Removes the flow of `state` and fills ret_flow. Puts 400 flow_state_invalid when the flow is
 * unknown, used or too old. */
AWAITS int auth_flow_take(struct req *r, struct str state, struct auth_flow *ret_flow) MUSTCHECK;
/* any: Answers a callback in which the provider sent an error in place of a code (RFC 6749,
 * 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6): 403 when the user has not consented, otherwise
 * 502. */
int auth_flow_refuse(struct req *r, struct str error) MUSTCHECK;
/* any: Checks a client's code_challenge, which may be missing. Returns 0, or puts 400. */
int auth_flow_check_challenge(struct req *r, struct str challenge) MUSTCHECK;
/* any: Returns `url` with "name=value" added to its query. Arena-owned. */
struct str auth_flow_url(struct arena *arena, struct str url, const char *name, struct str value);
/* any: Returns BASE64URL(SHA256(verifier)) of RFC 7636; arena-owned. */
struct str auth_flow_challenge(struct arena *arena, struct str verifier);
