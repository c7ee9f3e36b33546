/* POST /subscriptions: from a plan, a template or terms in the body, paid on a checkout page or
 * with a saved method. */
#include "areas/payments/billing/offers.h"
#include "areas/payments/billing/plans.h"
#include "areas/payments/billing/subscriptions.h"
#include "areas/payments/checkout/payment_methods.h"
#include "areas/payments/checkout/payments.h"
#include "areas/payments/idempotency.h"
#include "crypto/digest.h"
#include "json/jr.h"
#include "offers_sql.h"
#include "subscriptions_write_sql.h"

#define NAME_MAX_CHARS    200
#define TEXT_MAX_CHARS    500
#define URL_MAX_CHARS     2000
#define PRODUCT_DIGITS    32
#define CREATE_TIMEOUT_MS 60000
#define BASIS_POINTS      100 /* in one percent */

struct create_in {
    struct in_i64 plan_id, template_id, subscriber_id;
    struct in_str name, description, type, customer_email, success_url, cancel_url, offer_code,
        idempotency_key;
    struct terms_in terms;
    struct in_json payment_method_id, metadata;
};

/* clang-format off */
static const struct field in_fields[] = {
    {.name = "plan_id", FIELD_AT(struct create_in, plan_id), .type = FIELD_I64, .nullable = true, .has_min = true,
     .min = 1, .doc = "Takes the terms of this plan"},
    {.name = "template_id", FIELD_AT(struct create_in, template_id), .type = FIELD_I64, .nullable = true,
     .has_min = true, .min = 1, .doc = "Takes the terms of this template"},
    {.name = "name", FIELD_AT(struct create_in, name), .type = FIELD_STR, .min = 1, .max = NAME_MAX_CHARS,
     .doc = "Name that the subscriber sees at checkout; required without plan_id and template_id",
     .example = "\"Gold\""},
    {.name = "description", FIELD_AT(struct create_in, description), .type = FIELD_STR, .nullable = true,
     .max = TEXT_MAX_CHARS},
    {.name = "type", FIELD_AT(struct create_in, type), .type = FIELD_STR, .values = terms_types},
    TERMS_MEMBERS(struct create_in, true),
    {.name = "subscriber_id", FIELD_AT(struct create_in, subscriber_id), .type = FIELD_I64, .nullable = true,
     .has_min = true, .min = 1,
     .doc = "The user who gets access; the calling user when subscriber_id and customer_email are left out"},
    {.name = "customer_email", FIELD_AT(struct create_in, customer_email), .type = FIELD_STR, .nullable = true,
     .format = "email", .max = 320, .doc = "Address of the payer; the subscriber's address when left out"},
    {.name = "success_url", FIELD_AT(struct create_in, success_url), .type = FIELD_STR, .nullable = true,
     .format = "url", .max = URL_MAX_CHARS, .doc = "Where the payer returns after paying"},
    {.name = "cancel_url", FIELD_AT(struct create_in, cancel_url), .type = FIELD_STR, .nullable = true,
     .format = "url", .max = URL_MAX_CHARS, .doc = "Where the payer returns without paying"},
    {.name = "payment_method_id", FIELD_AT(struct create_in, payment_method_id), .type = FIELD_JSON,
     .doc = "Saved method to charge at once, without a checkout: its id here or at the processor", .example = "4"},
    {.name = "offer_code", FIELD_AT(struct create_in, offer_code), .type = FIELD_STR, .nullable = true, .min = 1,
     .max = 64, .doc = "Code to redeem for the subscriber: a lower price of the subscription, or a longer trial",
     .example = "\"SUMMER\""},
    IDEM_MEMBER(struct create_in),
    {.name = "metadata", FIELD_AT(struct create_in, metadata), .type = FIELD_MAP, .nullable = true,
     .doc = "At most 40 texts, numbers or booleans of at most 500 characters, which are stored as texts. Names have 1 to "
            "40 characters and no square brackets; names that the service sets, such as project_id, are refused"},
};
/* clang-format on */
static const struct schema create_schema =
    SCHEMA("SubscriptionCreate", struct create_in, in_fields);

/* The subscription to create. */
struct subscription_draft {
    const struct payment_settings *settings;
    int64_t plan_id, subscriber_id;
    struct str name, description, email;
    struct terms terms;
    struct str method;         /* pm_...; empty = paid on a checkout page */
    struct str customer;       /* cus_...; empty = the checkout page asks for the payer */
    struct str price, product; /* at the processor; empty = described in the call */
    struct str success_url, cancel_url;
    json_t *metadata;
};

