/* Actions on a payment: confirm, capture, cancel, refund, and reading its current state. */
#include "areas/payments/checkout/payment_methods.h"
#include "areas/payments/checkout/payments.h"
#include "areas/payments/idempotency.h"
#include "payments_sql.h"

/* One kind of action on a payment. build() fills the call, or answers with a problem. */
struct payment_action {
    const char *key_name, *participle; /* "capture", "captured" */
    const char *const *allowed_states;
    int (*build)(struct req *r,
                 struct payment_action *act,
                 const struct payment *payment,
                 struct call *call);
    const void *in;
    struct form form;
    int64_t method_id;        /* confirm: id of the method's row; 0 = none */
    struct str method;        /* confirm: the processor's id; empty = the intent's method */
    bool needs_ready_account; /* requires an account that can take payments */
    bool is_cumulative;       /* equal actions add up, so they cannot share a call */
    /* Tail of the session's path for this action; NULL = the action needs an intent. */
    const char *session_tail;
};

static bool is_in_states(struct str status, const char *const *states)
{
    for (; *states; states++) {
        if (str_is(status, *states))
            return true;
    }
    return false;
}

/* PROBLEM_CONFLICT is not a final answer (idem_finish()): the same request may succeed later. */
static int fail_unsettled(struct req *r)
{
    return fail(
        r,
        PROBLEM_CONFLICT,
        "The outcome of an earlier change of the payment is not known yet; try again later.");
}

static int
check_payment(struct req *r, const struct payment_action *act, const struct payment *payment)
{
    if (!str_is(payment->provider, "processor"))
        return fail(r, PROBLEM_PAYMENT_STATE, "The payment was made in an app store.");
    if (!is_in_states(payment->status, act->allowed_states))
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The payment is %.*s: it cannot be %s.",
                    STR_ARG(payment->status),
                    act->participle);
    if (payment->call_key.len && !payment->intent_id.len && !payment->session_id.len)
        return fail_unsettled(r);
    if (!payment->intent_id.len && !(act->session_tail && payment->session_id.len))
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The payer has not begun to pay: there is nothing that can be %s.",
                    act->participle);
    return 0;
}

/* Joins the open call of another request when both make the same change, by using its key. Refuses
 * a different change, and actions that add up. */
static int join_open_call(struct req *r,
                          const struct payment_action *act,
                          const struct payment *payment,
                          struct pay_call *pay)
{
    struct call *call = &pay->call;

    if (!payment->call_key.len)
        return 0;
    if (!str_eq(payment->call_path, call->path) || !str_eq(payment->call_form, call->form) ||
        act->is_cumulative)
        return fail_unsettled(r);
    call->key = payment->call_key;
    call->may_repeat = true;
    return 0;
}

AWAITS static int
action_note(struct req *r, struct payment_action *act, int64_t id, struct pay_call *pay)
{
    struct payment payment;

    TRY(sql_begin(r));
    TRY(payment_load(r, id, true, &payment));
    TRY(check_payment(r, act, &payment));
    form_init(&act->form, r->task.arena);
    TRY(act->build(r, act, &payment, &pay->call));
    pay->call.id = id;
    pay->call.form = form_text(&act->form);
    TRY(join_open_call(r, act, &payment, pay));
    if (act->method_id)
        TRY(sql_exec(
            r, NULL, SQL_PAYMENT_SET_METHOD(.id = id, .payment_method_id = act->method_id)));
    return pay_call_note(pay, act->key_name);
}

/* Continues the action of an abandoned request, which noted its call. Repeats the call while it is
 * open. Otherwise another process has closed the call: if the payment can still take the action,
 * makes the call again under the same key, so that it is not carried out twice. */
AWAITS static int action_resume(struct req *r, struct payment_action *act, struct pay_call *pay)
{
    struct payment_next_step extra;
    struct payment payment;

    TRY(payment_load_target(r, pay->idem, &payment));
    if (payment_call_is_own(pay->idem, &payment))
        return payment_call_resume(pay);
    TRY(payment_refresh(r, pay->call.settings, &payment, &extra));
    if (!is_in_states(payment.status, act->allowed_states))
        return payment_reply(r, 200, &payment, &extra);
    pay->call.may_repeat = true;
    TRY(action_note(r, act, payment.id, pay));
    return pay_call_run(pay);
}

