#pragma once
/* Shared by the files of the app store. */
#include <jansson.h>

#include "payments/apply_rows_private.h"
#include "payments/store.h"

/* any: Returns the configuration of store_init(). */
const struct store_config *store_config(void);

/* any: Verifies a JWS of the store, whose chain must be valid at `at_ms` (wall), and returns its
 * payload (owned by the arena). 0 or STORE_INVALID with *ret_reason. */
int store_jws_open(struct arena *arena,
                   struct str token,
                   int64_t at_ms,
                   const json_t **ret_claims,
                   struct str *ret_reason) MUSTCHECK;

/* --- facts: what a notification reports about a purchase --- */

/* Stored as subscription_history.detail. Texts are borrowed from the JSON that they were read from.
 * Absent: empty, 0, and -1 for auto_renew. Times in ms. */
struct store_fact {
    struct str event_id;
    int64_t signed_ms;
    struct str type, subtype;
    int64_t status; /* data.status: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked */
    /* the transaction */
    struct str transaction_id, product_id, account_token, ownership, currency;
    struct str offer_discount, offer_period, offer_id, revocation_type;
    int64_t purchase_ms, expires_ms, revoked_ms, revoked_percentage, price_milli, quantity;
    /* the renewal info */
    struct str next_product_id, renewal_account_token;
    int64_t auto_renew, renewal_ms, grace_ms, expiration_intent;
};

enum store_kind {
    STORE_KIND_NONE,         /* not about a purchase: TEST, summaries, ... */
    STORE_KIND_SUBSCRIPTION, /* auto-renewable */
    STORE_KIND_PURCHASE,     /* one time */
};

/* A parsed stored document. */
struct store_document {
    enum store_kind kind;
    bool type_is_known; /* the type of the notification is known */
    struct str environment, original_id;
    struct store_fact fact;
};
/* any: Parses a stored document. 0 or APPLY_MALFORMED. Texts are arena-owned. */
int store_document_read(struct arena *arena, struct str text, struct store_document *ret) MUSTCHECK;
/* any: Convert a fact to JSON and back; event_id and signed_ms have columns of their own. */
struct str store_fact_print(struct arena *arena, const struct store_fact *fact);
void store_fact_parse(const json_t *detail, struct store_fact *ret);
/* any: Compares two facts in the order in which they are read: <0, 0, >0. */
int store_fact_order(const struct store_fact *a, const struct store_fact *b);

/* --- the state that the facts of a subscription add up to --- */

/* Zeroed to start with. Texts are borrowed from the facts. */
struct store_state {
    const char
        *store_status; /* active, in_grace, billing_retry, expired, revoked; NULL before any fact */
    struct str transaction_id, product_id, next_product_id, account_token, ownership, currency,
        offer_id;
    int64_t price_milli;
    int64_t starts_ms, expires_ms; /* of the current transaction */
    int64_t refunded_end_ms; /* end of a current transaction that was refunded in part; 0 = not
                                refunded */
    bool free_trial;         /* the current transaction is a free trial */
    int64_t trial_end_ms, trial_days;
    int64_t grace_ms; /* in_grace, billing_retry: end of access; 0 = otherwise */
    bool renewal_is_off;
    int64_t canceled_ms, ended_ms; /* 0 = not canceled, not ended */
    int64_t expiration_intent;
};
/* any: Adds one fact. */
void store_state_add(struct store_state *state, const struct store_fact *fact);
/* any: Returns the status in the API's words; NULL before any fact. */
const char *store_state_status(const struct store_state *state);
/* any: Returns the end of the period that was paid for; 0 = unknown. */
int64_t store_state_end(const struct store_state *state);

/* any: Converts milliunits of a currency to its minor units, rounded half up. */
int64_t store_minor(int64_t milli, struct str currency);
/* any: Returns the currency in lower case, arena-owned; "xxx" (none, ISO 4217) when the store sent
 * no valid currency. */
struct str store_currency(struct arena *arena, struct str currency);

/* co: Does store_apply() for a one-time purchase. */
AWAITS int store_purchase_apply(struct apply_source *source,
                                struct db *tx,
                                const struct store_document *document,
                                struct applied *ret) MUSTCHECK;
