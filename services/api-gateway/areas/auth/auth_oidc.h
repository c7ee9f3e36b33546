#pragma once
/*
 * Client of an OpenID Connect issuer: discovery, keys, code exchange, ID token (OpenID Connect Core
 * 1.0; RFC 7636, 9207). Issuers' documents are cached per process by their Cache-Control, for at
 * most 24 hours. Functions that take a request put 502 themselves when the issuer fails. Only fetch
 * connects to the issuer's addresses, and every failure to reach the issuer gives the same answer.
 */
#include "app.h"

/* Copies in the task's arena, because settings may change during a wait for the issuer. */
struct oidc_client {
    struct str issuer;
    struct str client_id;
    struct str client_secret;
    bool trust_email; /* an absent email_verified counts as true */
    /* From discovery. */
    struct str authorization_endpoint;
    struct str token_endpoint;
    struct str jwks_uri;
};

/* Claims of a checked ID token; arena-owned, STR_NONE where absent. */
struct oidc_identity {
    struct str subject;
    struct str email; /* lower case */
    struct str name;
    struct str picture;
    bool email_verified;
    bool authoritative; /* the issuer is Google and runs the address's domain: gmail.com, or hd */
};

/* any: Returns 0, or puts 404 not_found when the project has no issuer. */
int oidc_check_configured(struct req *r) MUSTCHECK;
/* co: Reads the project's issuer and its endpoints (discovery). Puts 404 not_found when the project
 * has no issuer. */
AWAITS int oidc_client_load(struct req *r, struct oidc_client *ret_client) MUSTCHECK;

/* Parameters and results of oidc_exchange(). */
struct oidc_exchange {
    struct str code;
    struct str redirect_uri;
    struct str code_verifier;
    /* results */
    struct str id_token;
    struct str access_token;
};
/* co: Redeems a code, in a single attempt. Puts 401 invalid_credentials when the issuer refuses the
 * code. The results are arena-owned. */
AWAITS int oidc_exchange(struct req *r,
                         const struct oidc_client *client,
                         struct oidc_exchange *exchange) MUSTCHECK;

/* co: Makes all checks of the ID token and reads its claims. Puts 401 invalid_credentials when a
 * check fails; the reason goes only to the log. */
AWAITS int oidc_identity_read(struct req *r,
                              const struct oidc_client *client,
                              const struct oidc_exchange *exchange,
                              struct str nonce,
                              struct oidc_identity *ret_identity) MUSTCHECK;

/* any: Returns whether `iss` is a spelling of `issuer`. Google's issuer has two spellings. */
bool oidc_issuer_is(struct str issuer, struct str iss);

/* --- documents of issuers (auth_oidc_cache.c) --- */

/* co: Reads a JSON document: from the cache while it is fresh, otherwise from the issuer, or the
 * last good copy when the issuer fails. `renew`: fetch it again if the copy is older than a minute.
 * The root is owned by the task's arena. Returns 0, a negative, or a positive result when the
 * issuer fails and there is no copy. */
AWAITS int oidc_document(struct task *task, struct str url, bool renew, json_t **ret_root)
    MUSTCHECK;
