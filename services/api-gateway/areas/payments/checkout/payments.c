/* Listing and reading payments, and loading a payment's row for the other files. */
#include "areas/payments/checkout/payments.h"
#include "base/num.h"
#include "http/query.h"
#include "json/jr.h"
#include "keyset.h"
#include "payments_sql.h"

/* --- rows --- */

static void write_columns(struct jw *w, const struct rows *rows, size_t row)
{
    struct str currency = rows_str(rows, row, rows_column(rows, "currency"));

    for (size_t i = 0; i < rows->columns; i++) {
        const char *name = rows_column_name(rows, i);
        struct str text = str_from(name);
        if (name[0] == '_')
            continue;
        if (str_is(text, "amount_minor"))
            money_json(w, "amount", rows_i64(rows, row, i), currency);
        else if (str_is(text, "amount_refunded_minor"))
            money_json(w, "amount_refunded", rows_i64(rows, row, i), currency);
        else if (str_is(text, "platform_fee_minor"))
            money_json(w, "platform_fee", rows_i64(rows, row, i), currency);
        else {
            jw_lit(w, name);
            rows_json_value(w, rows, row, i);
        }
    }
}

void payment_write(struct jw *w, const struct rows *rows, size_t row)
{
    jw_obj(w);
    write_columns(w, rows, row);
    jw_obj_end(w);
}

int payment_reply(struct req *r,
                  int status,
                  const struct payment *payment,
                  const struct payment_next_step *extra)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    write_columns(&w, &payment->rows, 0);
    if (extra && extra->client_secret.len) {
        JW_STR(&w, "client_secret", extra->client_secret);
        jw_lit(&w, "next_action");
        if (json_is_object(extra->next_action))
            jw_json(&w, extra->next_action);
        else
            jw_null(&w);
    }
    jw_obj_end(&w);
    return reply_json(r, status);
}

static void payments_read_row(const struct rows *rows, struct payment *payment)
{
    const struct sql_payment_row row = sql_payment_row(rows, 0);

    *payment = (struct payment){
        .rows = *rows,
        .id = row.id,
        .amount_minor = row.amount_minor,
        .refunded_minor = row.amount_refunded_minor,
        .fee_minor = row.platform_fee_minor,
        .status = row.status,
        .currency = row.currency,
        .provider = row.provider,
        .failure_code = row.failure_code,
        .failure_message = row.failure_message,
        .customer = row._customer,
        .intent_id = row._intent_id,
        .session_id = row._session_id,
        .call_key = row._call_key,
        .call_path = row._call_path,
        .call_form = row._call_form,
    };
}

int payment_load(struct req *r, int64_t id, bool lock, struct payment *ret_payment)
{
    struct rows rows;

    TRY(sql_one(
        r, &rows, lock ? &SQL_PAYMENT_LOCK : &SQL_PAYMENT_GET, SQL_PAYMENT_ID_ARGS(.id = id)));
    payments_read_row(&rows, ret_payment);
    return 0;
}

int payment_load_path(struct req *r, struct payment *ret_payment)
{
    struct str text = req_param(r, "id");
    struct rows rows;
    int64_t id;

    if (num_parse_i64(text, &id) && id > 0)
        return payment_load(r, id, false, ret_payment);
    if (!str_starts(text, STR("pi_")))
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    TRY(sql_one(r, &rows, SQL_PAYMENT_BY_INTENT(.intent_id = text)));
    payments_read_row(&rows, ret_payment);
    return 0;
}

int payment_amount(struct req *r,
                   const struct in_f64 *amount,
                   struct str currency,
                   int64_t *ret_minor,
                   struct str *ret_currency)
{
    json_t *number = NULL;

    if (amount->set && !amount->null)
        number = jr_attach(r->task.arena, json_real(amount->value));
    return pay_amount(r, number, currency, ret_minor, ret_currency);
}

