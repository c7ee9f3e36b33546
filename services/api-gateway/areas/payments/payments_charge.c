/* POST /payments/charge-payment-method: a saved method is charged while its owner is away. */
#include "areas/payments/payments.h"

struct charge_in {
    struct in_json payment_method_id;
    struct in_f64 amount;
    struct in_str currency;
    struct in_str description;
    struct in_json metadata;
    struct in_str capture_method;
    struct in_str idempotency_key;
};

static const char *const capture_methods[] = {"automatic", "manual", NULL};

static const struct field charge_fields[] = {
    {.name = "payment_method_id",
     FIELD_AT(struct charge_in, payment_method_id),
     .type = FIELD_JSON,
     .required = true,
     .doc = "Id of the method here (integer) or at the processor (text)",
     .example = "4"},
    {.name = "amount",
     FIELD_AT(struct charge_in, amount),
     .type = FIELD_F64,
     .required = true,
     .doc = "In the currency's major unit, with no more decimals than it has",
     .example = "12.5"},
    {.name = "currency",
     FIELD_AT(struct charge_in, currency),
     .type = FIELD_STR,
     .required = true,
     .max = 10,
     .doc = "ISO 4217",
     .example = "\"usd\""},
    {.name = "description",
     FIELD_AT(struct charge_in, description),
     .type = FIELD_STR,
     .nullable = true,
     .max = 500},
    {.name = "metadata",
     FIELD_AT(struct charge_in, metadata),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "At most 40 members; texts of at most 500 characters",
     .example = "{\"order\":\"A-17\"}"},
    {.name = "capture_method",
     FIELD_AT(struct charge_in, capture_method),
     .type = FIELD_STR,
     .values = capture_methods,
     .doc = "manual: the amount is reserved until it is captured"},
    {.name = "idempotency_key",
     FIELD_AT(struct charge_in, idempotency_key),
     .type = FIELD_STR,
     .nullable = true,
     .max = 255,
     .doc = "As the header Idempotency-Key: a repeated request charges once"},
};
static const struct schema charge_schema =
    SCHEMA("PaymentMethodCharge", struct charge_in, charge_fields);

/* Nobody is there to be sent anywhere: a method that needs its owner is declined. */
static void put_charge(struct req *r,
                       struct form *form,
                       const struct charge_in *in,
                       const struct payment_method *method,
                       const struct payment_draft *draft,
                       int64_t payment_id)
{
    form_i64(form, "amount", draft->amount_minor);
    form_str(form, "currency", draft->currency);
    form_str(form, "customer", method->customer);
    form_str(form, "payment_method", method->provider_id);
    form_bool(form, "off_session", true);
    form_bool(form, "confirm", true);
    form_bool(form, "automatic_payment_methods[enabled]", true);
    form_str(form, "automatic_payment_methods[allow_redirects]", STR("never"));
    if (draft->description.len)
        form_str(form, "description", draft->description);
    form_map(form, "metadata", pay_metadata_with(r, draft->metadata, "payment_id", payment_id));
    if (draft->fee_minor)
        form_i64(form, "application_fee_amount", draft->fee_minor);
    if (in->capture_method.set && !in->capture_method.null)
        form_str(form, "capture_method", in->capture_method.value);
}

AWAITS static int
charge(struct req *r, const struct charge_in *in, struct payment_draft *draft, struct idem *idem)
{
    struct payment_call call = {.idem = idem, .creates = true, .status = 201};
    struct payment_method method;
    struct form form;

    TRY(pay_settings(r, true, &call.settings));
    if (idem->target.len)
        return payment_call_resume(r, &call);
    TRY(payment_method_find(r, call.settings, in->payment_method_id.value, &method));
    draft->type = "saved_method";
    draft->payment_method_id = method.id;
    draft->subscriber_id = method.subscriber_id;
    draft->customer = method.customer;
    draft->customer_email = method.email;
    draft->fee_minor = payment_fee(call.settings, draft->amount_minor, draft->currency);
    TRY(payment_add(r, draft, &call.payment_id));
    form_init(&form, r->task.arena);
    put_charge(r, &form, in, &method, draft, call.payment_id);
    call.path = STR("/v1/payment_intents");
    call.form = form_text(&form);
    TRY(payment_call_note(r, &call, "charge"));
    return payment_call_run(r, &call);
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
    return idem_end(r, &idem, charge(r, &in, &draft, &idem));
}

static const struct route payments_charge_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments/charge-payment-method",
        .id = "payments_charge",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_CREATE,
        .body = &charge_schema,
        .ok = {201, &payment_schema},
        .fails = {402, 404, 409, 413, 415, 422, 502},
        .run = payments_charge,
        .class = CLASS_WRITE,
        .tag = "Payments",
        .summary = "Charge a saved payment method",
        .doc = "201 with a payment that succeeded, is processing or requires_capture. 402 "
               "card_error: declined; the "
               "processor's code is in errors, the failed payment is payment_id, and with "
               "authentication_required "
               "client_secret brings the payer back. Repeated with the same Idempotency-Key within "
               "24 hours it is "
               "charged once and answered as before; 409 while the first request runs, 422 when it "
               "was a different "
               "one. 503 outcome_unknown: repeat it with its key.",
    },
};
ROUTES(payments_charge);
