/* Saved payment methods: listing, setting up and removing them. */
#include "areas/payments/checkout/payment_methods.h"
#include "areas/payments/checkout/payments.h"
#include "areas/payments/idempotency.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "http/query.h"
#include "json/jr.h"
#include "keyset.h"
#include "payment_methods_sql.h"
#include "project/project.h"

static const char *const statuses[] = {"active", "setup_failed", "detached", NULL};

static const struct field method_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .example = "4"},
    {.name = "type", .type = FIELD_STR, .required = true, .example = "\"card\""},
    {.name = "brand", .type = FIELD_STR, .required = true, .nullable = true, .example = "\"visa\""},
    {.name = "last4", .type = FIELD_STR, .required = true, .nullable = true, .example = "\"4242\""},
    {.name = "exp_month", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "exp_year", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "is_default", .type = FIELD_BOOL, .required = true},
    {.name = "status", .type = FIELD_STR, .required = true, .values = statuses},
    {.name = "subscriber_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "subscriber_email", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "provider_id",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The processor's id; null when the set-up failed",
     .example = "\"pm_1Q0aBcD\""},
    {.name = "failure_code", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "failure_message", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema method_schema = SCHEMA_OUT("PaymentMethod", method_fields);

/* --- storing --- */

/* co: Stores methods as the processor returned them, in one transaction. */
AWAITS static int apply_methods(struct req *r,
                                const struct payment_settings *settings,
                                const json_t *const *methods,
                                size_t count,
                                bool attached)
{
    struct apply_source source = {
        .task = &r->task,
        .project = r->scope->project,
        .settings = settings,
        .event_id = STR_NONE,
        .event_type = STR_NONE,
        .at_ms = clock_wall_ms(),
    };
    bool emitted = false;

    TRY(sql_begin(r));
    for (size_t i = 0; i < count; i++) {
        struct applied applied = {0};
        struct method_object method;
        if (method_read(methods[i], &method))
            continue;
        int rc = apply_method(&source, r->scope->db, &method, attached, &applied);
        if (rc < 0)
            return rc;
        if (rc)
            return fail(r,
                        PROBLEM_DEPENDENCY_UNAVAILABLE,
                        "The payment method is being changed; try again.");
        emitted = emitted || applied.emitted;
    }
    TRY(sql_commit(r));
    if (emitted)
        events_notify(gateway_directory(), r->scope->project);
    return 0;
}

/* --- finding a method --- */

static int no_such_method(struct req *r)
{
    return fail(r, PROBLEM_NOT_FOUND, "There is no such payment method.");
}

AWAITS static int methods_find_row(struct req *r,
                                   int64_t id,
                                   struct str provider_id,
                                   struct payment_method *ret_method,
                                   bool *ret_found)
{
    struct rows rows;

    TRY(sql_all(r,
                &rows,
                SQL_METHOD_FIND(.id = some_id(id),
                                .provider_id = provider_id.len ? provider_id : STR_NONE)));
    *ret_found = rows.count > 0;
    if (!rows.count)
        return 0;
    const struct sql_method_find_row row = sql_method_find_row(&rows, 0);
    *ret_method = (struct payment_method){
        .id = row.id,
        .subscriber_id = row.subscriber_id.value,
        .provider_id = row.provider_id,
        .customer = row.customer,
        .email = row.subscriber_email,
        .status = row.status,
    };
    return 0;
}

/* co: Reads a method that is not stored yet from the processor, and stores it. */
AWAITS static int
fetch_method(struct req *r, const struct payment_settings *settings, struct str provider_id)
{
    struct processor_reply reply = {0};
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(r->task.arena, "/v1/payment_methods", provider_id, ""),
    };
    int rc = processor_call(&r->task, settings, &request, &reply);

    if (rc == PROCESSOR_NOT_FOUND || rc == PROCESSOR_INVALID)
        return no_such_method(r);
    if (rc)
        return pay_fail(r, rc, &reply);
    if (!object_ref(reply.body, "customer").len)
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The payment method cannot be charged: it is not saved for a customer.");
    return apply_methods(r, settings, &reply.body, 1, true);
}

