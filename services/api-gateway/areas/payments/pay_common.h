#pragma once
/* Shared by the payment areas: settings, failures, values of bodies, customers. */
#include "app.h"
#include "payments/money.h"
#include "payments/objects.h"
#include "payments/processor.h"

#define PAYMENTS_BASE "/integrations/svcpay"

/* co: Returns the project's payment settings, cached, valid until the request ends. `ready`: 409
 * payments_not_configured or account_not_ready unless the project can take payments. */
AWAITS int pay_settings_get(struct req *r, bool ready, const struct payment_settings **ret_settings)
    MUSTCHECK;
/* co: Reads the payment settings from r->scope->db instead of the cache, for answers with an ETag.
 * Texts live in the request's arena. */
AWAITS int pay_settings_read(struct req *r, const struct payment_settings **ret_settings) MUSTCHECK;
/* co: In the open transaction: locks a setting until the transaction ends, and returns its document
 * and its opened secret (payment_settings_lock()). */
AWAITS int
pay_settings_lock(struct req *r, const char *key, json_t **ret_doc, struct str *ret_secret)
    MUSTCHECK;
/* co: Locks the processor's settings as pay_settings_lock() does. *ret_doc: the document, which the
 * caller may change and store again. *ret_account: the account with its credentials. */
AWAITS int pay_processor_lock(struct req *r,
                              json_t **ret_doc,
                              struct processor_account *ret_account) MUSTCHECK;
/* co: Registers the project with payments-webhook, which serves this project from then on. Call it
 * before the first credentials are stored. */
AWAITS int pay_register(struct req *r) MUSTCHECK;
/* co: Stores a setting (payment_settings_put()) with its audit row, commits the open transaction,
 * if there is one, and raises the project's epoch. */
AWAITS int pay_settings_save(struct req *r,
                             const char *key,
                             struct str doc,
                             struct str secret,
                             struct db_call audit) MUSTCHECK;
/* any: Writes the answer for a positive result of processor_call() and returns its status: declined
 * 402 card_error with the processor's codes in "errors"; invalid values 400, a wrong state 409
 * payment_state; not found 404; a reused key 409 conflict; no credentials 409, refused credentials
 * 502; unavailable 503; unknown 503 outcome_unknown. Returns any other `rc` as it is. */
int pay_fail(struct req *r, int rc, const struct processor_reply *reply);
/* any: Sets the header Location to the address of the row `id`. `what`: "payment" or
 * "subscription". */
void pay_location(struct req *r, struct str what, int64_t id);
/* any: Converts amount and currency of a body into minor units, more than 0, and the currency in
 * lower case. 400 that names the field "amount" or "currency"; an `amount` of NULL is missing. */
int pay_amount(struct req *r,
               const json_t *amount,
               struct str currency,
               int64_t *ret_minor,
               struct str *ret_currency) MUSTCHECK;
/* any: Checks the caller's metadata (NULL = none) against the processor's limits: at most 40 names
 * of at most 40 characters without brackets, texts of at most 500. Numbers and booleans become
 * texts. Refuses the names that we set. *ret_metadata: a flat object of texts, arena-owned. */
int pay_user_metadata(struct req *r, const json_t *given, json_t **ret_metadata) MUSTCHECK;
/* any: Returns the metadata that each of our objects at the processor carries: {"project_id": slug,
 * "<name>": "id"}. Arena-owned. */
json_t *pay_metadata_new(struct req *r, const char *name, int64_t id);
/* any: Returns the caller's metadata (pay_user_metadata(); NULL = none) with the members of
 * pay_metadata_new() added. Arena-owned. */
json_t *pay_metadata_merge(struct req *r, const json_t *given, const char *name, int64_t id);
/* co: Returns the processor's customer for a subscriber (a user of the project) or an e-mail
 * address, and creates the customer when there is none. Concurrent and repeated requests create
 * only one customer for an address. *ret_customer is STR_NONE when `subscriber_id` is 0 and `email`
 * empty. 404 when the subscriber does not exist. */
AWAITS int pay_customer_find_or_create(struct req *r,
                                       const struct payment_settings *settings,
                                       int64_t subscriber_id,
                                       struct str email,
                                       struct str *ret_customer) MUSTCHECK;
/* co: Forgets `customer` when the processor has refused a call because it does not know this
 * customer. The next request creates another. Joins an open transaction. Only logs a failure. */
AWAITS void
pay_customer_forget(struct req *r, const struct processor_reply *reply, struct str customer);
/* any: Returns the addresses to which the payer returns: from the body, else from the project's
 * settings, else the project's web application (its first allowed origin), else the gateway. */
void pay_return_urls(struct req *r,
                     const struct payment_settings *settings,
                     const struct in_str *success,
                     const struct in_str *cancel,
                     struct str *ret_success,
                     struct str *ret_cancel);