int64_t
payment_fee(const struct payment_settings *settings, int64_t amount_minor, struct str currency)
{
    if (settings->processor.mode != PROCESSOR_CONNECT)
        return 0;
    return fee_platform(&settings->fee, amount_minor, currency);
}

/* --- lists --- */

static const char *const types[] = {"one_off", "recurring", "saved_method", NULL};
static const char *const providers[] = {"processor", "iap_store", NULL};

#define FILTERS                                                                                    \
    {.name = "type", .type = FIELD_STR, .values = types, .doc = "Only payments of this type"},     \
        {.name = "provider",                                                                       \
         .type = FIELD_STR,                                                                        \
         .values = providers,                                                                      \
         .doc = "Only payments of this provider"},                                                 \
        {.name = "subscriber_id", .type = FIELD_I64, .doc = "Only payments of this user"},         \
        {.name = "subscription_id",                                                                \
         .type = FIELD_I64,                                                                        \
         .doc = "Only payments of this subscription"},                                             \
        {.name = "created_from",                                                                   \
         .type = FIELD_TIME,                                                                       \
         .doc = "Only payments made at this time (RFC 3339) or later"},                            \
    {                                                                                              \
        .name = "created_to", .type = FIELD_TIME, .doc = "Only payments made before this time"     \
    }

static const struct query_param list_query[] = {
    KEYSET_QUERY,
    {.name = "status",
     .type = FIELD_STR,
     .values = payment_statuses,
     .doc = "Only payments in this state"},
    FILTERS,
    {0},
};
static const struct query_param status_query[] = {KEYSET_QUERY, FILTERS, {0}};

static const struct keyset_list payments_keyset = {
    .newest = &SQL_PAYMENTS_DESC,
    .oldest = &SQL_PAYMENTS_ASC,
    .count = &SQL_PAYMENTS_COUNT,
    .key = "id",
};

static struct opt_i64 number_param(const struct query *query, const char *name)
{
    int64_t number;

    return num_parse_i64(query_get(query, name), &number) ? some_i64(number) : NO_I64;
}

AWAITS static int reply_list(struct req *r, const struct query *query, struct str status)
{
    return keyset_reply_rows(
        r,
        &payments_keyset,
        SQL_PAYMENTS_ARGS(.status = status,
                          .type = query_get(query, "type"),
                          .provider = query_get(query, "provider"),
                          .subscriber_id = number_param(query, "subscriber_id"),
                          .subscription_id = number_param(query, "subscription_id"),
                          .created_from = query_time(query, "created_from"),
                          .created_to = query_time(query, "created_to")),
        payment_write);
}

AWAITS static int payments_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return reply_list(r, query, query_get(query, "status"));
}

AWAITS static int payments_by_status(struct req *r)
{
    struct str status = req_param(r, "status");
    const struct query *query;

    TRY(req_query(r, &query));
    for (const char *const *known = payment_statuses; *known; known++) {
        if (str_is(status, *known))
            return reply_list(r, query, status);
    }
    return fail_field(r, "status", PROBLEM_VALIDATION_FAILED, "is not one of the allowed values");
}

AWAITS static int payments_get(struct req *r)
{
    struct payment payment;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(payment_load(r, id, false, &payment));
    return payment_reply(r, 200, &payment, NULL);
}

static const struct route payments_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payments",
        .id = "payments_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .query = list_query,
        .success = {200, &payment_schema, .list = true},
        .run = payments_list,
        .summary = "List payments, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payments/status/{status}",
        .id = "payments_by_status",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .query = status_query,
        .success = {200, &payment_schema, .list = true},
        .run = payments_by_status,
        .summary = "List the payments in a state, newest first",
        .doc = "An unknown state is a 400.",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payments/{id}",
        .id = "payments_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .success = {200, &payment_schema},
        .extra_statuses = {404},
        .run = payments_get,
        .summary = "Read the stored state of a payment",
    },
};
ROUTES(payments, "Payments");
