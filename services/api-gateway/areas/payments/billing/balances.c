/* /balances: reading and adjusting the balances of users, and their history. */
#include "areas/payments/billing/balances.h"

#include <math.h>

#include "areas/payments/idempotency.h"
#include "areas/payments/pay_common.h"
#include "balances_sql.h"
#include "base/ascii.h"
#include "http/query.h"
#include "keyset.h"

#define WHOLE_MAX 9007199254740991 /* largest integer that a JSON number carries exactly */

/* --- units and amounts --- */

struct str balance_unit(struct arena *arena, struct str text)
{
    if (!text.len || text.len > BALANCE_UNIT_MAX || !ascii_is(text.ptr[0], ASCII_LETTER) ||
        !ascii_has_only(text, ASCII_ALNUM, "-_"))
        return STR_NONE;
    return arena_lower(arena, text);
}

/* A unit that the project defines has whole numbers only. */
static int whole_minor(struct req *r, const char *field, double number, int64_t *ret_minor)
{
    if (floor(number) != number)
        return fail_field(r, field, PROBLEM_OUT_OF_RANGE, "must be a whole number in this unit");
    if (fabs(number) > (double)WHOLE_MAX)
        return fail_field(r, field, PROBLEM_OUT_OF_RANGE, "is too large");
    *ret_minor = (int64_t)number;
    return 0;
}

static int money_minor(
    struct req *r, const char *field, const json_t *number, struct str unit, int64_t *ret_minor)
{
    bool negative = json_number_value(number) < 0;
    json_t *positive = json_is_integer(number) && json_integer_value(number) > INT64_MIN
                           ? json_integer(llabs(json_integer_value(number)))
                           : json_real(fabs(json_number_value(number)));
    int rc = money_from_json(positive, unit, ret_minor);

    json_decref(positive);
    if (rc)
        return fail_field(r, field, PROBLEM_OUT_OF_RANGE, "%s", money_message(rc));
    if (negative)
        *ret_minor = -*ret_minor;
    return 0;
}

int balance_minor(struct req *r,
                  const char *field,
                  const json_t *number,
                  struct str unit,
                  bool may_be_negative,
                  int64_t *ret_minor)
{
    if (!json_is_number(number))
        return fail_field(r, field, PROBLEM_TYPE_MISMATCH, "expected a number");
    if (!may_be_negative && json_number_value(number) < 0)
        return fail_field(r, field, PROBLEM_OUT_OF_RANGE, "must not be negative");
    if (unit.len != 3)
        return whole_minor(r, field, json_number_value(number), ret_minor);
    return money_minor(r, field, number, unit, ret_minor);
}

AWAITS int
balance_book(struct req *r, const struct balance_change *change, struct rows *ret_balance)
{
    bool may_fall = change->may_overdraw || change->delta_minor >= 0;

    TRY(sql_exec(r, NULL, SQL_BALANCE_OPEN(.user_id = change->user_id, .unit = change->unit)));
    TRY(sql_all(r,
                ret_balance,
                SQL_BALANCE_CHANGE(.user_id = change->user_id,
                                   .unit = change->unit,
                                   .delta_minor = change->delta_minor,
                                   .may_fall = may_fall,
                                   .most = WHOLE_MAX)));
    if (!ret_balance->count)
        return fail(
            r,
            PROBLEM_CONFLICT,
            may_fall
                ? "The balance would exceed the largest possible amount."
                : "The user's balance is too low: set may_overdraw to allow a negative balance.");
    struct db_call entry =
        db_call(SQL_BALANCE_ENTRY(.user_id = change->user_id,
                                  .unit = change->unit,
                                  .delta_minor = change->delta_minor,
                                  .balance_minor = sql_balance_row(ret_balance, 0).amount_minor,
                                  .reason = change->reason,
                                  .reference = change->reference,
                                  .actor_id = some_id(change->actor_id)));
    return sql_batch(r, &entry, 1);
}

/* --- answers --- */

#define UNIT_DOC "A currency in lower case, or a unit that the project defines, such as credits"

static const struct field balance_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "unit", .type = FIELD_STR, .required = true, .doc = UNIT_DOC},
    {.name = "amount", .type = FIELD_F64, .required = true},
    {.name = "amount_minor", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema balance_schema = SCHEMA_OUT("Balance", balance_fields);

static const struct field user_balances_fields[] = {
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "balances", .type = FIELD_LIST, .sub = &balance_schema, .required = true},
};
static const struct schema user_balances_schema = SCHEMA_OUT("UserBalances", user_balances_fields);

static const struct field entry_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "unit", .type = FIELD_STR, .required = true},
    {.name = "delta", .type = FIELD_F64, .required = true},
    {.name = "delta_minor", .type = FIELD_I64, .required = true},
    {.name = "balance", .type = FIELD_F64, .required = true, .doc = "The balance after this entry"},
    {.name = "balance_minor", .type = FIELD_I64, .required = true},
    {.name = "reason", .type = FIELD_STR, .required = true},
    {.name = "reference", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "actor_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema entry_schema = SCHEMA_OUT("BalanceEntry", entry_fields);

static const struct query_param holders_query[] = {
    PAGE_QUERY,
    {.name = "unit", .type = FIELD_STR, .doc = "Only balances in this unit"},
    {0},
};
static const struct query_param history_query[] = {
    KEYSET_QUERY,
    {.name = "unit", .type = FIELD_STR, .doc = "Only entries in this unit"},
    {0},
};
static const struct keyset_list entries_keyset = {
    &SQL_BALANCE_ENTRIES_DESC, &SQL_BALANCE_ENTRIES_ASC, &SQL_BALANCE_ENTRIES_COUNT, "id"};

/* Returns the unit in its stored form. A malformed unit matches no balance. */
static struct str unit_param(struct req *r, const struct query *query)
{
    struct str text = query_get(query, "unit");
    struct str unit = balance_unit(r->task.arena, text);

    return unit.ptr ? unit : text;
}

AWAITS static int balances_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return reply_page(r, "user_id", SQL_BALANCES_LIST(.unit = unit_param(r, query)));
}

