#pragma once
/* What the files of subscriptions share: the row, its answer, and the call that creates it. */
#include "areas/payments/billing/terms.h"
#include "areas/payments/pay_call.h"
#include "catalog/status.h"

/* Texts are arena-owned; empty = null. */
struct subscription {
    int64_t id, plan_id, subscriber_id;
    struct str provider, provider_id, session_id, customer;
    enum status status;
    bool cancel_at_period_end;
    struct str call_key, call_path, call_form; /* of a call whose end is not known */
    struct str failure_code, failure_message;  /* why it never began */
};

extern const struct schema subscription_schema;        /* with history */
extern const struct schema subscription_listed_schema; /* without */

/* co: on r->scope->db: 404 when there is none. */
AWAITS int subscription_load(struct req *r, int64_t id, struct subscription *ret_subscription)
    MUSTCHECK;
/* co: on r->scope->db: the subscription as it is now, with its history; `checkout_url` (201 alone)
 * empty = none. */
AWAITS int subscription_reply(struct req *r, int status, int64_t id, struct str checkout_url)
    MUSTCHECK;
/* any: canceled and incomplete_expired: nothing will change it any more. */
bool subscription_has_ended(const struct subscription *subscription);
/* any: 409 payment_state for those that the app store keeps, and for those that have ended. */
int subscription_check_ours(struct req *r, const struct subscription *subscription) MUSTCHECK;

/* --- creating --- */

/* any: the call that creates one; its settings, row, path and form are filled by the caller. */
struct pay_call subscription_call(struct req *r, struct idem *idem);
/* co: goes on with the row that an earlier request with this key made (pay->idem->target): 201 with
 * a checkout_url, or the problem. */
AWAITS int subscription_call_resume(struct pay_call *pay) MUSTCHECK;
