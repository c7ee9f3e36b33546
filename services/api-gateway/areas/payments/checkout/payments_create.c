/* POST /payments: a one-off payment, paid on the processor's page or on the payer's device. */
#include "areas/payments/checkout/payments.h"
#include "areas/payments/idempotency.h"

struct create_in {
    struct in_str type;
    struct in_f64 amount;
    struct in_str currency;
    struct in_str description;
    struct in_str customer_email;
    struct in_i64 subscriber_id;
    struct in_json metadata;
    struct in_str mode;
    struct in_str capture_method;
    struct in_bool save_payment_method;
    struct in_str success_url;
    struct in_str cancel_url;
    struct in_str idempotency_key;
};

static const char *const types[] = {"one_off", NULL};
static const char *const modes[] = {"checkout", "intent", NULL};
const char *const payment_capture_methods[] = {"automatic", "manual", NULL};

static const struct field create_fields[] = {
    {.name = "type",
     FIELD_AT(struct create_in, type),
     .type = FIELD_STR,
     .required = true,
     .values = types},
    PAYMENT_MEMBERS(struct create_in),
    {.name = "customer_email",
     FIELD_AT(struct create_in, customer_email),
     .type = FIELD_STR,
     .nullable = true,
     .format = "email",
     .max = 254},
    {.name = "subscriber_id",
     FIELD_AT(struct create_in, subscriber_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "The user who pays"},
    {.name = "mode",
     FIELD_AT(struct create_in, mode),
     .type = FIELD_STR,
     .values = modes,
     .doc = "checkout (default): the payer is sent to checkout_url; intent: a client pays with "
            "client_secret"},
    {.name = "save_payment_method",
     FIELD_AT(struct create_in, save_payment_method),
     .type = FIELD_BOOL,
     .doc = "Save the method for later charges; requires subscriber_id or customer_email"},
    {.name = "success_url",
     FIELD_AT(struct create_in, success_url),
     .type = FIELD_STR,
     .nullable = true,
     .format = "url",
     .max = 2000,
     .doc = "checkout: where the payer returns after paying; the project's setting when left out"},
    {.name = "cancel_url",
     FIELD_AT(struct create_in, cancel_url),
     .type = FIELD_STR,
     .nullable = true,
     .format = "url",
     .max = 2000,
     .doc =
         "checkout: where the payer returns without paying; the project's setting when left out"},
};
static const struct schema create_schema = SCHEMA("PaymentCreate", struct create_in, create_fields);

static bool is_text_given(const struct in_str *text)
{
    return text->set && !text->null && text->value.len > 0;
}

static struct str payment_text_of(const struct in_str *text)
{
    return is_text_given(text) ? text->value : STR_NONE;
}

static bool is_checkout(const struct create_in *in)
{
    return !is_text_given(&in->mode) || str_is(in->mode.value, "checkout");
}

static bool saves_method(const struct create_in *in)
{
    return in->save_payment_method.set && in->save_payment_method.value;
}

/* --- parameters of the call --- */

static void put_checkout(struct req *r,
                         struct form *form,
                         const struct create_in *in,
                         const struct call *call,
                         const struct payment_draft *draft)
{
    json_t *metadata = pay_metadata_merge(r, draft->metadata, "payment_id", call->id);
    struct str name = draft->description.len ? draft->description : r->scope->project->name;
    struct str success;
    struct str cancel;

    pay_return_urls(r, call->settings, &in->success_url, &in->cancel_url, &success, &cancel);
    form_str(form, "mode", STR("payment"));
    form_i64(form, "line_items[0][quantity]", 1);
    form_str(form, "line_items[0][price_data][currency]", draft->currency);
    form_i64(form, "line_items[0][price_data][unit_amount]", draft->amount_minor);
    form_str(form, "line_items[0][price_data][product_data][name]", name);
    form_str(form, "success_url", success);
    form_str(form, "cancel_url", cancel);
    if (draft->customer.len)
        form_str(form, "customer", draft->customer);
    else if (draft->customer_email.len)
        form_str(form, "customer_email", draft->customer_email);
    form_i64(form, "client_reference_id", call->id);
    form_map(form, "metadata", metadata);
    form_map(form, "payment_intent_data[metadata]", metadata);
    if (draft->description.len)
        form_str(form, "payment_intent_data[description]", draft->description);
    if (draft->fee_minor)
        form_i64(form, "payment_intent_data[application_fee_amount]", draft->fee_minor);
    if (saves_method(in))
        form_str(form, "payment_intent_data[setup_future_usage]", STR("off_session"));
    if (is_text_given(&in->capture_method))
        form_str(form, "payment_intent_data[capture_method]", in->capture_method.value);
}

void payment_put_intent(struct req *r,
                        struct form *form,
                        const struct payment_draft *draft,
                        int64_t payment_id,
                        struct str capture_method)
{
    form_i64(form, "amount", draft->amount_minor);
    form_str(form, "currency", draft->currency);
    if (draft->customer.len)
        form_str(form, "customer", draft->customer);
    if (draft->description.len)
        form_str(form, "description", draft->description);
    form_bool(form, "automatic_payment_methods[enabled]", true);
    form_map(form, "metadata", pay_metadata_merge(r, draft->metadata, "payment_id", payment_id));
    if (draft->fee_minor)
        form_i64(form, "application_fee_amount", draft->fee_minor);
    if (capture_method.len)
        form_str(form, "capture_method", capture_method);
}

static void
put_device(struct form *form, const struct create_in *in, const struct payment_draft *draft)
{
    if (draft->customer_email.len)
        form_str(form, "receipt_email", draft->customer_email);
    if (saves_method(in))
        form_str(form, "setup_future_usage", STR("off_session"));
}

/* --- the endpoint --- */

AWAITS static int draft_payment(struct req *r,
                                const struct create_in *in,
                                const struct payment_settings *settings,
                                struct payment_draft *draft)
{
    bool subscriber = in->subscriber_id.set && !in->subscriber_id.null;

    draft->type = "one_off";
    draft->description = payment_text_of(&in->description);
    draft->customer_email = payment_text_of(&in->customer_email);
    draft->subscriber_id = subscriber ? in->subscriber_id.value : 0;
    draft->fee_minor = payment_fee(settings, draft->amount_minor, draft->currency);
    /* A payer who pays only once needs no customer at the processor. */
    if (!subscriber && !saves_method(in))
        return 0;
    return pay_customer_find_or_create(
        r, settings, draft->subscriber_id, draft->customer_email, &draft->customer);
}

AWAITS static int payment_create(struct req *r,
                                 const struct create_in *in,
                                 struct payment_draft *draft,
                                 struct idem *idem)
{
    struct pay_call pay = payment_call_begin(r, idem, true);
    struct form form;

    TRY(pay_settings_get(r, true, &pay.call.settings));
    if (idem->target.len)
        return payment_call_resume(&pay);
    TRY(draft_payment(r, in, pay.call.settings, draft));
    TRY(payment_add(r, draft, &pay.call.id));
    form_init(&form, r->task.arena);
    if (is_checkout(in)) {
        pay.call.path = STR("/v1/checkout/sessions");
        put_checkout(r, &form, in, &pay.call, draft);
    } else {
        pay.call.path = STR("/v1/payment_intents");
        payment_put_intent(r, &form, draft, pay.call.id, in->capture_method.value);
        put_device(&form, in, draft);
    }
    pay.call.form = form_text(&form);
    TRY(pay_call_note(&pay, "payment"));
    return pay_call_run(&pay);
}

AWAITS static int payments_create(struct req *r)
{
    struct payment_draft draft = {0};
    struct create_in in;
    struct idem idem;

    TRY(req_json(r, &create_schema, &in));
    TRY(payment_amount(r, &in.amount, in.currency.value, &draft.amount_minor, &draft.currency));
    TRY(pay_user_metadata(r, in.metadata.null ? NULL : in.metadata.value, &draft.metadata));
    if (saves_method(&in) && !is_text_given(&in.customer_email) &&
        (!in.subscriber_id.set || in.subscriber_id.null))
        return fail_field(r,
                          "customer_email",
                          PROBLEM_REQUIRED,
                          "is required without subscriber_id to save the payment method");
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, payment_create(r, &in, &draft, &idem));
}

static const struct route payments_create_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payments",
        .id = "payments_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_CREATE,
        .body = &create_schema,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {201, &payment_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = payments_create,
        .summary = "Create a payment, or a payment intent",
        .doc = "The answer has checkout_url, or client_secret with mode intent. A request that is "
               "repeated with the same Idempotency-Key within 24 hours gets the same answer; 409 "
               "while the first request runs, 422 when the first request was different. 503 "
               "outcome_unknown: repeat the request with the same key.",
    },
};
ROUTES(payments_create, "Payments");