/* --- terms --- */

static int refuse_terms(struct req *r, const struct create_in *in, const char *whose)
{
    const struct terms_in *terms = &in->terms;
    const char *field = terms->amount.set             ? "amount"
                        : terms->currency.set         ? "currency"
                        : terms->billing_interval.set ? "billing_interval"
                                                      : "interval_count";

    if (!terms_given(terms))
        return 0;
    return fail_field(
        r, field, PROBLEM_VALIDATION_FAILED, "is given by the %s: leave it out", whose);
}

AWAITS static int
draft_set_plan(struct req *r, const char *field, int64_t id, struct subscription_draft *draft)
{
    struct rows found;

    TRY(sql_all(r, &found, SQL_SUBSCRIPTION_PLAN(.id = id)));
    if (!found.count)
        return fail_field(
            r, field, PROBLEM_FOREIGN_KEY_VIOLATION, "names a plan that does not exist");
    const struct sql_subscription_plan_row row = sql_subscription_plan_row(&found, 0);
    if (!row.is_active)
        return fail(r, PROBLEM_CONFLICT, "The plan is no longer offered: its is_active is false.");
    draft->plan_id = id;
    draft->name = row.name;
    draft->description = row.description;
    draft->terms = (struct terms){
        .amount_minor = row.amount_minor,
        .currency = row.currency,
        .billing_interval = row.billing_interval,
        .interval_count = row.interval_count,
        .trial_period_days = row.trial_period_days,
    };
    return 0;
}

AWAITS static int draft_set_template(struct req *r, int64_t id, struct subscription_draft *draft)
{
    struct rows found;

    TRY(sql_all(r, &found, SQL_SUBSCRIPTION_TEMPLATE(.id = id)));
    if (!found.count)
        return fail_field(r,
                          "template_id",
                          PROBLEM_FOREIGN_KEY_VIOLATION,
                          "names a template that does not exist");
    const struct sql_subscription_template_row row = sql_subscription_template_row(&found, 0);
    if (!row.is_active)
        return fail(
            r, PROBLEM_CONFLICT, "The template is no longer offered: its is_active is false.");
    if (row.plan_id.set)
        TRY(draft_set_plan(r, "template_id", row.plan_id.value, draft));
    else
        draft->terms = (struct terms){
            .amount_minor = row.amount_minor.value,
            .currency = row.currency,
            .billing_interval = row.billing_interval,
            .interval_count = row.interval_count.value,
        };
    draft->name = row.name;
    if (row.description.ptr)
        draft->description = row.description;
    if (row.trial_period_days.set)
        draft->terms.trial_period_days = row.trial_period_days.value;
    return 0;
}

static bool is_id_given(const struct in_i64 *number)
{
    return number->set && !number->null;
}

AWAITS static int
draft_set_terms(struct req *r, const struct create_in *in, struct subscription_draft *draft)
{
    const struct in_i64 *trial = &in->terms.trial_period_days;

    draft->terms = TERMS_NONE;
    if (is_id_given(&in->plan_id) && is_id_given(&in->template_id))
        return fail_field(
            r, "template_id", PROBLEM_VALIDATION_FAILED, "cannot be combined with plan_id");
    if (is_id_given(&in->plan_id)) {
        TRY(refuse_terms(r, in, "plan"));
        TRY(draft_set_plan(r, "plan_id", in->plan_id.value, draft));
    } else if (is_id_given(&in->template_id)) {
        TRY(refuse_terms(r, in, "template"));
        TRY(draft_set_template(r, in->template_id.value, draft));
    } else {
        if (!in->name.set)
            return fail_field(
                r, "name", PROBLEM_REQUIRED, "is required without plan_id and template_id");
        TRY(terms_merge(r, &in->terms, &draft->terms));
    }
    if (in->name.set)
        draft->name = in->name.value;
    if (in->description.set)
        draft->description = in->description.value;
    if (is_id_given(trial))
        draft->terms.trial_period_days = trial->value;
    return 0;
}

/* --- the payer --- */

/* A method that the payer has just saved may not have been reported to us yet.
 * payment_method_find() then reads it from the processor. */