/* Reads the id of a method: ours is an integer, the processor's a text. */
static bool methods_read_id(const json_t *id, int64_t *ret_id, struct str *ret_provider_id)
{
    *ret_id = 0;
    *ret_provider_id = STR_NONE;
    if (json_is_integer(id)) {
        *ret_id = json_integer_value(id);
        return *ret_id > 0;
    }
    if (!json_is_string(id))
        return false;
    *ret_provider_id = (struct str){json_string_value(id), json_string_length(id)};
    return ret_provider_id->len > 0 && ret_provider_id->len <= 255;
}

int payment_method_find(struct req *r,
                        const struct payment_settings *settings,
                        const json_t *id,
                        struct payment_method *ret_method)
{
    struct str provider_id;
    bool found = false;
    int64_t number;

    if (!methods_read_id(id, &number, &provider_id))
        return fail_field(r,
                          "payment_method_id",
                          PROBLEM_TYPE_MISMATCH,
                          "expected the id of a payment method: an integer or a text");
    TRY(methods_find_row(r, number, provider_id, ret_method, &found));
    if (!found && provider_id.len && settings) {
        TRY(fetch_method(r, settings, provider_id));
        TRY(methods_find_row(r, 0, provider_id, ret_method, &found));
    }
    if (!found)
        return no_such_method(r);
    if (!str_is(ret_method->status, "active"))
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The payment method cannot be charged: it is %.*s.",
                    STR_ARG(ret_method->status));
    if (!ret_method->customer.len)
        return fail(
            r,
            PROBLEM_PAYMENT_STATE,
            "The payment method cannot be charged: it belongs to no customer at the processor.");
    return 0;
}

/* Reads {id} of the path: our id, or the processor's pm_...; false when it is neither. */
static bool read_path_id(struct req *r, int64_t *ret_id, struct str *ret_provider_id)
{
    struct str text = req_param(r, "id");

    *ret_id = 0;
    *ret_provider_id = STR_NONE;
    if (num_parse_i64(text, ret_id))
        return *ret_id > 0;
    *ret_provider_id = text;
    return str_starts(text, STR("pm_"));
}

AWAITS static int methods_get(struct req *r)
{
    struct str provider_id;
    struct rows rows;
    int64_t id;

    if (!read_path_id(r, &id, &provider_id))
        return no_such_method(r);
    TRY(sql_one(r,
                &rows,
                SQL_METHOD_GET(.id = some_id(id),
                               .provider_id = provider_id.len ? provider_id : STR_NONE)));
    return reply_row(r, 200, &rows);
}

/* --- list --- */

static const struct query_param list_query[] = {
    KEYSET_QUERY,
    {.name = "subscriber_id", .type = FIELD_I64, .doc = "Only methods of this user"},
    {.name = "customer_email", .type = FIELD_STR, .doc = "Only methods of this address"},
    {.name = "status", .type = FIELD_STR, .values = statuses, .doc = "Only methods in this state"},
    {.name = "sync",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "true: first reads the methods from the processor; requires subscriber_id or "
            "customer_email"},
    {0},
};

static const struct keyset_list methods_keyset = {
    .newest = &SQL_METHODS_DESC,
    .oldest = &SQL_METHODS_ASC,
    .count = &SQL_METHODS_COUNT,
    .key = "id",
};

/* co: Reads the methods of one customer from the processor, and stores them. */
AWAITS static int
sync_customer(struct req *r, const struct payment_settings *settings, struct str customer)
{
    struct processor_reply reply = {0};
    struct form form;

    form_init(&form, r->task.arena);
    form_i64(&form, "limit", 100);
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(r->task.arena, "/v1/customers", customer, "/payment_methods"),
        .form = form_text(&form),
    };
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc == PROCESSOR_NOT_FOUND || rc == PROCESSOR_INVALID) /* a customer of a former account */
        return 0;
    if (rc)
        return pay_fail(r, rc, &reply);
    const json_t *data = json_object_get(reply.body, "data");
    size_t count = json_array_size(data);
    const json_t **methods = ARENA_ARRAY(r->task.arena, methods, count + 1);
    for (size_t i = 0; i < count; i++)
        methods[i] = json_array_get(data, i);
    return count ? apply_methods(r, settings, methods, count, true) : 0;
}