AWAITS static int run_action_once(struct req *r, struct payment_action *act, struct idem *idem)
{
    struct pay_call pay = payment_call_begin(r, idem, false);
    struct payment_next_step extra;
    struct payment payment;

    TRY(pay_settings_get(r, act->needs_ready_account, &pay.call.settings));
    if (idem->target.len)
        return action_resume(r, act, &pay);
    TRY(payment_load_path(r, &payment));
    /* Not every change is reported by an event, so the stored state may be out of date. */
    if (!is_in_states(payment.status, act->allowed_states) || !payment.intent_id.len)
        TRY(payment_refresh(r, pay.call.settings, &payment, &extra));
    TRY(action_note(r, act, payment.id, &pay));
    return pay_call_run(&pay);
}

AWAITS static int run_action(struct req *r, struct payment_action *act, const struct in_str *key)
{
    struct idem idem;

    TRY(idem_begin(r, key, &idem));
    return idem_finish(r, &idem, run_action_once(r, act, &idem));
}

static struct str intent_path(struct req *r, const struct payment *payment, const char *tail)
{
    return processor_path(r->task.arena, "/v1/payment_intents", payment->intent_id, tail);
}

/* --- state --- */

AWAITS static int intent_guard(struct req *r)
{
    struct payment payment;

    return payment_load_path(r, &payment);
}

AWAITS static int intents_get(struct req *r)
{
    const struct payment_settings *settings;
    struct payment_next_step extra;
    struct payment payment;

    TRY(payment_load_path(r, &payment));
    TRY(pay_settings_get(r, false, &settings));
    TRY(payment_refresh(r, settings, &payment, &extra));
    return payment_reply(r, 200, &payment, &extra);
}

/* --- confirm --- */

struct confirm_in {
    struct in_json payment_method_id;
    struct in_str return_url;
    struct in_str idempotency_key;
};

static const struct field confirm_fields[] = {
    {.name = "payment_method_id",
     FIELD_AT(struct confirm_in, payment_method_id),
     .type = FIELD_JSON,
     .doc = "Id of the method here (integer) or at the processor (text); the intent's method when "
            "left out",
     .example = "\"pm_1Q0aBcD\""},
    {.name = "return_url",
     FIELD_AT(struct confirm_in, return_url),
     .type = FIELD_STR,
     .nullable = true,
     .format = "url",
     .max = 2000,
     .doc = "Where the payer returns from a bank's page; the project's setting when left out"},
    IDEM_MEMBER(struct confirm_in),
};
static const struct schema confirm_schema =
    SCHEMA("PaymentConfirm", struct confirm_in, confirm_fields);

static const char *const confirmable_states[] = {
    "requires_payment_method", "requires_confirmation", "requires_action", "failed", NULL};

static int build_confirm(struct req *r,
                         struct payment_action *act,
                         const struct payment *payment,
                         struct call *call)
{
    const struct confirm_in *in = act->in;
    static const struct in_str none;
    struct str back;
    struct str unused;

    pay_return_urls(r, call->settings, &in->return_url, &none, &back, &unused);
    call->path = intent_path(r, payment, "/confirm");
    form_str(&act->form, "payment_method", act->method);
    form_str(&act->form, "return_url", back);
    return 0;
}

/* Reads the body's payment_method_id. The processor's id of a method is used as it is: a method
 * that was created on the payer's device need not be stored here. */
AWAITS static int resolve_method(struct req *r, const json_t *id, struct payment_action *act)
{
    struct payment_method method;

    if (!id || json_is_null(id))
        return 0;
    if (json_is_string(id) && json_string_length(id) > 0 && json_string_length(id) <= 255) {
        act->method = (struct str){json_string_value(id), json_string_length(id)};
        return 0;
    }
    TRY(payment_method_find(r, NULL, id, &method));
    act->method = method.provider_id;
    act->method_id = method.id;
    return 0;
}

AWAITS static int intent_confirm(struct req *r, struct payment_action *act, struct idem *idem)
{
    const struct confirm_in *in = act->in;

    TRY(resolve_method(r, in->payment_method_id.set ? in->payment_method_id.value : NULL, act));
    return run_action_once(r, act, idem);
}

AWAITS static int intents_confirm(struct req *r)
{
    struct confirm_in in;
    struct payment_action act = {
        .key_name = "confirm",
        .participle = "confirmed",
        .allowed_states = confirmable_states,
        .build = build_confirm,
        .in = &in,
        .needs_ready_account = true,
    };
    struct idem idem;

    TRY(req_json(r, &confirm_schema, &in));
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, intent_confirm(r, &act, &idem));
}

/* --- capture --- */