AWAITS static int
draft_set_method(struct req *r, const json_t *id, struct subscription_draft *draft)
{
    struct payment_method method;

    if (!id || json_is_null(id))
        return 0;
    int rc = payment_method_find(r, draft->settings, id, &method);
    if (rc == 404)
        return fail_field(r,
                          "payment_method_id",
                          PROBLEM_FOREIGN_KEY_VIOLATION,
                          "names a payment method that does not exist");
    if (rc)
        return rc;
    draft->method = method.provider_id;
    draft->customer = method.customer;
    if (!draft->email.len)
        draft->email = method.email;
    if (!draft->subscriber_id)
        draft->subscriber_id = method.subscriber_id;
    return 0;
}

AWAITS static int
draft_set_payer(struct req *r, const struct create_in *in, struct subscription_draft *draft)
{
    const struct in_str *email = &in->customer_email;
    struct rows user;

    draft->email = email->set && !email->null ? email->value : STR_NONE;
    draft->subscriber_id = is_id_given(&in->subscriber_id) ? in->subscriber_id.value : 0;
    TRY(draft_set_method(r, in->payment_method_id.value, draft));
    if (!in->subscriber_id.set && !draft->subscriber_id && !draft->email.len &&
        r->scope->caller->kind == CALLER_USER)
        draft->subscriber_id = r->scope->caller->user_id;
    if (!draft->subscriber_id)
        return 0;
    TRY(sql_all(r, &user, SQL_SUBSCRIPTION_USER(.id = draft->subscriber_id)));
    if (!user.count)
        return fail_field(
            r, "subscriber_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a user that does not exist");
    if (!draft->email.len)
        draft->email = sql_subscription_user_row(&user, 0).email;
    return 0;
}

/* --- preparing the processor --- */

/* A subscription that is charged at once must refer to a product. Without a plan there is one
 * product for each name and description. */
AWAITS static int make_product(struct req *r, struct subscription_draft *draft)
{
    struct arena *arena = r->task.arena;
    struct processor_reply reply = {0};
    struct form form;
    struct str hash = digest_sha256_hex(
        arena,
        arena_printf(arena, "%.*s\n%.*s", STR_ARG(draft->name), STR_ARG(draft->description)));
    struct str slug = r->scope->project->slug;

    draft->product = arena_printf(arena,
                                  "gw_%lld_%llx_%.*s",
                                  (long long)r->scope->project->number,
                                  (unsigned long long)r->scope->project->created_ms,
                                  PRODUCT_DIGITS,
                                  hash.ptr);
    form_init(&form, arena);
    form_str(&form, "id", draft->product);
    form_str(&form, "name", draft->name);
    if (draft->description.len)
        form_str(&form, "description", draft->description);
    form_str(&form, "metadata[project_id]", slug);
    const struct processor_request request = {
        .method = "POST",
        .path = STR("/v1/products"),
        .form = form_text(&form),
        .key = plan_random_key(r, "product", 0),
    };
    int rc = processor_call(&r->task, draft->settings, &request, &reply);
    if (rc == 0 || (rc == PROCESSOR_INVALID && str_is(reply.code, "resource_already_exists")))
        return 0;
    return rc < 0 ? rc : pay_fail(r, rc, &reply);
}

AWAITS static int prepare_draft(struct req *r, struct subscription_draft *draft)
{
    if (draft->plan_id)
        TRY(plan_price(r, draft->settings, draft->plan_id, &draft->price, &draft->product));
    if (draft->method.len && !draft->price.len && !draft->product.len)
        TRY(make_product(r, draft));
    if (!draft->customer.len)
        TRY(pay_customer_find_or_create(
            r, draft->settings, draft->subscriber_id, draft->email, &draft->customer));
    return 0;
}

/* --- the call --- */

static void put_price(struct form *form, const struct subscription_draft *draft, bool checkout)
{
#define ITEM(tail) (checkout ? "line_items[0]" tail : "items[0]" tail)
    if (draft->price.len) {
        form_str(form, ITEM("[price]"), draft->price);
    } else {
        form_str(form, ITEM("[price_data][currency]"), draft->terms.currency);
        form_i64(form, ITEM("[price_data][unit_amount]"), draft->terms.amount_minor);
        form_str(form, ITEM("[price_data][recurring][interval]"), draft->terms.billing_interval);
        form_i64(
            form, ITEM("[price_data][recurring][interval_count]"), draft->terms.interval_count);
        if (draft->product.len) {
            form_str(form, ITEM("[price_data][product]"), draft->product);
        } else {
            form_str(form, ITEM("[price_data][product_data][name]"), draft->name);
            if (draft->description.len)
                form_str(form, ITEM("[price_data][product_data][description]"), draft->description);
        }
    }
    form_i64(form, ITEM("[quantity]"), 1);
#undef ITEM
}

