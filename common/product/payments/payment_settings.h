#pragma once
/*
 * A project's settings for payments, in {p}.settings, kind 'payments', by key:
 *
 *  - processor: {"mode": "connect"|"own", "account", "business_type", "country", "email",
 *    "charges_enabled", "payouts_enabled", "details_submitted", "requirements", "event_at",
 *    "event_id"}; sealed {"secret_key", "webhook_secrets": [{"secret", "expires_at"}]} (RFC 3339)
 *  - fees: {"percent", "fixed", "currency"}
 *  - schedule: {"rows": [{"country", "percent", "fixed", "currency", "international_percent",
 *    "conversion_percent", "recurring_percent"}]}
 *  - options: {"grace_days", "web_checkout_storefronts", "success_url", "cancel_url"}
 *  - iap_store: {"issuer_id", "key_id", "bundle_id", "app_apple_id", "environments": ["production",
 *    "sandbox"]}; sealed {"private_key": base64 of PKCS #8 DER}
 *
 * Cached per process until the project's epoch changes: a caller that writes a setting calls
 * project_epoch_raise() afterwards.
 */
#include <stdbool.h>

#include "json/jr.h"
#include "payments/fee.h"
#include "project/project.h"

#define WEBHOOK_SECRETS_MAX 5

#define PAYMENT_SETTINGS_KIND      "payments"
#define PAYMENT_SETTINGS_PROCESSOR "processor"
#define PAYMENT_SETTINGS_FEES      "fees"
#define PAYMENT_SETTINGS_SCHEDULE  "schedule"
#define PAYMENT_SETTINGS_OPTIONS   "options"
#define PAYMENT_SETTINGS_STORE     "iap_store"

/* CONNECT: the key is a platform's, and charges go to the project's connected account (direct
 * charges: Stripe-Account on every call). OWN: the key is that of the project's own account, which
 * is ready as soon as the key is stored. */
enum processor_mode { PROCESSOR_CONNECT, PROCESSOR_OWN };

struct webhook_secret {
    struct str secret;
    int64_t expires_ms; /* wall; 0 = until it is removed */
};

struct processor_account {
    enum processor_mode mode;
    struct str secret_key; /* empty: no processor */
    struct webhook_secret webhook_secrets[WEBHOOK_SECRETS_MAX];
    size_t webhook_secret_count;
    struct str account; /* acct_...; empty: not created (CONNECT), unknown (OWN) */
    struct str business_type, country, email;
    bool charges_enabled, payouts_enabled, details_submitted;
    struct str requirements; /* JSON text from the processor; empty = none was sent */
};

enum { STORE_PRODUCTION = 1, STORE_SANDBOX = 2 }; /* bits of store_account.environments */

struct store_account {
    struct str issuer_id, key_id, private_key /* PKCS #8 DER */, bundle_id;
    int64_t app_apple_id; /* 0 = not given: production notifications are refused */
    unsigned environments;
    bool configured;
};

struct payment_settings {
    struct processor_account processor;
    struct store_account store;
    struct platform_fee fee;
    const struct processor_fee *schedule;
    size_t schedule_count;
    int64_t grace_days;                   /* days of access after a failed renewal; default 3 */
    struct str *web_checkout_storefronts; /* ISO 3166 alpha-3: where an iOS app may link to a web
                                             checkout */
    size_t web_checkout_storefront_count;
    struct str success_url, cancel_url;
};

/* co: Returns the settings of the project's current epoch, valid until the task's arena ends. 0, a
 * DB_* (DB_FAILED: a sealed value cannot be opened), or a negative. */
AWAITS int payment_settings_get(struct task *task,
                                struct project *project,
                                const struct payment_settings **ret_settings) MUSTCHECK;
/* co: Reads the settings through `db`, past the cache: to show them with an ETag, and to compare
 * the ETag inside a transaction. Results as of payment_settings_get(); texts live in the task's
 * arena. */
AWAITS int payment_settings_read(struct task *task,
                                 struct project *project,
                                 struct db *db,
                                 const struct payment_settings **ret_settings) MUSTCHECK;
/* any: Reads a row of PAYMENT_SETTINGS_PROCESSOR; either tree may be NULL. Texts are copied into
 * `arena`. */
void processor_account_read(struct arena *arena,
                            const json_t *doc,
                            const json_t *secret,
                            struct processor_account *ret);
/* any: Reads a row of PAYMENT_SETTINGS_STORE, as processor_account_read() does. */
void store_account_read(struct arena *arena,
                        const json_t *doc,
                        const json_t *secret,
                        struct store_account *ret);
/* any: Returns whether payments can be taken: a key is configured and, in CONNECT, an account whose
 * charges are enabled. */
bool payment_processor_ready(const struct payment_settings *settings);

/* any: Returns the statement that stores `doc` (JSON text) under a key. `secret`: STR_NONE leaves
 * the sealed value, an empty text removes it, any other text is sealed. The statement joins the
 * caller's transaction; call project_epoch_raise() after the commit. Parameters live in the arena.
 */
struct db_call payment_settings_put(struct arena *arena,
                                    struct project *project,
                                    const char *key,
                                    struct str doc,
                                    struct str secret);
/* co: In `tx`: locks the row of a key until the transaction ends, to change a part of it; creates
 * the row if there is none. *ret_doc is arena-owned and may be changed. *ret_secret is the opened
 * sealed value, STR_NONE when there is none; ret_secret may be NULL. 0, a DB_*, or a negative. */
AWAITS int payment_settings_lock(struct task *task,
                                 struct db *tx,
                                 struct project *project,
                                 const char *key,
                                 json_t **ret_doc,
                                 struct str *ret_secret) MUSTCHECK;
/* co: Registers a project before its first credentials are stored: payments-webhook sweeps it from
 * now on. Results of db_query(). */
AWAITS int payment_project_register(struct task *task, struct directory *directory, int64_t number)
    MUSTCHECK;
