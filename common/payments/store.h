#pragma once
/*
 * App store: verified notifications and what they do, and calls to its server API.
 *
 * Notifications are JWS with x5c (crypto/x5c.h), the transaction and renewal info inside are JWS of
 * their own. They move a subscription's status and history, record one-time purchases, and start no
 * workflows.
 */
#include "crypto/x5c.h"
#include "db/db.h"
#include "payments/apply.h"
#include "payments/payment_settings.h"

struct store_config {
    const struct x5c_anchors *anchors; /* roots that are trusted: the store's, or a test's */
    struct str production_url,
        sandbox_url;    /* https://api.storekit.apple.com, https://api.storekit-sandbox.apple.com */
    int64_t max_age_ms; /* of a live notification's signedDate: 4 days (retries end before) */
};
/* loop: once; borrows the anchors, copies the rest. */
void store_init(const struct store_config *config);

enum store_result {
    STORE_BAD = 1, /* not a notification, or not signed as it must be; *ret_reason for the log */
    STORE_FOREIGN, /* another app's or another environment's */
    STORE_STALE,   /* signed too long ago, or in the future */
};

/* A verified notification; texts are arena-owned. */
struct store_notification {
    struct str type, subtype, uuid, environment; /* "Production", "Sandbox" */
    int64_t signed_ms;
    struct str
        document; /* what is stored: JSON of the payload with transaction and renewal opened */
};
/* any: 0 or an enum store_result. `now_ms` wall. The body of the request is {"signedPayload":
 * "..."}. */
int store_notification_read(struct arena *arena,
                            struct str body,
                            const struct store_account *account,
                            int64_t now_ms,
                            struct store_notification *ret,
                            struct str *ret_reason) MUSTCHECK;
/* co: in `tx`: a stored document. Results as apply.h. Applied only when signed later than what the
 * row knows; history rows are always stored. */
AWAITS int
store_apply(struct apply_source *source, struct db *tx, struct str document, struct applied *ret)
    MUSTCHECK;

/* co: asks the store for a TEST notification: *ret_token. 0; STORE_API_REFUSED (its 4xx:
 * *ret_reason tells), STORE_API_DOWN, or a negative. */
enum { STORE_API_REFUSED = 11, STORE_API_DOWN };
AWAITS int store_request_test(struct task *task,
                              const struct store_account *account,
                              bool sandbox,
                              struct str *ret_token,
                              struct str *ret_reason) MUSTCHECK;
