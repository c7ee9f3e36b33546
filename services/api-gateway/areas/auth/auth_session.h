#pragma once
/*
 * Sessions and their tokens. Access tokens are ES256 JWTs of the project's active key; refresh
 * tokens are 256 random bits, stored as SHA-256, single use, one chain per session (RFC
 * 9700, 4.14.2).
 */
#include "app.h"

/* What a sign-in or a refresh hands out; arena-owned. */
struct auth_tokens {
    struct str access_token;
    struct str refresh_token;
    int64_t expires_in; /* seconds */
    int64_t expires_at; /* seconds since 1970 */
    struct rows user;   /* statement account_user */
};

/* The token body of documents; the second with is_new_user. */
extern const struct schema auth_tokens_schema;
extern const struct schema auth_provider_tokens_schema;

/* any: may an account of this state sign in? 403 user_suspended or email_not_confirmed. */
int auth_account_check(struct req *r, struct str status, bool confirmed) MUSTCHECK;

/* co: a new session: its row, its first refresh token, last_sign_in_at and the pruning of old
 * sessions in one transaction. `new_hash` replaces the password hash while it is still `old_hash`.
 */
AWAITS int auth_session_start(struct req *r,
                              int64_t user_id,
                              struct str old_hash,
                              struct str new_hash,
                              struct auth_tokens *ret_tokens) MUSTCHECK;

/* co: exchanges a refresh token. A repeat within the grace time gets the same successor; any other
 * second use ends the session. */
AWAITS int auth_session_refresh(struct req *r, struct str token, struct auth_tokens *ret_tokens)
    MUSTCHECK;

/* co: signs an access token; for the files of this module. `key` is a row of signing_key_active. */
AWAITS int auth_session_issue(struct req *r,
                              int64_t session_id,
                              int64_t session_expires_ms,
                              const struct rows *key,
                              struct auth_tokens *tokens) MUSTCHECK;

/* any: writes the members of the token body. */
void auth_tokens_members(struct jw *w, const struct auth_tokens *tokens);
/* any: the whole answer: 200 with the token body, never cached. */
int auth_tokens_reply(struct req *r, const struct auth_tokens *tokens);

/* any: 32 random bytes as base64url, and what is stored of them. Arena-owned. */
struct str auth_secret_new(struct arena *arena);
struct str auth_secret_hash(struct arena *arena, struct str secret);
