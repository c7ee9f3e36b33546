#pragma once
/*
 * What the payment areas share. A call that moves money:
 *
 *   TRY(idem_begin(r, in.idempotency_key, &idem));          replayed, refused, or ours
 *   ... one transaction: the local row (call_path, call_form, call_key, settle_at) + idem_target()
 *   rc = processor_call(...)                                 key derived from the local row: repeats are safe
 *   ... one transaction: apply_intent() + idem_done()        the answer, kept for 24 hours
 *
 * Killed anywhere between, the row has what is needed to repeat the call: the caller does so with his key, else the
 * payments service's timer.
 */
#include "app.h"
#include "payments/money.h"
#include "payments/objects.h"
#include "payments/processor.h"

#define PAYMENTS_BASE "/integrations/svcpay"

/* --- settings and failures --- */

/* co: the project's payment settings. `ready`: 409 payments_not_configured or account_not_ready unless money can be
 * taken. */
AWAITS int pay_settings(struct req *r, bool ready, const struct payment_settings **ret_settings) MUSTCHECK;
/* any: the answer for a positive result of processor_call(): declined 402 card_error with the processor's code in
 * "errors"; its complaint about our values 400; its 404 404; no or refused credentials 409/502; unavailable 503;
 * unknown 503 outcome_unknown ("repeat with the same Idempotency-Key"). */
int pay_fail(struct req *r, int rc, const struct processor_reply *reply);
/* any: amount and currency of a body -> minor units, or the 400 that names the field. */
int pay_amount(struct req *r, const json_t *amount, struct str currency, int64_t *ret_minor,
               struct str *ret_currency) MUSTCHECK;
/* co: the processor's customer for a subscriber (a user of the project) or an e-mail address, made when there is none: one
 * per address, whatever happens between. `subscriber_id` 0 and `email` empty: *ret_customer is STR_NONE. */
AWAITS int pay_customer(struct req *r, const struct payment_settings *settings, int64_t subscriber_id, struct str email,
                        struct str *ret_customer) MUSTCHECK;
/* any: the metadata that every object of ours carries: {"project_id": slug, "<name>": id}. */
json_t *pay_metadata(struct req *r, const char *name, int64_t id);

/* --- idempotency --- */

struct idem {
    struct str key;      /* empty: the caller gave none */
    struct str principal;
    struct str target;   /* taken over: the local row that the first request made ("payment:12"), else empty */
    int64_t token;
};
/* co: header Idempotency-Key, else `body_key`. Done before: its answer again, with Idempotent-Replayed: true (a non-zero
 * status is returned); another body 422; still running 409; abandoned: taken over, .target tells how far it came. */
AWAITS int idem_begin(struct req *r, struct str body_key, struct idem *ret_idem) MUSTCHECK;
/* any: a call that notes the local row, for the transaction that makes it; affects no row when another request has taken
 * over. Only when idem->key is not empty. */
struct db_call idem_target(struct req *r, const struct idem *idem, const char *kind, int64_t id);
/* any: a call that keeps the answer, for the transaction that ends the work. */
struct db_call idem_done(struct req *r, const struct idem *idem, int status, struct str response);
/* co: the outcome is unknown or the processor was away: the next request with this key goes on at once. */
AWAITS void idem_release(struct req *r, const struct idem *idem);
