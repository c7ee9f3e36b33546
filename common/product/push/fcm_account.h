#pragma once
/*
 * The service account that a project uploads for Firebase Cloud Messaging, and the OAuth grant that
 * it gives access tokens for (RFC 7523, as google-auth-library asks for it). Whatever else the file
 * says is ignored, above all its token_uri: that would be an address of a stranger's choosing. Any
 * thread, one arena each.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct rsa_key;

#define FCM_ACCOUNT_BYTES_MAX 32768
/* The default of GROUNDWORK_FCM_TOKEN_URL, and what assertions are made out to. */
#define FCM_TOKEN_URL  "https://oauth2.googleapis.com/token"
#define FCM_SCOPE      "https://www.googleapis.com/auth/firebase.messaging"
#define FCM_GRANT_TYPE "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define FCM_GRANT_S    3600 /* the longest there is */
#define FCM_RENEW_S    300  /* a token is replaced so long before its end */

/* Arena-owned; the key goes with the arena. */
struct fcm_account {
    struct str project_id;   /* safe inside a path */
    struct str client_email; /* not secret */
    struct str key_id;       /* STR_NONE when the file has none that can stand in a token */
    const struct rsa_key *key;
};

/* 0 or FCM_ACCOUNT_NO_JSON, _BAD_TYPE, _BAD_PROJECT, _BAD_EMAIL or _BAD_KEY. Signs once to see that
 * the key can: a millisecond or two. */
int fcm_account_read(struct arena *arena, struct str json, struct fcm_account *ret_account)
    MUSTCHECK;
/* Which member is wrong, for the answer to whoever uploaded it. */
const char *fcm_account_reason(int result);

/* Where this account's messages are sent: `base` (GROUNDWORK_FCM_URL) is without a slash at its
 * end. */
struct str fcm_send_url(struct arena *arena, struct str base, const struct fcm_account *account);

/* The body (application/x-www-form-urlencoded) that asks for an access token; arena-owned.
 * `now_ms`: wall clock. */
struct str fcm_grant_form(struct arena *arena, const struct fcm_account *account, int64_t now_ms);

struct fcm_token {
    struct str authorization; /* "Bearer ..."; arena-owned and secret */
    int64_t renew_ms;         /* wall clock; may already have passed when it is short-lived */
    int64_t expires_ms;
};

/* The token endpoint's answer. 0 or FCM_TOKEN_REFUSED (trying again changes nothing) or
 * FCM_TOKEN_LATER, then *ret_code says why
 * ("invalid_grant", "HTTP_503"), arena-owned. */
int fcm_token_read(struct arena *arena,
                   long status,
                   struct str body,
                   int64_t now_ms,
                   struct fcm_token *ret_token,
                   struct str *ret_code) MUSTCHECK;
