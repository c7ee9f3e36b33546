#pragma once
/* Shared by the files of subscriptions: the row, its answer, and the call that creates a
 * subscription. */
#include "areas/payments/billing/terms.h"
#include "areas/payments/pay_call.h"
#include "catalog/status.h"

/* One subscription. Texts are arena-owned; empty = null. */
struct subscription {
    int64_t id, plan_id, subscriber_id;
    struct str provider, provider_id, session_id, customer;
    enum status status;
    bool cancel_at_period_end;
    struct str call_key, call_path, call_form; /* of a call with an unknown outcome */
    struct str failure_code, failure_message;  /* why the subscription could not be created */
};

extern const struct schema subscription_schema;        /* with the history */
extern const struct schema subscription_listed_schema; /* without the history */

/* co: Reads a subscription on r->scope->db. 404 when it does not exist. */
AWAITS int subscription_load(struct req *r, int64_t id, struct subscription *ret_subscription)
    MUSTCHECK;
/* co: Answers with the current subscription and its history, read on r->scope->db. `checkout_url`
 * is shown with status 201 only; empty = none. Returns the status. */
AWAITS int subscription_reply(struct req *r, int status, int64_t id, struct str checkout_url)
    MUSTCHECK;
/* any: Whether the subscription is canceled or incomplete_expired. Its status no longer changes
 * then. */
bool subscription_has_ended(const struct subscription *subscription);
/* any: 409 payment_state when the app store manages the subscription, or when it has ended. */
int subscription_check_changeable(struct req *r, const struct subscription *subscription) MUSTCHECK;

/* --- creating --- */

/* any: Returns a call that creates a subscription. The caller fills its settings, row id, path and
 * form. */
struct pay_call subscription_call_begin(struct req *r, struct idem *idem);
/* co: Continues with the row that an earlier request with this key created (pay->idem->target). 201
 * with a checkout_url, or the problem. */
AWAITS int subscription_call_resume(struct pay_call *pay) MUSTCHECK;
