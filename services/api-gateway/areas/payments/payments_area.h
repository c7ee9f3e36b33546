#pragma once
/*
 * What the payment areas share. A request that moves money:
 *
 *   TRY(idem_begin(r, in.idempotency_key, &idem));      answered before, refused, or ours
 *   return idem_end(r, &idem, create(r, &in, &idem));   keeps the answer when it is a final one
 *
 * and inside, after what can be refused without the processor (pay_call.h):
 *
 *   sql_begin(), the local row, pay_call_note()
 *   pay_call_run()
 *
 * Killed anywhere between, the caller goes on with his key (idem.target names the row), else the
 * payments service's timer does.
 */
#include "app.h"
#include "payments/money.h"
#include "payments/objects.h"
#include "payments/processor.h"

#define PAYMENTS_BASE "/integrations/svcpay"

/* --- settings and failures --- */

/* co: the project's payment settings. `ready`: 409 payments_not_configured or account_not_ready
 * unless money can be taken. */
AWAITS int pay_settings(struct req *r, bool ready, const struct payment_settings **ret_settings)
    MUSTCHECK;
/* co: the same as r->scope->db has them now, not as this process last read it: what is shown with
 * an ETag. */
AWAITS int pay_settings_now(struct req *r, const struct payment_settings **ret_settings) MUSTCHECK;
/* co: in the open transaction: the processor's settings row, locked: its document, which may be
 * changed and put back (payment_settings_put), and the account with its credentials. */
AWAITS int pay_lock_processor(struct req *r,
                              json_t **ret_doc,
                              struct processor_account *ret_account) MUSTCHECK;
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

/* --- idempotency --- */

/* Member of a body's schema, for a struct with a member `idempotency_key`. */
/* clang-format off */
#define IDEM_MEMBER(body)                                                                          \
    {.name = "idempotency_key", FIELD_AT(body, idempotency_key), .type = FIELD_STR,                \
     .nullable = true, .max = 255,                                                                 \
     .doc = "As the header Idempotency-Key: a repeated request is carried out once"}
/* clang-format on */

struct idem {
    struct str key; /* empty: the caller gave none, and all of these do nothing */
    struct str principal;
    struct str target; /* taken over: the local row that the first request made ("payment:12"), else
                          empty */
    int64_t token;
    struct str salt; /* for the processor's key: the same for everyone who repeats the request;
                        without a key random (PROCESSOR_ONCE) */
    bool ended;      /* kept or released */
};
/* co: header Idempotency-Key, else `body_key` (the member "idempotency_key"). Done before: its
 * answer again, with Idempotent-Replayed: true (a non-zero status is returned); another body 422;
 * still running 409; abandoned: taken over, .target says how far it came. Comes before anything
 * that depends on the state of things. */
AWAITS int idem_begin(struct req *r, const struct in_str *body_key, struct idem *ret_idem)
    MUSTCHECK;
/* co: in the open transaction (r->scope->db) that makes the local row: notes it. 409 when another
 * request has taken over: the transaction must not be committed. */
AWAITS int idem_note(struct req *r, const struct idem *idem, const char *kind, int64_t id)
    MUSTCHECK;
/* co: in the open transaction that ends the work: keeps `status` and what is in r->body as the
 * answer. */
AWAITS int idem_keep(struct req *r, struct idem *idem, int status) MUSTCHECK;
/* co: the outcome is unknown or the processor was away: the next request with this key goes on at
 * once. `forget`: there is no local row (any more), it begins anew. Joins an open transaction. */
AWAITS void idem_release(struct req *r, struct idem *idem, bool forget);
/* co: the end of every handler with a key; `rc` is what the work returned, and is returned. What
 * idem_keep() has not kept: final answers (2xx, 400, 402, 404, 409 payment_state) are kept now, the
 * others release the key. */
AWAITS int idem_end(struct req *r, struct idem *idem, int rc) MUSTCHECK;
