#pragma once
/*
 * Sessions and their tokens. Access tokens are ES256 JWTs of the project's active key; refresh
 * tokens are 256 random bits, stored as SHA-256, single use, one chain per session (RFC
 * 9700, 4.14.2).
 */
#include "app.h"

/* Tokens that a sign-in or a refresh returns; arena-owned. */
struct auth_tokens {
    struct str access_token;
    struct str refresh_token;
    int64_t expires_in; /* seconds */
    int64_t expires_at; /* seconds since 1970 */
    struct rows user;   /* statement account_user */
};

/* Schemas of the token body. auth_provider_tokens_schema also has is_new_user. */
extern const struct schema auth_tokens_schema;
extern const struct schema auth_provider_tokens_schema;

/* any: Checks whether an account in this state may sign in. Puts 403 user_suspended or
 * email_not_confirmed. */
int auth_account_check(struct req *r, struct str status, bool confirmed) MUSTCHECK;

/* co: Starts a session. One transaction writes its row, its first refresh token and
 * last_sign_in_at, and prunes the user's old sessions. `new_hash`, unless STR_NONE, replaces the
 * password hash if that is still `old_hash`. */
AWAITS int auth_session_start(struct req *r,
                              int64_t user_id,
                              struct str old_hash,
                              struct str new_hash,
                              struct auth_tokens *ret_tokens) MUSTCHECK;

/* co: Exchanges a refresh token. A repeated use within the grace time returns the same successor;
 * any other second use ends the session. */
AWAITS int auth_session_refresh(struct req *r, struct str token, struct auth_tokens *ret_tokens)
    MUSTCHECK;

/* co: Signs an access token for tokens->user, and sets access_token, expires_in and expires_at of
 * `tokens`. For the files of this module.
 * `session_expires_ms`: wall-clock end of the session. `key`: the row of signing_key_active. */
AWAITS int auth_session_issue(struct req *r,
                              int64_t session_id,
                              int64_t session_expires_ms,
                              const struct rows *key,
                              struct auth_tokens *tokens) MUSTCHECK;

/* any: Writes the members of the token body. */
void auth_tokens_members(struct jw *w, const struct auth_tokens *tokens);
/* any: Puts the whole answer: 200 with the token body, never cached. */
int auth_tokens_reply(struct req *r, const struct auth_tokens *tokens);

/* any: auth_secret_new() returns 32 random bytes as base64url. auth_secret_hash() returns the
 * SHA-256 of a secret, which is stored in its place. Both are arena-owned. */
struct str auth_secret_new(struct arena *arena);
struct str auth_secret_hash(struct arena *arena, struct str secret);