AWAITS static int balances_get(struct req *r)
{
    struct rows rows;
    struct jw w;
    int64_t id;

    TRY(req_id(r, "user_id", &id));
    TRY(sql_one(r, &rows, SQL_BALANCE_USER(.id = id)));
    TRY(sql_all(r, &rows, SQL_BALANCES_OF(.user_id = id)));
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "user_id", id);
    jw_lit(&w, "balances");
    rows_json_array(&r->task, &w, &rows, rows.count);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int balances_history(struct req *r)
{
    const struct query *query;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "user_id", &id));
    TRY(req_query(r, &query));
    TRY(sql_one(r, &rows, SQL_BALANCE_USER(.id = id)));
    return keyset_reply(
        r, &entries_keyset, SQL_BALANCE_ENTRIES_ARGS(.user_id = id, .unit = unit_param(r, query)));
}

/* --- adjusting --- */

struct adjust_in {
    struct in_json amount;
    struct in_str unit;
    struct in_str reason;
    struct in_str reference;
    struct in_bool may_overdraw;
    struct in_str idempotency_key;
};

static const struct field adjust_fields[] = {
    {.name = "amount",
     FIELD_AT(struct adjust_in, amount),
     .type = FIELD_JSON,
     .required = true,
     .doc = "Decimal number to add; a negative number is subtracted",
     .example = "-2.5"},
    {.name = "unit",
     FIELD_AT(struct adjust_in, unit),
     .type = FIELD_STR,
     .required = true,
     .max = BALANCE_UNIT_MAX,
     .doc = UNIT_DOC,
     .example = "\"usd\""},
    {.name = "reason",
     FIELD_AT(struct adjust_in, reason),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 200,
     .example = "\"goodwill\""},
    {.name = "reference",
     FIELD_AT(struct adjust_in, reference),
     .type = FIELD_STR,
     .nullable = true,
     .max = 200},
    {.name = "may_overdraw",
     FIELD_AT(struct adjust_in, may_overdraw),
     .type = FIELD_BOOL,
     .doc = "Whether the balance may fall below 0; otherwise a change below 0 is a 409 conflict"},
    IDEM_MEMBER(struct adjust_in),
};
static const struct schema adjust_schema = SCHEMA("BalanceAdjust", struct adjust_in, adjust_fields);

/* Writes the balance, its entry, the audit row and the idempotent answer in one transaction. */
AWAITS static int
adjust_balance(struct req *r, const struct balance_change *change, struct idem *idem)
{
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_BALANCE_USER(.id = change->user_id)));
    TRY(balance_book(r, change, &rows));
    struct db_call entry = gateway_audit(r, "balances.adjust", "user", change->user_id, STR_NONE);
    TRY(sql_batch(r, &entry, 1));
    int status = reply_row(r, 200, &rows);
    TRY(idem_store_answer(r, idem, status));
    TRY(sql_commit(r));
    return status;
}

AWAITS static int balances_adjust(struct req *r)
{
    struct balance_change change;
    struct adjust_in in;
    struct idem idem;
    int64_t id;

    TRY(req_id(r, "user_id", &id));
    TRY(req_json(r, &adjust_schema, &in));
    change = (struct balance_change){
        .user_id = id,
        .unit = balance_unit(r->task.arena, in.unit.value),
        .may_overdraw = in.may_overdraw.value,
        .reason = in.reason.value,
        .reference = in.reference.value,
        .actor_id = r->scope->caller->user_id,
    };
    if (!change.unit.ptr)
        return fail_field(
            r,
            "unit",
            PROBLEM_PATTERN,
            "must be a currency, or a unit of letters, digits, - and _ that begins with a letter");
    TRY(balance_minor(r, "amount", in.amount.value, change.unit, true, &change.delta_minor));
    if (change.delta_minor == 0)
        return fail_field(r, "amount", PROBLEM_OUT_OF_RANGE, "must not be 0");
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, adjust_balance(r, &change, &idem));
}

static const struct route balances_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/balances",
        .id = "balances_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_BALANCES_READ,
        .query = holders_query,
        .success = {200, &balance_schema, .list = true},
        .run = balances_list,
        .summary = "List balances and their holders",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/balances/{user_id}",
        .id = "balances_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_BALANCES_READ,
        .success = {200, &user_balances_schema},
        .extra_statuses = {404},
        .run = balances_get,
        .summary = "Get a user's balances",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/balances/{user_id}/history",
        .id = "balances_history",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_BALANCES_READ,
        .query = history_query,
        .success = {200, &entry_schema, .list = true},
        .extra_statuses = {404},
        .run = balances_history,
        .summary = "List the entries of a user's balances",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/balances/{user_id}/adjust",
        .id = "balances_adjust",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_BALANCES_UPDATE,
        .body = &adjust_schema,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &balance_schema},
        .extra_statuses = {404, 409, 422},
        .run = balances_adjust,
        .guard = balances_get,
        .summary = "Change a user's balance, once per idempotency key",
    },
};
ROUTES(balances, "Payments");