/* The platform's share in percent. The processor takes no fixed fee from recurring charges. */
static void subscription_put_fee(struct req *r,
                                 struct form *form,
                                 const struct subscription_draft *draft,
                                 const char *key)
{
    const struct payment_settings *settings = draft->settings;
    long long points = (long long)settings->fee.basis_points;

    if (settings->processor.mode == PROCESSOR_CONNECT && points > 0)
        form_str(form,
                 key,
                 arena_printf(
                     r->task.arena, "%lld.%02lld", points / BASIS_POINTS, points % BASIS_POINTS));
}

static void
checkout_form(struct req *r, struct form *form, const struct subscription_draft *draft, int64_t id)
{
    json_t *metadata = pay_metadata_merge(r, draft->metadata, "subscription_id", id);

    form_str(form, "mode", STR("subscription"));
    put_price(form, draft, true);
    if (draft->customer.len)
        form_str(form, "customer", draft->customer);
    else if (draft->email.len)
        form_str(form, "customer_email", draft->email);
    form_str(form, "success_url", draft->success_url);
    form_str(form, "cancel_url", draft->cancel_url);
    form_str(form,
             "client_reference_id",
             arena_printf(r->task.arena, "subscription:%lld", (long long)id));
    form_map(form, "metadata", metadata);
    form_map(form, "subscription_data[metadata]", metadata);
    if (draft->description.len)
        form_str(form, "subscription_data[description]", draft->description);
    if (draft->terms.trial_period_days > 0)
        form_i64(form, "subscription_data[trial_period_days]", draft->terms.trial_period_days);
    subscription_put_fee(r, form, draft, "subscription_data[application_fee_percent]");
}

/* error_if_incomplete: when the first charge fails no subscription is created, because we have no
 * page on which the payer could complete the payment. */
static void
charge_form(struct req *r, struct form *form, const struct subscription_draft *draft, int64_t id)
{
    form_str(form, "customer", draft->customer);
    put_price(form, draft, false);
    form_str(form, "default_payment_method", draft->method);
    form_bool(form, "off_session", true);
    form_str(form, "payment_behavior", STR("error_if_incomplete"));
    if (draft->description.len)
        form_str(form, "description", draft->description);
    form_map(form, "metadata", pay_metadata_merge(r, draft->metadata, "subscription_id", id));
    if (draft->terms.trial_period_days > 0)
        form_i64(form, "trial_period_days", draft->terms.trial_period_days);
    subscription_put_fee(r, form, draft, "application_fee_percent");
}

AWAITS static int
subscription_add_row(struct req *r, const struct subscription_draft *draft, int64_t *ret_id)
{
    const struct terms *terms = &draft->terms;
    struct rows added;

    TRY(sql_begin(r));
    TRY(sql_one(r,
                &added,
                SQL_SUBSCRIPTION_ADD(.plan_id = some_id(draft->plan_id),
                                     .subscriber_id = some_id(draft->subscriber_id),
                                     .customer_email = draft->email,
                                     .customer = draft->customer,
                                     .name = draft->name,
                                     .description = draft->description,
                                     .amount_minor = terms->amount_minor,
                                     .currency = terms->currency,
                                     .billing_interval = terms->billing_interval,
                                     .interval_count = terms->interval_count,
                                     .trial_length_days = terms->trial_period_days,
                                     .metadata = jr_print(r->task.arena, draft->metadata))));
    *ret_id = sql_subscription_add_row(&added, 0).id;
    return 0;
}

/* Rounds down to an amount that the currency allows: whole units, or a multiple of ten minor units
 * in a currency with three decimals. */
static int64_t round_to_currency(struct arena *arena, int64_t minor, struct str currency)
{
    int64_t fits;

    for (int64_t step = 1; step <= 100; step *= 10) {
        int64_t rounded = minor / step * step;
        if (money_parse(money_text(arena, rounded, currency), currency, &fits) == 0)
            return rounded;
    }
    return minor;
}

/* co: Redeems the offer code in the transaction that added the row. Before it counts the limits it
 * frees codes of checkouts that expired unpaid. A lower price replaces the plan's price in the
 * call. */