AWAITS static int sync_payer(struct req *r, struct opt_i64 subscriber, struct str email)
{
    const struct payment_settings *settings;
    struct rows customers;

    TRY(pay_settings_get(r, true, &settings));
    TRY(sql_all(r, &customers, SQL_METHOD_CUSTOMERS(.subscriber_id = subscriber, .email = email)));
    for (size_t i = 0; i < customers.count; i++)
        TRY(sync_customer(r, settings, sql_method_customers_row(&customers, i).provider_id));
    return 0;
}

AWAITS static int methods_list(struct req *r)
{
    const struct query *query;
    int64_t subscriber_id;

    TRY(req_query(r, &query));
    bool known = num_parse_i64(query_get(query, "subscriber_id"), &subscriber_id);
    struct opt_i64 subscriber = known ? some_i64(subscriber_id) : NO_I64;
    struct str email = query_get(query, "customer_email");
    if (str_is(query_get(query, "sync"), "true")) {
        if (!known && !email.len)
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter 'sync': requires subscriber_id or customer_email.");
        TRY(sync_payer(r, subscriber, email));
    }
    return keyset_reply(r,
                        &methods_keyset,
                        SQL_METHODS_ARGS(.subscriber_id = subscriber,
                                         .subscriber_email = email,
                                         .status = query_get(query, "status")));
}

/* --- set-up --- */

struct setup_in {
    struct in_i64 subscriber_id;
    struct in_str customer_email;
};

static const struct field setup_fields[] = {
    {.name = "subscriber_id",
     FIELD_AT(struct setup_in, subscriber_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "The user who will own the method; required without customer_email"},
    {.name = "customer_email",
     FIELD_AT(struct setup_in, customer_email),
     .type = FIELD_STR,
     .nullable = true,
     .format = "email",
     .max = 254},
};
static const struct schema setup_schema =
    SCHEMA("PaymentMethodSetup", struct setup_in, setup_fields);

static const struct field setup_out_fields[] = {
    {.name = "id",
     .type = FIELD_STR,
     .required = true,
     .doc = "The processor's id of the set-up",
     .example = "\"seti_1Q0aBcD\""},
    {.name = "client_secret",
     .type = FIELD_STR,
     .required = true,
     .doc = "For the processor's library on the payer's device"},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .example = "\"requires_payment_method\""},
};
static const struct schema setup_out_schema =
    SCHEMA_OUT("PaymentMethodSetupIntent", setup_out_fields);

static int reply_setup(struct req *r, const json_t *body)
{
    struct setup_object setup;
    struct jw w;

    if (setup_read(body, &setup) || !setup.client_secret.len)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The processor's answer cannot be read.");
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "id", setup.id);
    JW_STR(&w, "client_secret", setup.client_secret);
    JW_STR(&w, "status", setup.status);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int create_setup_intent(struct req *r, const struct setup_in *in, struct idem *idem)
{
    const struct payment_settings *settings;
    struct processor_reply reply = {0};
    struct str email = in->customer_email.null ? STR_NONE : in->customer_email.value;
    int64_t subscriber_id = in->subscriber_id.null ? 0 : in->subscriber_id.value;
    struct str customer;
    struct form form;

    TRY(pay_settings_get(r, true, &settings));
    TRY(pay_customer_find_or_create(r, settings, subscriber_id, email, &customer));
    form_init(&form, r->task.arena);
    form_str(&form, "customer", customer);
    form_str(&form, "usage", STR("off_session"));
    form_bool(&form, "automatic_payment_methods[enabled]", true);
    form_map(&form, "metadata", pay_metadata_new(r, "subscriber_id", subscriber_id));
    const struct processor_request request = {
        .method = "POST",
        .path = STR("/v1/setup_intents"),
        .form = form_text(&form),
        .key = processor_key(r->task.arena, r->scope->project, "setup", subscriber_id, idem->salt),
    };
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc == 0)
        return reply_setup(r, reply.body);
    if (processor_is_refusal(rc))
        pay_customer_forget(r, &reply, customer);
    return pay_fail(r, rc, &reply);
}

