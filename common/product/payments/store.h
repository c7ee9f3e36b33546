#pragma once
/*
 * App store: verified notifications and what they do, and calls to its server API.
 *
 * Notifications (App Store Server Notifications, version 2) are JWS with x5c (crypto/x5c.h); the
 * transaction and renewal info inside are JWS of their own. They move a subscription's status and
 * history, record one-time purchases, and start no workflows.
 */
#include "crypto/x5c.h"
#include "db/db.h"
#include "payments/apply.h"
#include "payments/payment_settings.h"

/* The store repeats a notification 1, 12, 24, 48 and 72 hours after the attempt before, the last
 * one thus 6.5 days after it was signed; nothing older is taken. */
#define STORE_MAX_AGE_MS     (7LL * 24 * 60 * 60 * 1000)
#define STORE_BODY_BYTES_MAX 65536 /* of a notification's request */

struct store_config {
    const struct x5c_anchors *anchors; /* roots that are trusted: the store's, or a test's */
    struct str production_url,
        sandbox_url;    /* https://api.storekit.apple.com, https://api.storekit-sandbox.apple.com */
    int64_t max_age_ms; /* of a live notification's signedDate; 0 = STORE_MAX_AGE_MS */
};
/* loop: once; borrows the anchors, copies the rest. */
void store_init(const struct store_config *config);
/* any: the anchors to trust: those of a PEM file, the store's own root when `path` is empty. Owned
 * by the caller. 0, or X5C_BAD: the file cannot be read, is longer than 64 KiB, or is not all
 * certificates of authorities. */
int store_anchors_load(struct str path, struct x5c_anchors **ret_anchors) MUSTCHECK;

/* --- notifications --- */

/* A verified notification; texts are arena-owned. */
struct store_notification {
    struct str type, subtype, uuid, environment; /* "Production", "Sandbox" */
    int64_t signed_ms;
    struct str document; /* what is stored, JSON: {"notification": {...}, "transaction": {...}|null,
                            "renewal": {...}|null, "app_transaction": {...}|null}, opened */
    struct str event_id; /* webhook_events.event_id: "<environment>:<uuid>" */
};
/* any: 0, STORE_BAD with *ret_reason for the log, STORE_FOREIGN or STORE_STALE. `now_ms` wall.
 * The body of the request is {"signedPayload": "..."}. Every chain is checked as of now: a date
 * inside that is signed with an expired key is worth nothing. */
int store_notification_read(struct arena *arena,
                            struct str body,
                            const struct store_account *account,
                            int64_t now_ms,
                            struct store_notification *ret,
                            struct str *ret_reason) MUSTCHECK;
/* co: in `tx`: a stored document. Results as apply.h; with APPLY_UNSUPPORTED (a type of
 * notification that is not known) ret->effect is set too.
 *
 * A subscription is what its notifications say, read in the order in which they were signed: each
 * is kept in its history, and one that comes late takes its place there. So any order of arrival,
 * with any repeats, ends in one state. A one-time purchase is what its newest notification says. */
AWAITS int
store_apply(struct apply_source *source, struct db *tx, struct str document, struct applied *ret)
    MUSTCHECK;

/* --- the app's users --- */

#define STORE_ACCOUNT_TOKEN_BYTES 36
/* any: the appAccountToken that the app passes when this user buys: the UUID
 * 00000000-0000-4000-8000-<12 hex digits of the user's id>, NUL-terminated. */
void store_account_token(int64_t user_id, char ret_token[STORE_ACCOUNT_TOKEN_BYTES + 1]);
/* any: the user of such a token, in either case of letters; 0 = it is none of ours. */
int64_t store_account_user(struct str token);

/* --- the server API --- */

/* any: a key file as the store hands it out (.p8: PEM, PKCS #8, P-256) -> PKCS #8
 * DER, arena-owned and secret. 0, or STORE_KEY_BAD. */
int store_key_read(struct arena *arena, struct str pem, struct str *ret_der) MUSTCHECK;

/* Failures of calls: STORE_API_REFUSED: its 4xx, *ret_reason says why, in words for people;
 * STORE_API_DOWN: no answer, too many calls, or its 5xx. */

/* co: asks the store for a TEST notification: *ret_token names it (arena-owned). 0,
 * STORE_API_REFUSED, STORE_API_DOWN, or a negative. */
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
/* How the sending of a test notification went. Texts arena-owned. */
struct store_test {
    struct store_test_attempt attempts[STORE_ATTEMPTS_MAX];
    size_t attempt_count;
    struct str uuid; /* of the notification, as the store sends it; empty = not sent */
};
/* co: 0, STORE_API_NOT_FOUND (no such token, or not sent yet), STORE_API_REFUSED, STORE_API_DOWN,
 * or a negative. */
AWAITS int store_test_outcome(struct task *task,
                              const struct store_account *account,
                              bool sandbox,
                              struct str token,
                              struct store_test *ret,
                              struct str *ret_reason) MUSTCHECK;
