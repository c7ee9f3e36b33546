/* POST /payments/charge-payment-method: charges a saved method while the payer is absent. */
#include "areas/payments/checkout/payment_methods.h"
#include "areas/payments/checkout/payments.h"
#include "areas/payments/idempotency.h"

struct charge_in {
    struct in_json payment_method_id;
    struct in_f64 amount;
    struct in_str currency;
    struct in_str description;
    struct in_json metadata;
    struct in_str capture_method;
    struct in_str idempotency_key;
};

static const struct field charge_fields[] = {
    {.name = "payment_method_id",
     FIELD_AT(struct charge_in, payment_method_id),
     .type = FIELD_JSON,
     .required = true,
     .doc = "Id of the method here (integer) or at the processor (text)",
     .example = "4"},
    PAYMENT_MEMBERS(struct charge_in),
};
static const struct schema charge_schema =
    SCHEMA("PaymentMethodCharge", struct charge_in, charge_fields);

/* An absent payer cannot be redirected, so a method that requires authentication is declined. */
static void put_charge(struct form *form, const struct payment_method *method)
{
    form_str(form, "payment_method", method->provider_id);
    form_bool(form, "off_session", true);
    form_bool(form, "confirm", true);
    form_str(form, "automatic_payment_methods[allow_redirects]", STR("never"));
}

AWAITS static int payments_charge_once(struct req *r,
                                       const struct charge_in *in,
                                       struct payment_draft *draft,
                                       struct idem *idem)
{
    struct pay_call pay = payment_call_begin(r, idem, true);
    struct payment_method method;
    struct form form;

    TRY(pay_settings_get(r, true, &pay.call.settings));
    if (idem->target.len)
        return payment_call_resume(&pay);
    TRY(payment_method_find(r, pay.call.settings, in->payment_method_id.value, &method));
    draft->type = "saved_method";
    draft->payment_method_id = method.id;
    draft->subscriber_id = method.subscriber_id;
    draft->customer = method.customer;
    draft->customer_email = method.email;
    draft->fee_minor = payment_fee(pay.call.settings, draft->amount_minor, draft->currency);
    TRY(payment_add(r, draft, &pay.call.id));
    form_init(&form, r->task.arena);
    payment_put_intent(r, &form, draft, pay.call.id, in->capture_method.value);
    put_charge(&form, &method);
    pay.call.path = STR("/v1/payment_intents");
    pay.call.form = form_text(&form);
    TRY(pay_call_note(&pay, "charge"));
    return pay_call_run(&pay);
}

AWAITS static int payments_charge(struct req *r)
{
    struct payment_draft draft = {0};
    struct charge_in in;
    struct idem idem;

    TRY(req_json(r, &charge_schema, &in));
    TRY(payment_amount(r, &in.amount, in.currency.value, &draft.amount_minor, &draft.currency));
    TRY(pay_user_metadata(r, in.metadata.null ? NULL : in.metadata.value, &draft.metadata));
    if (in.description.set && !in.description.null)
        draft.description = in.description.value;
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, payments_charge_once(r, &in, &draft, &idem));
}

static const struct route payments_charge_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/charge-payment-method",
        .id = "payments_charge",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_CREATE,
        .body = &charge_schema,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {201, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = payments_charge,
        .summary = "Charge a saved payment method",
        .doc = "201 with a payment whose status is succeeded, processing or requires_capture. 402 "
               "card_error: declined; errors has the processor's code, payment_id names the failed "
               "payment, and with authentication_required the payer can continue with "
               "client_secret. A request that is repeated with the same Idempotency-Key within 24 "
               "hours is charged once and gets the same answer; 409 while the first request runs, "
               "422 when the first request was different. 503 outcome_unknown: repeat the request "
               "with the same key. Without a key, a payment that does not reach the processor is "
               "not charged later: it becomes failed with failure_code not_carried_out.",
    },
};
ROUTES(payments_charge, "Payments");
