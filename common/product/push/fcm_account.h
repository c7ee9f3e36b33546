#pragma once
/*
 * The service account that a project uploads for Firebase Cloud Messaging, and the OAuth grant by
 * which it gets access tokens (RFC 7523, in the form of google-auth-library). Other members of the
 * file are ignored, above all token_uri: its address would be chosen by the user who uploads the
 * file. Any thread, one arena each.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct rsa_key;

#define FCM_ACCOUNT_BYTES_MAX 32768
/* The default of GROUNDWORK_FCM_TOKEN_URL, and the audience of all assertions. */
#define FCM_TOKEN_URL  "https://oauth2.googleapis.com/token"
#define FCM_SCOPE      "https://www.googleapis.com/auth/firebase.messaging"
#define FCM_GRANT_TYPE "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define FCM_GRANT_S    3600 /* the longest that is accepted */
#define FCM_RENEW_S    300  /* a token is replaced this long before it expires */

/* Arena-owned; the key is freed with the arena. */
struct fcm_account {
    struct str project_id;   /* safe inside a URL path */
    struct str client_email; /* not secret */
    struct str key_id;       /* STR_NONE when the file has none that is valid in a token */
    const struct rsa_key *key;
};

/* Reads the file. 0 or FCM_ACCOUNT_BAD_JSON, _BAD_TYPE, _BAD_PROJECT, _BAD_EMAIL or _BAD_KEY. Signs
 * once to test the key, which takes a millisecond or two. */
int fcm_account_read(struct arena *arena, struct str json, struct fcm_account *ret_account)
    MUSTCHECK;
/* Returns the message about the wrong member, for the user who uploaded the file. A literal. */
const char *fcm_account_reason(int result);

/* Returns the URL to which this account's messages are sent; arena-owned. `base`
 * (GROUNDWORK_FCM_URL) has no slash at its end. */
struct str fcm_send_url(struct arena *arena, struct str base, const struct fcm_account *account);

/* Returns the body (application/x-www-form-urlencoded) of a request for an access token;
 * arena-owned. `now_ms`: wall clock. */
struct str fcm_grant_form(struct arena *arena, const struct fcm_account *account, int64_t now_ms);

struct fcm_token {
    struct str authorization; /* "Bearer ..."; arena-owned and secret */
    int64_t renew_ms;         /* wall clock; already past for a token of a short life */
    int64_t expires_ms;
};

/* Reads the answer of the token endpoint. 0, or FCM_TOKEN_REFUSED (a retry changes nothing), or
 * FCM_TOKEN_UNAVAILABLE; *ret_code then says why ("invalid_grant", "HTTP_503"), arena-owned or a
 * literal.
 */
int fcm_token_read(struct arena *arena,
                   long status,
                   struct str body,
                   int64_t now_ms,
                   struct fcm_token *ret_token,
                   struct str *ret_code) MUSTCHECK;