AWAITS static int methods_setup(struct req *r)
{
    struct setup_in in;
    struct idem idem;

    TRY(req_json(r, &setup_schema, &in));
    if ((!in.subscriber_id.set || in.subscriber_id.null) &&
        (!in.customer_email.set || in.customer_email.null || !in.customer_email.value.len))
        return fail_field(
            r, "customer_email", PROBLEM_REQUIRED, "is required without subscriber_id");
    TRY(idem_begin(r, NULL, &idem));
    return idem_finish(r, &idem, create_setup_intent(r, &in, &idem));
}

/* --- removal --- */

/* Whether the processor refused because the method is already detached: it answers a detach of a
 * method without a customer with 400, or with 404. */
static bool is_detached(int rc, const struct processor_reply *reply)
{
    return rc == PROCESSOR_NOT_FOUND ||
           (rc == PROCESSOR_INVALID && !str_is(reply->code, "parameter_unknown"));
}

AWAITS static int methods_detach(struct req *r, const struct payment_method *method)
{
    struct arena *arena = r->task.arena;
    const struct payment_settings *settings;
    struct processor_reply reply = {0};
    struct str salt = arena_printf(arena, "%016llx", (unsigned long long)rand_u64());
    struct jr_error error;
    json_t *gone;

    TRY(pay_settings_get(r, false, &settings));
    const struct processor_request request = {
        .method = "POST",
        .path = processor_path(arena, "/v1/payment_methods", method->provider_id, "/detach"),
        .form = STR(""),
        .key = processor_key(arena, r->scope->project, "detach", method->id, salt),
    };
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc && !is_detached(rc, &reply))
        return pay_fail(r, rc, &reply);
    const json_t *body = reply.body;
    if (rc) {
        struct str text = arena_printf(
            arena, "{\"object\":\"payment_method\",\"id\":\"%.*s\"}", STR_ARG(method->provider_id));
        if (jr_parse(arena, text, &gone, &error))
            return no_such_method(r);
        body = gone;
    }
    TRY(apply_methods(r, settings, &body, 1, false));
    return reply_empty(r, 204);
}

AWAITS static int methods_delete(struct req *r)
{
    struct payment_method method;
    struct str provider_id;
    bool found = false;
    int64_t id;

    if (!read_path_id(r, &id, &provider_id))
        return no_such_method(r);
    TRY(methods_find_row(r, id, provider_id, &method, &found));
    if (!found)
        return no_such_method(r);
    if (str_is(method.status, "detached"))
        return reply_empty(r, 204);
    if (!method.provider_id.len) {
        TRY(sql_begin(r));
        TRY(sql_exec(r, NULL, SQL_METHOD_FORGET(.id = method.id)));
        TRY(sql_commit(r));
        return reply_empty(r, 204);
    }
    return methods_detach(r, &method);
}

#define ID_DOC "{id} is the method's id here or the processor's id (pm_...). "

static const struct route payment_methods_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payment-methods",
        .id = "payment_methods_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .perm_or = PERM_SVC_PAYMENT_METHODS_READ,
        .query = list_query,
        .success = {200, &method_schema, .list = true},
        .extra_statuses = {409, 502},
        .run = methods_list,
        .summary = "List saved payment methods, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payment-methods/{id}",
        .id_prefix = "pm_",
        .id = "payment_methods_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .perm_or = PERM_SVC_PAYMENT_METHODS_READ,
        .success = {200, &method_schema},
        .extra_statuses = {404},
        .run = methods_get,
        .summary = "Read a saved payment method",
        .doc = ID_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/payment-methods/setup-intent",
        .id = "payment_methods_setup",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_CREATE,
        .perm_or = PERM_SVC_PAYMENT_METHODS_CREATE,
        .body = &setup_schema,
        .success = {200, &setup_out_schema},
        .extra_statuses = {404, 409, 422, 502},
        .run = methods_setup,
        .summary = "Begin to save a payment method without charging it",
        .doc = "The method appears in the list after the payer has entered it.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/payment-methods/{id}",
        .id_prefix = "pm_",
        .id = "payment_methods_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .perm_or = PERM_SVC_PAYMENT_METHODS_DELETE,
        .success = {204},
        .extra_statuses = {404, 409, 502},
        .run = methods_delete,
        .guard = methods_get,
        .summary = "Remove a saved payment method",
        .doc = ID_DOC
        "The method can no longer be charged or restored. 204 also when it was removed before.",
    },
};
ROUTES(payment_methods, "Payment methods");
