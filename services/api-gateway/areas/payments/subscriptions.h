#pragma once
/* What the files of subscriptions share: the row, its answer, and the processor's news of it. */
#include "areas/payments/payments_area.h"
#include "areas/payments/terms.h"

/* Texts are arena-owned; empty = null. */
struct subscription {
    int64_t id, plan_id, subscriber_id;
    struct str provider, provider_id, session_id, status;
    bool cancel_at_period_end;
    struct str call_key, call_path, call_form; /* of a call whose end is not known */
    struct str failure_code, failure_message;  /* why it never began */
};

extern const struct schema subscription_schema;        /* with history */
extern const struct schema subscription_listed_schema; /* without */

/* co: on r->db: 404 when there is none. */
AWAITS int subscription_load(struct req *r, int64_t id, struct subscription *ret_subscription) MUSTCHECK;
/* co: on r->db: the subscription as it is now, with its history; `checkout_url` (201 alone) empty = none. */
AWAITS int subscription_reply(struct req *r, int status, int64_t id, struct str checkout_url) MUSTCHECK;
/* any: canceled and incomplete_expired: nothing will change it any more. */
bool subscription_has_ended(const struct subscription *subscription);
/* any: 409 payment_state for those that the app store keeps, and for those that have ended. */
int subscription_check_ours(struct req *r, const struct subscription *subscription) MUSTCHECK;

/* co: in the open transaction: a subscription or session of the processor into its row. Results of apply.h; sets *ret_url
 * to a session's address and *ret_rang, both only when there is something. */
AWAITS int subscription_take_news(struct req *r, const struct payment_settings *settings, const json_t *object,
                              struct str *ret_url, bool *ret_rang) MUSTCHECK;

/* --- creating --- */

/* The call that creates it. Its row has been noted with it. */
struct subscription_call {
    const struct payment_settings *settings;
    struct idem *idem;
    int64_t id;
    struct str path, form, key;
    bool again; /* it may have been made before */
};
/* co: in the open transaction that made the row: notes the call in it (and gives it its key), and commits. */
AWAITS int subscription_call_note(struct req *r, struct subscription_call *call) MUSTCHECK;
/* co: makes the call, brings home what came of it, and answers: 201 with a checkout_url, or the problem. */
AWAITS int subscription_call_run(struct req *r, struct subscription_call *call) MUSTCHECK;
/* co: goes on with the row that an earlier request with this key made (call->idem->target). */
AWAITS int subscription_call_resume(struct req *r, struct subscription_call *call) MUSTCHECK;
