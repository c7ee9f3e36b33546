#pragma once
/*
 * What a project has configured for payments, in {p}.settings, kind 'payments', by key:
 *
 *  - processor: {"mode": "connect"|"own", "account", "business_type", "country", "email",
 *    "charges_enabled", "payouts_enabled", "details_submitted", "requirements", "event_at"};
 *    sealed {"secret_key", "webhook_secrets": [{"secret", "expires_at"}]} (RFC 3339)
 *  - fees: {"percent", "fixed", "currency"}
 *  - schedule: {"rows": [{"country", "percent", "fixed", "currency", "international_percent",
 *    "conversion_percent", "recurring_percent"}]}
 *  - options: {"grace_days", "web_checkout_storefronts", "success_url", "cancel_url"}
 *  - iap_store: {"issuer_id", "key_id", "bundle_id", "app_apple_id",
 *    "environments": ["production", "sandbox"]}; sealed {"private_key": base64 of PKCS #8 DER}
 *
 * Cached per process until the project's epoch moves: whoever writes one calls project_touch()
 * afterwards.
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

/* CONNECT: the key is a platform's, charges go to the project's connected account (direct charges:
 * Stripe-Account on every call). OWN: the key is the project's own account, ready as soon as it is
 * stored. */
enum processor_mode { PROCESSOR_CONNECT, PROCESSOR_OWN };

struct webhook_secret {
    struct str secret;
    int64_t expires_ms; /* wall; 0 = until it is taken away */
};

struct processor_account {
    enum processor_mode mode;
    struct str secret_key; /* empty: no processor */
    struct webhook_secret webhook_secrets[WEBHOOK_SECRETS_MAX];
    size_t webhook_secret_count;
    struct str account; /* acct_...; empty: not created (CONNECT), unknown (OWN) */
    struct str business_type, country, email;
    bool charges_enabled, payouts_enabled, details_submitted;
    struct str requirements; /* JSON text, as the processor sent it; empty = it has not */
};

enum { STORE_PRODUCTION = 1, STORE_SANDBOX = 2 }; /* bits of .environments */

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
    int64_t grace_days;                   /* access after a failed renewal, 3 */
    struct str *web_checkout_storefronts; /* ISO 3166 alpha-3: where an iOS app may link to a web
                                             checkout */
    size_t web_checkout_storefront_count;
    struct str success_url, cancel_url;
};

/* co: as of the project's epoch, valid until the task's arena ends. 0, a DB_* (DB_FAILED: what
 * is sealed cannot be opened), or a negative. */
AWAITS int payment_settings_get(struct task *task,
                                struct project *project,
                                const struct payment_settings **ret_settings) MUSTCHECK;
/* co: as `db` has them now: what is shown with an ETag, and compared with it inside a transaction.
 * The same results; texts live in the task's arena. */
AWAITS int payment_settings_read(struct task *task,
                                 struct project *project,
                                 struct db *db,
                                 const struct payment_settings **ret_settings) MUSTCHECK;
/* any: a row of PAYMENT_SETTINGS_PROCESSOR; either tree may be NULL. Texts are copied. */
void processor_account_read(struct arena *arena,
                            const json_t *doc,
                            const json_t *secret,
                            struct processor_account *ret);
/* any: the same of PAYMENT_SETTINGS_STORE. */
void store_account_read(struct arena *arena,
                        const json_t *doc,
                        const json_t *secret,
                        struct store_account *ret);
/* any: money can be taken: a key is there and, in CONNECT, an account whose charges are enabled. */
bool payment_processor_ready(const struct payment_settings *settings);

/* What is stored under a key: a doc as JSON text; `secret` STR_NONE keeps what is sealed, an empty
 * text removes it, another one is sealed for its place. The call joins the caller's transaction.
 * Afterwards project_touch(). Parameters live in the arena. */
struct db_call payment_settings_put(struct arena *arena,
                                    struct project *project,
                                    const char *key,
                                    struct str doc,
                                    struct str secret);
/* co: for changing a part: in `tx`, locks the row of a key (made when there is none) until the
 * transaction ends. *ret_doc is arena-owned and may be changed; *ret_secret is what is
 * sealed, opened, STR_NONE when nothing is; ret_secret may be NULL. 0, a DB_*, or a negative. */
AWAITS int payment_settings_lock(struct task *task,
                                 struct db *tx,
                                 struct project *project,
                                 const char *key,
                                 json_t **ret_doc,
                                 struct str *ret_secret) MUSTCHECK;
/* co: before the first credentials are stored: the payments service sweeps this project from now
 * on. */
AWAITS int payment_project_register(struct task *task, struct directory *directory, int64_t number)
    MUSTCHECK;
