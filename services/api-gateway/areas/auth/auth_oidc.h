#pragma once
/*
 * One OpenID Connect issuer as its client: discovery, keys, code exchange, ID token (OpenID Connect
 * Core 1.0; RFC 7636, 9207). Documents of issuers are cached per process by their Cache-Control, at
 * most 24 hours. Functions of the first kind answer 502 themselves when the issuer fails; its
 * addresses are dialled by fetch only, and every failure to reach it reads alike.
 */
#include "app.h"

/* Copies in the task's arena: settings may change while the issuer is waited for. */
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

/* What a checked ID token says; arena-owned, STR_NONE where absent. */
struct oidc_identity {
    struct str subject;
    struct str email; /* lower case */
    struct str name;
    struct str picture;
    bool email_verified;
    bool authoritative; /* Google's, and it runs the address's domain: gmail.com, or hd */
};

/* any: 404 not_found when the project has no issuer. */
int oidc_configured(struct req *r) MUSTCHECK;
/* co: the project's issuer, discovered. 404 not_found when the project has none. */
AWAITS int oidc_client_load(struct req *r, struct oidc_client *ret_client) MUSTCHECK;

/* co: redeems a code once; 401 invalid_credentials when the issuer refuses it. */
struct oidc_exchange {
    struct str code;
    struct str redirect_uri;
    struct str code_verifier;
    /* results */
    struct str id_token;
    struct str access_token;
};
AWAITS int oidc_exchange(struct req *r,
                         const struct oidc_client *client,
                         struct oidc_exchange *exchange) MUSTCHECK;

/* co: the whole validation list; 401 invalid_credentials, the reason goes to the log only. */
AWAITS int oidc_identity_read(struct req *r,
                              const struct oidc_client *client,
                              const struct oidc_exchange *exchange,
                              struct str nonce,
                              struct oidc_identity *ret_identity) MUSTCHECK;

/* any: is `iss` a spelling of this issuer? Google has two. */
bool oidc_issuer_is(struct str issuer, struct str iss);

/* --- documents of issuers (auth_oidc_cache.c) --- */

/* co: a JSON document; from the cache while it is fresh, the last good copy when the issuer fails.
 * `renew`: fetched again if the copy is older than a minute. The root is owned by the task's arena.
 * 0, or positive when there is no copy and none can be had. */
AWAITS int oidc_document(struct task *task, struct str url, bool renew, json_t **ret_root)
    MUSTCHECK;
