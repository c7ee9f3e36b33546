/* Shared by all payment areas: settings, failures of the processor, amounts, metadata, payers. */
#include "areas/payments/pay_common.h"
#include "base/utf8.h"
#include "http/query.h"
#include "json/jr.h"
#include "pay_common_sql.h"

#include <errno.h>

#define METADATA_NAMES_MAX 40 /* the processor allows 50; we add some */
#define METADATA_NAME_MAX  40
#define METADATA_VALUE_MAX 500

/* --- settings --- */

int pay_settings_get(struct req *r, bool ready, const struct payment_settings **ret_settings)
{
    const struct payment_settings *settings;

    TRY(sql_check(r, payment_settings_get(&r->task, r->scope->project, &settings)));
    if (ready && !settings->processor.secret_key.len)
        return fail(r,
                    PROBLEM_PAYMENTS_NOT_CONFIGURED,
                    "This project has no payment processor credentials: store them with PUT "
                    "/processor-connect/credentials.");
    if (ready && !payment_processor_ready(settings))
        return fail(r,
                    PROBLEM_ACCOUNT_NOT_READY,
                    "The project's account at the processor cannot take payments yet: finish its "
                    "onboarding.");
    *ret_settings = settings;
    return 0;
}

int pay_settings_read(struct req *r, const struct payment_settings **ret_settings)
{
    return sql_check(
        r, payment_settings_read(&r->task, r->scope->project, r->scope->db, ret_settings));
}

int pay_settings_lock(struct req *r, const char *key, json_t **ret_doc, struct str *ret_secret)
{
    return sql_check(
        r,
        payment_settings_lock(&r->task, r->scope->db, r->scope->project, key, ret_doc, ret_secret));
}

int pay_processor_lock(struct req *r, json_t **ret_doc, struct processor_account *ret_account)
{
    struct arena *arena = r->task.arena;
    struct jr_error error;
    struct str sealed;
    json_t *secret = NULL;

    TRY(pay_settings_lock(r, PAYMENT_SETTINGS_PROCESSOR, ret_doc, &sealed));
    if (sealed.len && jr_parse(arena, sealed, &secret, &error) != 0)
        return ERROR(-EINVAL);
    processor_account_read(arena, *ret_doc, secret, ret_account);
    return 0;
}

int pay_register(struct req *r)
{
    return sql_check(
        r, payment_project_register(&r->task, gateway_directory(), r->scope->project->number));
}

int pay_settings_save(
    struct req *r, const char *key, struct str doc, struct str secret, struct db_call audit)
{
    struct db_call calls[] = {
        payment_settings_put(r->task.arena, r->scope->project, key, doc, secret),
        audit,
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return 0;
}

/* --- failures --- */

static struct str text_or_default(struct str text, const char *otherwise)
{
    return text.len ? text : str_from(otherwise);
}

/* 402 with the processor's code, and the bank's decline code as a second finding. */
static int fail_declined(struct req *r, const struct processor_reply *reply)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct arena *arena = r->task.arena;
    struct str message = text_or_default(reply->message, "The card was declined.");
    struct str field = STR("payment_method_id");

    schema_error_add_code(arena,
                          errors,
                          field,
                          arena_cstr(arena, text_or_default(reply->code, "card_declined")),
                          "%.*s",
                          STR_ARG(message));
    if (reply->decline_code.len && !str_eq(reply->decline_code, reply->code))
        schema_error_add_code(
            arena, errors, field, arena_cstr(arena, reply->decline_code), "%.*s", STR_ARG(message));
    return fail_with(r, PROBLEM_CARD_ERROR, message, errors);
}

/* Whether the processor's error is about the state of an object, not about the request's values. */
static bool is_state_error(struct str code)
{
    static const char *const codes[] = {
        "payment_intent_unexpected_state",
        "charge_already_captured",
        "charge_already_refunded",
        "charge_disputed",
        "charge_expired_for_capture",
        "charge_not_refundable",
        "payment_method_unexpected_state",
        "setup_intent_unexpected_state",
        NULL,
    };

    for (size_t i = 0; codes[i]; i++) {
        if (str_is(code, codes[i]))
            return true;
    }
    return false;
}

/* Returns the member of our body from which a parameter of the processor was made. */
static struct str param_field(struct str param)
{
    static const struct {
        const char *end, *field;
    } fields[] = {
        {"unit_amount]", "amount"},
        {"unit_amount", "amount"},
        {"amount_to_capture", "amount"},
        {"currency]", "currency"},
        {"payment_method", "payment_method_id"},
        {"receipt_email", "customer_email"},
        {"email", "customer_email"},
        {"[product_data][name]", "description"},
        {"description]", "description"},
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_ends(param, str_from(fields[i].end)))
            return str_from(fields[i].field);
    }
    return param;
}