AWAITS static int draft_redeem_code(struct req *r,
                                    const struct in_str *code,
                                    struct subscription_draft *draft,
                                    int64_t id)
{
    struct str normal = offer_code_normalize(r->task.arena, code->value);
    struct terms *terms = &draft->terms;
    struct offer offer;

    if (!draft->subscriber_id)
        return fail_field(r, "subscriber_id", PROBLEM_REQUIRED, "is required with an offer_code");
    if (!normal.ptr)
        return fail_field(r, "offer_code", PROBLEM_PATTERN, "is not a valid code");
    TRY(sql_exec(r, NULL, SQL_OFFER_CODE_LOCK(.code = normal)));
    TRY(sql_exec(r, NULL, SQL_SUBSCRIPTION_CODES_FREE(.code = normal)));
    TRY(offer_redeem(r, code->value, draft->subscriber_id, draft->plan_id, id, &offer));
    bool price = str_is(offer.kind, "percent") || str_is(offer.kind, "amount");
    if (!price && !str_is(offer.kind, "trial"))
        return fail(r, PROBLEM_OFFER_UNAVAILABLE, "The offer does not apply to subscriptions.");
    if (str_is(offer.kind, "amount") && !str_ieq(offer.currency, terms->currency))
        return fail(
            r, PROBLEM_OFFER_UNAVAILABLE, "The offer has another currency than the subscription.");
    if (price) {
        terms->amount_minor = round_to_currency(
            r->task.arena, offer_price(&offer, terms->amount_minor), terms->currency);
        draft->price = STR_NONE;
    } else if (offer.trial_days > terms->trial_period_days) {
        terms->trial_period_days = offer.trial_days;
    }
    return sql_exec(r,
                    NULL,
                    SQL_SUBSCRIPTION_PRICED(.id = id,
                                            .amount_minor = terms->amount_minor,
                                            .trial_length_days = terms->trial_period_days));
}

AWAITS static int subscription_create(struct req *r, const struct create_in *in, struct idem *idem)
{
    struct pay_call pay = subscription_call_begin(r, idem);
    struct subscription_draft draft = {0};
    struct form form;

    TRY(pay_user_metadata(r, in->metadata.null ? NULL : in->metadata.value, &draft.metadata));
    TRY(pay_settings_get(r, true, &pay.call.settings));
    if (idem->target.len)
        return subscription_call_resume(&pay);
    draft.settings = pay.call.settings;
    TRY(draft_set_terms(r, in, &draft));
    TRY(draft_set_payer(r, in, &draft));
    pay_return_urls(r,
                    draft.settings,
                    &in->success_url,
                    &in->cancel_url,
                    &draft.success_url,
                    &draft.cancel_url);
    TRY(prepare_draft(r, &draft));
    TRY(subscription_add_row(r, &draft, &pay.call.id));
    if (in->offer_code.set && !in->offer_code.null)
        TRY(draft_redeem_code(r, &in->offer_code, &draft, pay.call.id));
    form_init(&form, r->task.arena);
    if (draft.method.len)
        charge_form(r, &form, &draft, pay.call.id);
    else
        checkout_form(r, &form, &draft, pay.call.id);
    pay.call.path = draft.method.len ? STR("/v1/subscriptions") : STR("/v1/checkout/sessions");
    pay.call.form = form_text(&form);
    TRY(pay_call_note(&pay, "subscription"));
    return pay_call_run(&pay);
}

AWAITS static int subscriptions_create(struct req *r)
{
    struct create_in in;
    struct idem idem;

    TRY(req_json(r, &create_schema, &in));
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, subscription_create(r, &in, &idem));
}

static const struct route subscriptions_create_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/subscriptions",
        .id = "subscriptions_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_CREATE,
        .body = &create_schema,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {201, &subscription_schema},
        .extra_statuses = {402, 404, 409, 422, 502},
        .run = subscriptions_create,
        .timeout_ms = CREATE_TIMEOUT_MS,
        .summary = "Create a subscription",
        .doc =
            "From a plan, a template, or with name, amount, currency and billing_interval. The "
            "subscriber pays at the answer's checkout_url. With a payment_method_id that method is "
            "charged at once, and a decline is 402. Takes Idempotency-Key (header) or "
            "idempotency_key: a request that is repeated within 24 hours creates one subscription "
            "only. 503 outcome_unknown: repeat the request with the same key. Without a key, a "
            "subscription that is charged at once but does not reach the processor is not created "
            "later: it becomes incomplete_expired with failure_code not_carried_out.",
    },
};
ROUTES(subscriptions_create, "Subscriptions");