struct capture_in {
    struct in_f64 amount;
    struct in_str idempotency_key;
};

static const struct field capture_fields[] = {
    {.name = "amount",
     FIELD_AT(struct capture_in, amount),
     .type = FIELD_F64,
     .nullable = true,
     .doc = "Amount to capture; the rest of the reservation is released. When left out, the whole "
            "amount is captured",
     .example = "10"},
    IDEM_MEMBER(struct capture_in),
};
static const struct schema capture_schema =
    SCHEMA("PaymentCapture", struct capture_in, capture_fields);

static const char *const capturable_states[] = {"requires_capture", NULL};

/* *ret_minor is 0 when the body has no amount. */
static int read_part_amount(struct req *r,
                            const struct in_f64 *amount,
                            const struct payment *payment,
                            int64_t most_minor,
                            int64_t *ret_minor)
{
    struct str currency;

    *ret_minor = 0;
    if (!amount->set || amount->null)
        return 0;
    TRY(payment_amount(r, amount, payment->currency, ret_minor, &currency));
    if (*ret_minor > most_minor)
        return fail_field(r,
                          "amount",
                          PROBLEM_OUT_OF_RANGE,
                          "must be at most %.*s",
                          STR_ARG(money_text(r->task.arena, most_minor, payment->currency)));
    return 0;
}

/* Returns the platform's fee on a part of the payment: the same share, rounded half up. */
static int64_t part_fee(const struct payment *payment, int64_t amount_minor)
{
    int64_t whole = payment->amount_minor;
    int64_t fee = (payment->fee_minor * amount_minor * 2 + whole) / (whole * 2);

    return fee < amount_minor ? fee : amount_minor;
}

static int build_capture(struct req *r,
                         struct payment_action *act,
                         const struct payment *payment,
                         struct call *call)
{
    const struct capture_in *in = act->in;
    int64_t amount_minor;

    TRY(read_part_amount(r, &in->amount, payment, payment->amount_minor, &amount_minor));
    call->path = intent_path(r, payment, "/capture");
    if (amount_minor)
        form_i64(&act->form, "amount_to_capture", amount_minor);
    if (amount_minor && payment->fee_minor)
        form_i64(&act->form, "application_fee_amount", part_fee(payment, amount_minor));
    return 0;
}

AWAITS static int intents_capture(struct req *r)
{
    struct capture_in in;
    struct payment_action act = {
        .key_name = "capture",
        .participle = "captured",
        .allowed_states = capturable_states,
        .build = build_capture,
        .in = &in,
    };

    TRY(req_json(r, &capture_schema, &in));
    return run_action(r, &act, &in.idempotency_key);
}

/* --- cancel --- */

struct cancel_in {
    struct in_str reason;
    struct in_str idempotency_key;
};

static const char *const cancel_reasons[] = {
    "abandoned", "duplicate", "fraudulent", "requested_by_customer", NULL};

static const struct field cancel_fields[] = {
    {.name = "reason",
     FIELD_AT(struct cancel_in, reason),
     .type = FIELD_STR,
     .nullable = true,
     .values = cancel_reasons},
    IDEM_MEMBER(struct cancel_in),
};
static const struct schema cancel_schema = SCHEMA("PaymentCancel", struct cancel_in, cancel_fields);

static const char *const cancelable_states[] = {"requires_payment_method",
                                                "requires_confirmation",
                                                "requires_action",
                                                "processing",
                                                "requires_capture",
                                                "failed",
                                                NULL};

static int build_cancel(struct req *r,
                        struct payment_action *act,
                        const struct payment *payment,
                        struct call *call)
{
    const struct cancel_in *in = act->in;

    /* While the checkout page is open it controls the intent, so the session is expired instead. */
    if (payment->session_id.len && !str_is(payment->status, "requires_capture")) {
        call->path = processor_path(
            r->task.arena, "/v1/checkout/sessions", payment->session_id, act->session_tail);
        return 0;
    }
    call->path = intent_path(r, payment, "/cancel");
    if (in->reason.set && !in->reason.null)
        form_str(&act->form, "cancellation_reason", in->reason.value);
    return 0;
}

AWAITS static int intents_cancel(struct req *r)
{
    struct cancel_in in;
    struct payment_action act = {
        .key_name = "cancel",
        .participle = "canceled",
        .allowed_states = cancelable_states,
        .build = build_cancel,
        .in = &in,
        .session_tail = "/expire",
    };

    TRY(req_json(r, &cancel_schema, &in));
    return run_action(r, &act, &in.idempotency_key);
}

