/* Answers of the call that creates a subscription. */
#include "areas/payments/billing/subscriptions.h"
#include "base/num.h"
#include "json/jr.h"

AWAITS static int subscription_answer(struct pay_call *pay)
{
    const struct call *call = &pay->call;
    struct subscription known;

    if (call->end == CALL_DONE) {
        int status = subscription_reply(pay->r, 201, call->id, call->session.url);
        return status == 201 ? 0 : DB_FAILED;
    }
    TRY(subscription_load(pay->r, call->id, &known));
    pay_customer_forget(pay->r, &call->reply, known.customer);
    (void)pay_fail(pay->r, call->rc, &call->reply);
    return 0;
}

struct pay_call subscription_call_begin(struct req *r, struct idem *idem)
{
    struct pay_call pay = {
        .call = pay_call_begin(r, &call_subscription, NULL, 0),
        .r = r,
        .idem = idem,
        .status = 201,
        .write_answer = subscription_answer,
    };

    pay.call.creates = true;
    return pay;
}

/* --- resuming --- */

/* Sets *ret_url to the address of the checkout; leaves *ret_url unchanged unless the checkout is
 * open. */
AWAITS static int read_url(struct pay_call *pay, struct str session_id, struct str *ret_url)
{
    struct processor_reply reply = {0};
    int rc = call_fetch(&pay->call, CALL_SESSIONS, session_id, 0, &reply);

    if (rc)
        return pay_fail(pay->r, rc, &reply);
    if (str_is(jr_str(reply.body, "status"), "open"))
        *ret_url = jr_str(reply.body, "url");
    return 0;
}

/* Answers with the current state: the timer of payments-webhook has settled the call. */
AWAITS static int subscription_answer_settled(struct pay_call *pay,
                                              const struct subscription *known)
{
    bool ended = subscription_has_ended(known);
    struct str url = STR_NONE;

    if (known->failure_code.len && ended) {
        const struct processor_reply reply = {.code = known->failure_code,
                                              .message = known->failure_message};
        return pay_fail(pay->r, PROCESSOR_DECLINED, &reply);
    }
    if (known->session_id.len && !known->provider_id.len && !ended)
        TRY(read_url(pay, known->session_id, &url));
    int status = subscription_reply(pay->r, 201, known->id, url);
    if (status == 201)
        pay_location(pay->r, STR("subscription"), known->id);
    return status;
}

int subscription_call_resume(struct pay_call *pay)
{
    struct str id = pay->idem->target;
    struct subscription known;

    (void)str_split(&id, ':');
    if (!num_parse_i64(id, &pay->call.id))
        return fail(pay->r, PROBLEM_IDEMPOTENCY_MISMATCH, NULL);
    TRY(subscription_load(pay->r, pay->call.id, &known));
    if (!known.call_key.len)
        return subscription_answer_settled(pay, &known);
    return pay_call_repeat(pay, known.call_key, known.call_path, known.call_form);
}
