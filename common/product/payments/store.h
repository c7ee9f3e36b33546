#pragma once
/*
 * App store: verifies and applies its notifications, and calls its server API.
 *
 * Notifications (App Store Server Notifications, version 2) are JWS with x5c (crypto/x5c.h). The
 * transaction info and the renewal info inside are JWS of their own. Notifications move a
 * subscription's status and history and record one-time purchases. They start no workflows.
 */
#include "crypto/x5c.h"
#include "db/db.h"
#include "payments/apply.h"
#include "payments/payment_settings.h"

/* The store sends a notification again 1, 12, 24, 48 and 72 hours after the previous attempt, so
 * the last attempt is 6.5 days after the signature. Older notifications are refused. */
#define STORE_MAX_AGE_MS     (7LL * 24 * 60 * 60 * 1000)
#define STORE_BODY_BYTES_MAX 65536 /* of a notification's request */

struct store_config {
    const struct x5c_anchors *anchors; /* trusted roots: the store's, or a test's */
    struct str production_url,
        sandbox_url;    /* https://api.storekit.apple.com, https://api.storekit-sandbox.apple.com */
    int64_t max_age_ms; /* largest age of a live notification's signedDate; 0 = STORE_MAX_AGE_MS */
};
/* loop: Sets the configuration, once. Borrows the anchors, copies the rest. */
void store_init(const struct store_config *config);
/* any: Returns the trusted anchors: those of a PEM file, or the store's own root when `path` is
 * empty. Owned by the caller. 0, or X5C_BAD: the file cannot be read, is longer than 64 KiB, or
 * does not consist of certificates of authorities. */
int store_anchors_load(struct str path, struct x5c_anchors **ret_anchors) MUSTCHECK;

/* --- notifications --- */

/* A verified notification; texts are arena-owned. */
struct store_notification {
    struct str type, subtype, uuid, environment; /* environment: "Production" or "Sandbox" */
    int64_t signed_ms;
    struct str document; /* stored JSON, opened: {"notification": {...}, "transaction": {...}|null,
                            "renewal": {...}|null, "app_transaction": {...}|null} */
    struct str event_id; /* webhook_events.event_id: "<environment>:<uuid>" */
};
/* any: Verifies the body of a request, {"signedPayload": "..."}. 0, or STORE_INVALID,
 * STORE_OTHER_APP or STORE_STALE with *ret_reason for the log. `now_ms`: wall clock. Certificate
 * chains are checked at `now_ms`, because a date that is signed with an expired key proves nothing.
 */
int store_notification_read(struct arena *arena,
                            struct str body,
                            const struct store_account *account,
                            int64_t now_ms,
                            struct store_notification *ret,
                            struct str *ret_reason) MUSTCHECK;
/*
 * co: In `tx`: applies a stored document. Results as apply.h; with APPLY_UNSUPPORTED (the type of
 * the notification is not known) ret->effect is set too.
 *
 * A subscription is what its notifications report, read in the order of their signatures. Each
 * notification is stored in the subscription's history, where a late one is sorted in. So any order
 * of arrival, with any repeats, ends in one state. A one-time purchase is what its newest
 * notification reports.
 */
AWAITS int
store_apply(struct apply_source *source, struct db *tx, struct str document, struct applied *ret)
    MUSTCHECK;

/* --- the app's users --- */

#define STORE_ACCOUNT_TOKEN_BYTES 36
/* any: Returns the appAccountToken that the app passes when this user buys: the UUID
 * 00000000-0000-4000-8000-<12 hex digits of the user's id>, NUL-terminated. */
void store_account_token(int64_t user_id, char ret_token[STORE_ACCOUNT_TOKEN_BYTES + 1]);
/* any: Returns the user of such a token, in either case of letters; 0 = the token is not one of
 * ours. */
int64_t store_account_user(struct str token);

/* --- the server API --- */

/* any: Converts a key file of the store (.p8: PEM, PKCS #8, P-256) to PKCS #8 DER, arena-owned and
 * secret. 0, or STORE_KEY_BAD. */
int store_key_read(struct arena *arena, struct str pem, struct str *ret_der) MUSTCHECK;

/* Failures of calls: STORE_API_REFUSED: a 4xx of the store; STORE_API_DOWN: no answer, too many
 * calls, or a 5xx of the store. Both set *ret_reason: a clause for users, without a final
 * period. */

/* co: Requests a TEST notification: *ret_token identifies it (arena-owned). 0, STORE_API_REFUSED,
 * STORE_API_DOWN, or a negative. */
AWAITS int store_request_test(struct task *task,
                              const struct store_account *account,
                              bool sandbox,
                              struct str *ret_token,
                              struct str *ret_reason) MUSTCHECK;

#define STORE_ATTEMPTS_MAX 10
struct store_test_attempt {
    int64_t at_ms;
    struct str result; /* SUCCESS, TIMED_OUT, ... */
};
/* Outcome of sending a test notification. Texts are arena-owned. */
struct store_test {
    struct store_test_attempt attempts[STORE_ATTEMPTS_MAX];
    size_t attempt_count;
    struct str uuid; /* UUID of the notification, as the store sends it; empty = not sent */
};
/* co: Fetches the outcome of a TEST notification. 0, STORE_API_NOT_FOUND (unknown token, or not
 * sent yet), STORE_API_REFUSED, STORE_API_DOWN, or a negative. */
AWAITS int store_test_outcome(struct task *task,
                              const struct store_account *account,
                              bool sandbox,
                              struct str token,
                              struct store_test *ret,
                              struct str *ret_reason) MUSTCHECK;
