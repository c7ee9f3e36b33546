#pragma once
/*
 * A sign-in at an issuer that is under way: kept ten minutes under the hash of its state, used
 * once. Nonce and code verifier are sealed.
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
    int64_t user_id;           /* who links an identity to their account; 0 = a plain sign-in */
};

/* co: fills state, nonce and code_verifier and stores it. */
AWAITS int auth_flow_begin(struct req *r, struct auth_flow *flow) MUSTCHECK;
/* co: takes it out; 400 flow_state_invalid when it is unknown, used or too old. */
AWAITS int auth_flow_take(struct req *r, struct str state, struct auth_flow *ret_flow) MUSTCHECK;
/* any: answers for a provider that sends an error in place of a code (RFC 6749, 4.1.2.1; OpenID
 * Connect Core 1.0, 3.1.2.6): 403 where the user has not consented, else 502. */
int auth_flow_refused(struct req *r, struct str error) MUSTCHECK;
/* any: the BASE64URL(SHA256(verifier)) of RFC 7636; arena-owned. */
struct str auth_flow_challenge(struct arena *arena, struct str verifier);