static int pay_fail_invalid(struct req *r, const struct processor_reply *reply)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct str message =
        text_or_default(reply->message, "The processor does not accept these values.");

    if (is_state_error(reply->code))
        return fail(r, PROBLEM_PAYMENT_STATE, "%.*s", STR_ARG(message));
    struct str field = param_field(reply->param);
    if (str_starts(reply->code, STR("amount_too_")))
        field = STR("amount");
    if (!field.len)
        return fail_with(r, PROBLEM_VALIDATION_FAILED, message, NULL);
    struct str code = text_or_default(reply->code, problem_code(PROBLEM_VALIDATION_FAILED));
    schema_error_add_code(
        r->task.arena, errors, field, arena_cstr(r->task.arena, code), "%.*s", STR_ARG(message));
    return fail_with(r, PROBLEM_VALIDATION_FAILED, message, errors);
}

int pay_fail(struct req *r, int rc, const struct processor_reply *reply)
{
    switch (rc) {
    case PROCESSOR_DECLINED:
        return fail_declined(r, reply);
    case PROCESSOR_INVALID:
        return pay_fail_invalid(r, reply);
    case PROCESSOR_NOT_FOUND:
        return fail_with(r,
                         PROBLEM_NOT_FOUND,
                         text_or_default(reply->message, "The processor has no such object."),
                         NULL);
    case PROCESSOR_REUSED_KEY:
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The processor has received a different request with this idempotency key: use "
                    "a new key.");
    case PROCESSOR_NOT_CONFIGURED:
        return fail(r,
                    PROBLEM_PAYMENTS_NOT_CONFIGURED,
                    "This project has no payment processor account, or no credentials for it.");
    case PROCESSOR_REFUSED:
        return fail(
            r,
            PROBLEM_PROVIDER_ERROR,
            "The processor refused the project's credentials: check secret_key and account_id.");
    case PROCESSOR_OUTCOME_UNKNOWN:
        return fail(r,
                    PROBLEM_OUTCOME_UNKNOWN,
                    "The processor did not answer, so the outcome is not known. Repeat the request "
                    "with the same Idempotency-Key.");
    case PLAN_LEASE_LOST:
    case PROCESSOR_CONFLICT:
    case PROCESSOR_UNAVAILABLE:
        return fail(r,
                    PROBLEM_DEPENDENCY_UNAVAILABLE,
                    "The processor is not available right now; try again.");
    default:
        return rc;
    }
}

void pay_location(struct req *r, struct str what, int64_t id)
{
    resp_header_printf(r,
                       "Location",
                       "/org/%.*s" PAYMENTS_BASE "/%.*ss/%lld",
                       STR_ARG(r->scope->project->slug),
                       STR_ARG(what),
                       (long long)id);
}

/* --- amounts --- */

int pay_amount(struct req *r,
               const json_t *amount,
               struct str currency,
               int64_t *ret_minor,
               struct str *ret_currency)
{
    int rc = money_currency(r->task.arena, currency, &currency);

    if (rc)
        return fail_field(r, "currency", PROBLEM_PATTERN, "%s", money_message(rc));
    if (!amount || json_is_null(amount))
        return fail_field(r, "amount", PROBLEM_REQUIRED, "is required");
    rc = money_from_json(amount, currency, ret_minor);
    if (rc)
        return fail_field(r,
                          "amount",
                          rc == MONEY_NOT_A_NUMBER ? PROBLEM_TYPE_MISMATCH : PROBLEM_OUT_OF_RANGE,
                          "%s",
                          money_message(rc));
    if (*ret_minor == 0)
        return fail_field(r, "amount", PROBLEM_OUT_OF_RANGE, "must be more than 0");
    *ret_currency = currency;
    return 0;
}

/* --- metadata --- */

static bool metadata_is_reserved(struct str name)
{
    return str_is(name, "project_id") || str_is(name, "payment_id") ||
           str_is(name, "subscription_id") || str_is(name, "plan_id") ||
           str_is(name, "subscriber_id") || str_is(name, "customer_id");
}

static int refuse_metadata(struct req *r, struct str name, enum problem code, const char *message)
{
    char *field =
        arena_cstr(r->task.arena, arena_printf(r->task.arena, "metadata.%.*s", STR_ARG(name)));

    return fail_field(r, field, code, "%s", message);
}