/* --- refund --- */

struct refund_in {
    struct in_f64 amount;
    struct in_str reason;
    struct in_str idempotency_key;
};

static const char *const refund_reasons[] = {
    "duplicate", "fraudulent", "requested_by_customer", NULL};

static const struct field refund_fields[] = {
    {.name = "amount",
     FIELD_AT(struct refund_in, amount),
     .type = FIELD_F64,
     .nullable = true,
     .doc = "Amount to refund; when left out, the amount that is not refunded yet",
     .example = "5"},
    {.name = "reason",
     FIELD_AT(struct refund_in, reason),
     .type = FIELD_STR,
     .nullable = true,
     .values = refund_reasons},
    IDEM_MEMBER(struct refund_in),
};
static const struct schema refund_schema = SCHEMA("PaymentRefund", struct refund_in, refund_fields);

static const char *const refundable_states[] = {"succeeded", "partially_refunded", NULL};

static int build_refund(struct req *r,
                        struct payment_action *act,
                        const struct payment *payment,
                        struct call *call)
{
    const struct refund_in *in = act->in;
    /* A refund that is repeated may already be included in refunded_minor, so refunded_minor is
     * then not subtracted. */
    int64_t left_minor = payment->amount_minor - (call->may_repeat ? 0 : payment->refunded_minor);
    int64_t amount_minor;

    TRY(read_part_amount(r, &in->amount, payment, left_minor, &amount_minor));
    call->path = STR("/v1/refunds");
    form_str(&act->form, "payment_intent", payment->intent_id);
    if (amount_minor)
        form_i64(&act->form, "amount", amount_minor);
    if (in->reason.set && !in->reason.null)
        form_str(&act->form, "reason", in->reason.value);
    form_map(&act->form, "metadata", pay_metadata_new(r, "payment_id", payment->id));
    return 0;
}

AWAITS static int refund_guard(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id)); /* this route takes no pi_... */
    return intent_guard(r);
}

AWAITS static int payments_refund(struct req *r)
{
    struct refund_in in;
    struct payment_action act = {
        .key_name = "refund",
        .participle = "refunded",
        .allowed_states = refundable_states,
        .build = build_refund,
        .in = &in,
        .is_cumulative = true,
    };
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &refund_schema, &in));
    return run_action(r, &act, &in.idempotency_key);
}

/* --- routes --- */

#define INTENT_DOC "{id} is the payment's id here or the processor's id (pi_...). "
#define KEY_DOC                                                                                    \
    "Takes an Idempotency-Key. 503 outcome_unknown: repeat the request with the same key, or "     \
    "read the payment later."

static const struct route payment_intents_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payments/payment-intent/{id}",
        .id_prefix = "pi_",
        .id = "payment_intents_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .success = {200, &payment_schema},
        .extra_statuses = {404},
        .run = intents_get,
        .guard = intent_guard,
        .summary = "Read the current state of a payment from the processor",
        .doc = INTENT_DOC "When the processor cannot be reached the answer is the stored state.",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/payment-intent/{id}/confirm",
        .id_prefix = "pi_",
        .id = "payment_intents_confirm",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &confirm_schema,
        .body_optional = true,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = intents_confirm,
        .guard = intent_guard,
        .summary = "Confirm a payment with a method",
        .doc = INTENT_DOC "With status requires_action the answer has next_action. 402 card_error: "
                          "declined. " KEY_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/payment-intent/{id}/capture",
        .id_prefix = "pi_",
        .id = "payment_intents_capture",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &capture_schema,
        .body_optional = true,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = intents_capture,
        .guard = intent_guard,
        .summary = "Capture the reserved amount of a payment",
        .doc = INTENT_DOC "409 payment_state unless the status is requires_capture. " KEY_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/payment-intent/{id}/cancel",
        .id_prefix = "pi_",
        .id = "payment_intents_cancel",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &cancel_schema,
        .body_optional = true,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = intents_cancel,
        .guard = intent_guard,
        .summary = "Cancel a payment that is not paid",
        .doc = INTENT_DOC
        "An open checkout page is closed. 409 payment_state when the payment is paid. " KEY_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/{id}/refund",
        .id = "payments_refund",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &refund_schema,
        .body_optional = true,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = payments_refund,
        .guard = refund_guard,
        .summary = "Refund a payment, or a part of it",
        .doc = "409 payment_state unless the payment has succeeded and is not fully "
               "refunded. " KEY_DOC,
    },
};
ROUTES(payment_intents, "Payments");
