#pragma once
/* What the payment areas share: settings, failures, values of bodies, customers. */
#include "app.h"
#include "payments/money.h"
#include "payments/objects.h"
#include "payments/processor.h"

#define PAYMENTS_BASE "/integrations/svcpay"

/* co: the project's payment settings. `ready`: 409 payments_not_configured or account_not_ready
 * unless money can be taken. */
AWAITS int pay_settings(struct req *r, bool ready, const struct payment_settings **ret_settings)
    MUSTCHECK;
/* co: the same as r->scope->db has them now, not as this process last read it: what is shown with
 * an ETag. */
AWAITS int pay_settings_now(struct req *r, const struct payment_settings **ret_settings) MUSTCHECK;
/* co: in the open transaction: payment_settings_lock(). */
AWAITS int
pay_settings_lock(struct req *r, const char *key, json_t **ret_doc, struct str *ret_secret)
    MUSTCHECK;
/* co: the same of the processor: its document, which may be changed and put back, and the account
 * with its credentials. */
AWAITS int pay_lock_processor(struct req *r,
                              json_t **ret_doc,
                              struct processor_account *ret_account) MUSTCHECK;
/* co: before the first credentials are stored: the payments service looks at this project from
 * then on. */
AWAITS int pay_register(struct req *r) MUSTCHECK;
/* co: puts a setting (payment_settings_put) with its audit row, and commits the open transaction,
 * if there is one. */
AWAITS int pay_settings_save(struct req *r,
                             const char *key,
                             struct str doc,
                             struct str secret,
                             struct db_call audit) MUSTCHECK;
/* any: the answer for a positive result of processor_call(): declined 402 card_error with the
 * processor's code in "errors"; its complaint about our values 400, about the state of things 409
 * payment_state; its 404 404; no credentials 409, refused ones 502; unavailable 503; unknown 503
 * outcome_unknown ("repeat with the same Idempotency-Key"). Negative ones are returned as they are.
 */
int pay_fail(struct req *r, int rc, const struct processor_reply *reply);
/* any: header Location of a "payment" or "subscription". */
void pay_location(struct req *r, struct str what, int64_t id);
/* any: amount and currency of a body -> minor units (more than 0), or the 400 that names the field:
 * "amount" or "currency". An amount of NULL is required. */
int pay_amount(struct req *r,
               const json_t *amount,
               struct str currency,
               int64_t *ret_minor,
               struct str *ret_currency) MUSTCHECK;
/* any: checks the caller's metadata (NULL: none), as the processor limits it: at most 40 names of
 * at most 40 characters without brackets, texts of at most 500 (numbers and booleans are made
 * texts); names that are ours are refused. *ret_metadata: a flat object of texts. */
int pay_user_metadata(struct req *r, const json_t *given, json_t **ret_metadata) MUSTCHECK;
/* any: the metadata that every object of ours carries: {"project_id": slug, "<name>": "id"}. */
json_t *pay_metadata(struct req *r, const char *name, int64_t id);
/* any: the same behind the caller's own (pay_user_metadata; NULL: none). */
json_t *pay_metadata_with(struct req *r, const json_t *given, const char *name, int64_t id);
/* co: the processor's customer for a subscriber (a user of the project) or an e-mail address, made
 * when there is none: one per address, whatever happens between. `subscriber_id` 0 and `email`
 * empty: *ret_customer is STR_NONE. An unknown subscriber is 404. */
AWAITS int pay_customer(struct req *r,
                        const struct payment_settings *settings,
                        int64_t subscriber_id,
                        struct str email,
                        struct str *ret_customer) MUSTCHECK;
/* co: a refusal of the processor: when it says that it does not know this customer (any more), the
 * next request has another one. Joins an open transaction. */
AWAITS void
pay_customer_gone(struct req *r, const struct processor_reply *reply, struct str customer);
/* any: where the payer comes back to: the body's, else the project's settings, else its web
 * application (the first allowed origin), else the gateway. */
void pay_return_urls(struct req *r,
                     const struct payment_settings *settings,
                     const struct in_str *success,
                     const struct in_str *cancel,
                     struct str *ret_success,
                     struct str *ret_cancel);
