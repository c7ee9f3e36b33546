/* Answers of calls about a payment, and reading a payment from the processor. */
#include "areas/payments/checkout/payments.h"
#include "base/num.h"
#include "json/jr.h"
#include "payments_sql.h"

/* A request that reads a payment waits this long for the processor, then gets the stored state. */
#define READ_LIMIT_MS 5000

/* --- the row --- */

static struct str payment_text_or_null(struct str text)
{
    return text.len ? text : STR_NONE;
}

int payment_add(struct req *r, const struct payment_draft *draft, int64_t *ret_id)
{
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_PAYMENT_ADD(.type = str_from(draft->type),
                                .amount_minor = draft->amount_minor,
                                .currency = draft->currency,
                                .description = payment_text_or_null(draft->description),
                                .customer = payment_text_or_null(draft->customer),
                                .customer_email = payment_text_or_null(draft->customer_email),
                                .subscriber_id = some_id(draft->subscriber_id),
                                .payment_method_id = some_id(draft->payment_method_id),
                                .platform_fee_minor = draft->fee_minor,
                                .metadata = jr_print(r->task.arena, draft->metadata),
                                .created_by = r->scope->caller->user_id)));
    *ret_id = sql_payment_add_row(&rows, 0).id;
    return 0;
}

/* --- answers --- */

/* Adds members to the problem in r->body: which payment failed, and the secret with which its payer
 * can continue. */
static void extend_problem(struct req *r, int64_t payment_id, struct str client_secret)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 4096);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_I64(&w, "payment_id", payment_id);
    if (client_secret.len)
        JW_STR(&w, "client_secret", client_secret);
    jw_obj_end(&w);
    struct str members = strbuf_view(&text);
    if (text.overflow || !r->body.len)
        return;
    r->body.len--; /* the closing brace */
    strbuf_char(&r->body, ',');
    strbuf_str(&r->body, (struct str){members.ptr + 1, members.len - 1});
}

/* Returns the secret with which the payer can authenticate and continue a payment; STR_NONE after
 * any other failure, because the secret is of no use then. */
static struct str secret_after_failure(struct str code, const struct payment_next_step *extra)
{
    return str_is(code, "authentication_required") ? extra->client_secret : STR_NONE;
}

/* The secret is shown only while the payer must act, not when money has moved or is reserved. */
static struct payment_next_step next_step_of_call(const struct call *call)
{
    const struct intent_object *intent = &call->intent;
    bool waits =
        str_starts(intent->status, STR("requires_")) && !str_is(intent->status, "requires_capture");

    return (struct payment_next_step){
        .client_secret = waits ? intent->client_secret : STR_NONE,
        .next_action = intent->next_action,
    };
}

static void extend_unknown_problem(struct pay_call *pay)
{
    extend_problem(pay->r, pay->call.id, STR_NONE);
}

AWAITS static int payment_answer(struct pay_call *pay)
{
    const struct processor_reply *reply = &pay->call.reply;
    const struct payment_next_step extra = next_step_of_call(&pay->call);
    struct payment payment;

    TRY(payment_load(pay->r, pay->call.id, false, &payment));
    if (pay->call.end == CALL_DONE) {
        (void)payment_reply(pay->r, pay->status, &payment, &extra);
        return 0;
    }
    pay_customer_forget(pay->r, reply, payment.customer);
    (void)pay_fail(pay->r, pay->call.rc, reply);
    extend_problem(pay->r, payment.id, secret_after_failure(reply->code, &extra));
    return 0;
}

struct pay_call payment_call_begin(struct req *r, struct idem *idem, bool creates)
{
    struct pay_call pay = {
        .call = pay_call_begin(r, &call_payment, NULL, 0),
        .r = r,
        .idem = idem,
        .status = creates ? 201 : 200,
        .write_answer = payment_answer,
        .extend_unknown = extend_unknown_problem,
    };

    pay.call.creates = creates;
    return pay;
}

/* --- resuming --- */

/* Another process has settled the call. Answers with the payment's current state. */
AWAITS static int payment_answer_settled(struct pay_call *pay, struct payment *payment)
{
    struct payment_next_step extra;
    struct req *r = pay->r;

    TRY(payment_refresh(r, pay->call.settings, payment, &extra));
    if (pay->call.creates && str_is(payment->status, "failed")) {
        const struct processor_reply reply = {
            .code = payment->failure_code,
            .message = payment->failure_message,
        };
        (void)pay_fail(r, PROCESSOR_DECLINED, &reply);
        extend_problem(r, payment->id, secret_after_failure(payment->failure_code, &extra));
        return r->status;
    }
    if (pay->status == 201)
        pay_location(r, STR("payment"), payment->id);
    return payment_reply(r, pay->status, payment, &extra);
}

int payment_load_target(struct req *r, const struct idem *idem, struct payment *ret_payment)
{
    struct str id = idem->target;
    int64_t number = 0;

    (void)str_split(&id, ':');
    if (!num_parse_i64(id, &number))
        return fail(r, PROBLEM_IDEMPOTENCY_MISMATCH, NULL);
    return payment_load(r, number, false, ret_payment);
}

bool payment_call_is_own(const struct idem *idem, const struct payment *payment)
{
    return str_ends(payment->call_key, idem->salt);
}

int payment_call_resume(struct pay_call *pay)
{
    struct payment payment = {0};

    TRY(payment_load_target(pay->r, pay->idem, &payment));
    pay->call.id = payment.id;
    if (!payment_call_is_own(pay->idem, &payment))
        return payment_answer_settled(pay, &payment);
    return pay_call_repeat(pay, payment.call_key, payment.call_path, payment.call_form);
}

/* --- reading --- */

AWAITS static int apply_read(struct call *call, struct db *tx, void *arg)
{
    (void)arg;
    return call_apply(call, tx, call->reply.body, call->read_ms);
}

int payment_refresh(struct req *r,
                    const struct payment_settings *settings,
                    struct payment *payment,
                    struct payment_next_step *ret_extra)
{
    struct call call = pay_call_begin(r, &call_payment, settings, payment->id);
    bool begun = payment->intent_id.len > 0;

    *ret_extra = (struct payment_next_step){0};
    if (!str_is(payment->provider, "processor") || (!begun && !payment->session_id.len))
        return 0;
    int rc = call_fetch(&call,
                        begun ? call_payment.objects : CALL_SESSIONS,
                        begun ? payment->intent_id : payment->session_id,
                        READ_LIMIT_MS,
                        &call.reply);
    if (rc)
        return rc < 0 ? rc : 0;
    rc = call_transact(&call, apply_read, NULL);
    *ret_extra = next_step_of_call(&call);
    if (rc < 0) /* after a positive result the stored state is shown */
        return rc;
    return payment_load(r, payment->id, false, payment);
}