/* Returns a scalar as text; STR_NONE for any other value. */
static struct str metadata_text(struct req *r, const json_t *value)
{
    if (json_is_string(value))
        return (struct str){json_string_value(value), json_string_length(value)};
    if (json_is_boolean(value))
        return json_is_true(value) ? STR("true") : STR("false");
    return json_is_number(value) ? jr_print(r->task.arena, value) : STR_NONE;
}

static int add_metadata(struct req *r, json_t *metadata, struct str name, const json_t *value)
{
    struct str text = metadata_text(r, value);

    if (metadata_is_reserved(name))
        return refuse_metadata(r, name, PROBLEM_READ_ONLY, "is set by the service");
    if (!name.len || utf8_length(name) > METADATA_NAME_MAX || memchr(name.ptr, '[', name.len) ||
        memchr(name.ptr, ']', name.len))
        return refuse_metadata(r,
                               name,
                               PROBLEM_PATTERN,
                               "must have a name of 1 to 40 characters without square brackets");
    if (!text.ptr)
        return refuse_metadata(
            r, name, PROBLEM_TYPE_MISMATCH, "expected a text, a number or a boolean");
    if (utf8_length(text) > METADATA_VALUE_MAX)
        return refuse_metadata(r, name, PROBLEM_TOO_LONG, "must have at most 500 characters");
    json_object_set_new(
        metadata, arena_cstr(r->task.arena, name), json_stringn(text.ptr, text.len));
    return 0;
}

int pay_user_metadata(struct req *r, const json_t *given, json_t **ret_metadata)
{
    json_t *metadata = jr_attach(r->task.arena, json_object());
    const char *name;
    json_t *value;

    if (json_object_size(given) > METADATA_NAMES_MAX)
        return fail_field(
            r, "metadata", PROBLEM_TOO_LONG, "must have at most %d members", METADATA_NAMES_MAX);
    json_object_foreach((json_t *)given, name, value)
        TRY(add_metadata(r, metadata, str_from(name), value));
    *ret_metadata = metadata;
    return 0;
}

json_t *pay_metadata_merge(struct req *r, const json_t *given, const char *name, int64_t id)
{
    json_t *metadata = jr_attach(r->task.arena, json_object());
    struct str text = arena_printf(r->task.arena, "%lld", (long long)id);
    struct str slug = r->scope->project->slug;

    if (given)
        (void)json_object_update(metadata, (json_t *)given);
    json_object_set_new(metadata, "project_id", json_stringn(slug.ptr, slug.len));
    json_object_set_new(metadata, name, json_stringn(text.ptr, text.len));
    return metadata;
}

json_t *pay_metadata_new(struct req *r, const char *name, int64_t id)
{
    return pay_metadata_merge(r, NULL, name, id);
}

/* --- payers --- */

/* Returns the name of the account that has the customers. Test and live keys of one account have
 * different customers, so the name includes the mode. */
static struct str customer_account(struct req *r, const struct payment_settings *settings)
{
    const struct processor_account *processor = &settings->processor;
    bool test = str_starts(processor->secret_key, STR("sk_test_")) ||
                str_starts(processor->secret_key, STR("rk_test_"));

    return arena_printf(r->task.arena,
                        "%.*s%s",
                        STR_ARG(text_or_default(processor->account, "own")),
                        test ? ":test" : "");
}

struct payer {
    int64_t id, subscriber_id, since_us; /* id and since_us as read from the row */
    struct str email, account;
};

static int customer_find(struct req *r,
                         const struct payment_settings *settings,
                         const struct payer *payer,
                         struct str *ret_id)
{
    struct processor_reply reply;
    struct form form;

    form_init(&form, r->task.arena);
    form_str(&form, "email", payer->email);
    form_i64(&form, "limit", 1);
    const struct processor_request request = {
        .method = "GET", .path = STR("/v1/customers"), .form = form_text(&form)};
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc)
        return pay_fail(r, rc, &reply);
    *ret_id = jr_str(json_array_get(json_object_get(reply.body, "data"), 0), "id");
    return 0;
}

static int customer_create(struct req *r,
                           const struct payment_settings *settings,
                           const struct payer *payer,
                           struct str *ret_id)
{
    struct arena *arena = r->task.arena;
    struct processor_reply reply;
    struct form form;

    form_init(&form, arena);
    form_str(&form, "email", payer->email);
    form_map(&form, "metadata", pay_metadata_new(r, "customer_id", payer->id));
    if (payer->subscriber_id)
        form_i64(&form, "metadata[subscriber_id]", payer->subscriber_id);
    const struct processor_request request = {
        .method = "POST",
        .path = STR("/v1/customers"),
        .form = form_text(&form),
        .key = processor_key(arena,
                             r->scope->project,
                             "customer",
                             payer->id,
                             arena_printf(arena,
                                          "%.*s:%lld:%llx",
                                          STR_ARG(payer->account),
                                          (long long)payer->subscriber_id,
                                          (unsigned long long)payer->since_us)),
    };
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc > 0 && !processor_is_refusal(rc))
        TRY(sql_exec(r, NULL, SQL_PAY_CUSTOMER_AGAIN(.id = payer->id)));
    if (rc)
        return pay_fail(r, rc, &reply);
    *ret_id = jr_str(reply.body, "id");
    if (!ret_id->len)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The processor's answer cannot be read.");
    return 0;
}

/* *ret_email: the given address, otherwise the user's, in lower case. */
static int
payer_email(struct req *r, int64_t subscriber_id, struct str email, struct str *ret_email)
{
    struct rows user;

    *ret_email = email;
    if (subscriber_id) {
        TRY(sql_all(r, &user, SQL_PAY_USER_EMAIL(.id = subscriber_id)));
        if (!user.count)
            return fail(r, PROBLEM_NOT_FOUND, "There is no user with this subscriber_id.");
        if (!email.len)
            *ret_email = sql_pay_user_email_row(&user, 0).email;
    }
    *ret_email = arena_lower(r->task.arena, *ret_email);
    return 0;
}

int pay_customer_find_or_create(struct req *r,
                                const struct payment_settings *settings,
                                int64_t subscriber_id,
                                struct str email,
                                struct str *ret_customer)
{
    struct payer payer = {.subscriber_id = subscriber_id, .account = customer_account(r, settings)};
    struct rows rows;

    *ret_customer = STR_NONE;
    TRY(payer_email(r, subscriber_id, email, &payer.email));
    if (!payer.email.len)
        return 0;
    struct db_call calls[] = {
        db_call(
            SQL_PAY_CUSTOMER_ADD(.email = payer.email, .subscriber_id = some_id(subscriber_id))),
        db_call(SQL_PAY_CUSTOMER_GET(.email = payer.email)),
    };
    TRY(sql_all(r, &rows, calls[1].sql, calls[1].params, calls[1].param_count));
    if (!rows.count) {
        TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
        rows = calls[1].rows;
    }
    const struct sql_pay_customer_get_row row = sql_pay_customer_get_row(&rows, 0);
    bool known = row.provider_id.len && str_eq(row.account, payer.account);
    if (known && (!subscriber_id || row.subscriber_id.value == subscriber_id)) {
        *ret_customer = row.provider_id;
        return 0;
    }
    payer.id = row.id;
    payer.since_us = row.since_us;
    if (known)
        *ret_customer = row.provider_id;
    else
        TRY(customer_find(r, settings, &payer, ret_customer));
    if (!ret_customer->len)
        TRY(customer_create(r, settings, &payer, ret_customer));
    /* DB_UNIQUE: the row of another e-mail address has this customer, because the customer's
     * address was changed at the processor. The row of payer.email stays unchanged, and each
     * request searches for the customer at the processor again. */
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_PAY_CUSTOMER_SET(.id = payer.id,
                                           .provider_id = *ret_customer,
                                           .account = payer.account,
                                           .subscriber_id = some_id(subscriber_id)),
                      &rows);
    if (rc == DB_UNIQUE)
        return 0;
    return sql_check(r, rc);
}

void pay_customer_forget(struct req *r, const struct processor_reply *reply, struct str customer)
{
    struct rows rows;

    if (!customer.len || !str_is(reply->param, "customer") ||
        !str_is(reply->code, "resource_missing"))
        return;
    int rc =
        db_query(&r->task, r->scope->db, SQL_PAY_CUSTOMER_GONE(.provider_id = customer), &rows);
    if (rc)
        log_debug("payments.customer_kept", L_RESULT("rc", rc));
}

/* --- return addresses --- */

void pay_return_urls(struct req *r,
                     const struct payment_settings *settings,
                     const struct in_str *success,
                     const struct in_str *cancel,
                     struct str *ret_success,
                     struct str *ret_cancel)
{
    const struct project_settings *project = &r->scope->project->settings;
    struct str home = STR_NONE;

    for (size_t i = 0; i < project->allowed_origin_count && !home.len; i++) {
        if (!str_is(project->allowed_origins[i], "*"))
            home = project->allowed_origins[i];
    }
    if (!home.len)
        home = gateway_url(r);
    *ret_success = success->set && !success->null ? success->value
                   : settings->success_url.len    ? settings->success_url
                                                  : home;
    *ret_cancel = cancel->set && !cancel->null ? cancel->value
                  : settings->cancel_url.len   ? settings->cancel_url
                                               : home;
}
