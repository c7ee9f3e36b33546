/* /offers: what codes give. */
#include "areas/payments/billing/offers.h"

#include <math.h>

#include "areas/payments/billing/balances.h"
#include "areas/payments/payments_area.h"
#include "base/clock.h"
#include "offers_sql.h"

#define PLANS_MAX 200

struct offer_in {
    struct in_str name, description, kind, currency, store_offer_id, starts_at, ends_at;
    struct in_f64 percent_off;
    struct in_json amount;
    struct in_i64 trial_days, max_redemptions, per_user_limit;
    struct in_ids plan_ids;
    struct in_bool is_active;
};

static const char *const kinds[] = {"percent", "amount", "trial", "credit", "store", NULL};

#define OFFER_MEMBERS(new)                                                                         \
    NAMED_MEMBERS(struct offer_in, new, "\"Autumn\""),                                             \
        {.name = "kind",                                                                           \
         FIELD_AT(struct offer_in, kind),                                                          \
         .type = FIELD_STR,                                                                        \
         .required = (new),                                                                        \
         .values = kinds,                                                                          \
         .doc = "percent, amount: off a subscription's price; trial: days before it is charged; "  \
                "credit: onto a balance; store: an offer of the app store",                        \
         .example = "\"trial\""},                                                                  \
        {.name = "percent_off",                                                                    \
         FIELD_AT(struct offer_in, percent_off),                                                   \
         .type = FIELD_F64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 0.01,                                                                              \
         .has_max = true,                                                                          \
         .max = 100,                                                                               \
         .doc = "percent: at most two decimals"},                                                  \
        {.name = "amount",                                                                         \
         FIELD_AT(struct offer_in, amount),                                                        \
         .type = FIELD_JSON,                                                                       \
         .nullable = true,                                                                         \
         .doc = "amount, credit: a decimal number"},                                               \
        {.name = "currency",                                                                       \
         FIELD_AT(struct offer_in, currency),                                                      \
         .type = FIELD_STR,                                                                        \
         .nullable = true,                                                                         \
         .max = BALANCE_UNIT_MAX,                                                                  \
         .doc = "Of the amount; for credit also a unit of the project's own"},                     \
        {.name = "trial_days",                                                                     \
         FIELD_AT(struct offer_in, trial_days),                                                    \
         .type = FIELD_I64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 730,                                                                               \
         .example = "14"},                                                                         \
        {.name = "store_offer_id",                                                                 \
         FIELD_AT(struct offer_in, store_offer_id),                                                \
         .type = FIELD_STR,                                                                        \
         .nullable = true,                                                                         \
         .max = 200},                                                                              \
        {.name = "plan_ids",                                                                       \
         FIELD_AT(struct offer_in, plan_ids),                                                      \
         .type = FIELD_IDS,                                                                        \
         .max = PLANS_MAX,                                                                         \
         .doc = "Plans that it is for; none: all"},                                                \
        {.name = "max_redemptions",                                                                \
         FIELD_AT(struct offer_in, max_redemptions),                                               \
         .type = FIELD_I64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 1000000000,                                                                        \
         .doc = "Over all codes"},                                                                 \
        {.name = "per_user_limit",                                                                 \
         FIELD_AT(struct offer_in, per_user_limit),                                                \
         .type = FIELD_I64,                                                                        \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 1000000,                                                                           \
         .doc = "1 when left out"},                                                                \
        {.name = "starts_at",                                                                      \
         FIELD_AT(struct offer_in, starts_at),                                                     \
         .type = FIELD_TIME,                                                                       \
         .nullable = true},                                                                        \
        {.name = "ends_at",                                                                        \
         FIELD_AT(struct offer_in, ends_at),                                                       \
         .type = FIELD_TIME,                                                                       \
         .nullable = true},                                                                        \
    {                                                                                              \
        .name = "is_active", FIELD_AT(struct offer_in, is_active), .type = FIELD_BOOL              \
    }

static const struct field create_fields[] = {OFFER_MEMBERS(true)};
static const struct field update_fields[] = {OFFER_MEMBERS(false)};
static const struct schema create_schema = SCHEMA("OfferCreate", struct offer_in, create_fields);
static const struct schema update_schema = SCHEMA("OfferUpdate", struct offer_in, update_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .values = kinds},
    {.name = "percent_off", .type = FIELD_F64, .required = true, .nullable = true},
    {.name = "amount", .type = FIELD_F64, .required = true, .nullable = true},
    {.name = "amount_minor", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "currency", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "trial_days", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "store_offer_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "plan_ids", .type = FIELD_IDS, .required = true},
    {.name = "max_redemptions", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "per_user_limit", .type = FIELD_I64, .required = true},
    {.name = "starts_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "ends_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "is_active", .type = FIELD_BOOL, .required = true},
    {.name = "redeemed", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("Offer", out_fields);

/* --- what is stored --- */

/* In the order of the columns that offer_add and offer_save write. */
enum {
    NAME,
    DESCRIPTION,
    KIND,
    PERCENT_OFF,
    AMOUNT,
    CURRENCY,
    TRIAL_DAYS,
    STORE_OFFER,
    PLANS,
    MAX_REDEMPTIONS,
    PER_USER,
    STARTS,
    ENDS,
    ACTIVE,
    COLUMNS
};

/* What a kind needs; the others stay empty. */
static const struct {
    const char *kind, *member;
    int column;
    bool currency;
} needs[] = {
    {"percent", "percent_off", PERCENT_OFF, false},
    {"amount", "amount", AMOUNT, true},
    {"trial", "trial_days", TRIAL_DAYS, false},
    {"credit", "amount", AMOUNT, true},
    {"store", "store_offer_id", STORE_OFFER, false},
};

/* The values that are stored now. */
static void load(const struct rows *offer, struct db_param *values)
{
    static const char *const texts[] = {
        [NAME] = "name",
        [DESCRIPTION] = "description",
        [KIND] = "kind",
        [PERCENT_OFF] = "percent_off",
        [AMOUNT] = "amount_minor",
        [CURRENCY] = "currency",
        [TRIAL_DAYS] = "trial_days",
        [STORE_OFFER] = "store_offer_id",
        [PLANS] = "plan_ids",
        [MAX_REDEMPTIONS] = "max_redemptions",
        [PER_USER] = "per_user_limit",
        [STARTS] = "starts_at",
        [ENDS] = "ends_at",
        [ACTIVE] = "is_active",
    };

    for (int i = 0; i < COLUMNS; i++)
        values[i] = P_STR(rows_str(offer, 0, rows_column(offer, texts[i])));
}

#define MERGE(column, member, param)                                                               \
    do {                                                                                           \
        if ((member).set)                                                                          \
            values[column] = (member).null ? P_NULL : (param);                                     \
    } while (0)

static void merge(const struct offer_in *in, struct db_param *values)
{
    MERGE(NAME, in->name, P_STR(in->name.value));
    MERGE(DESCRIPTION, in->description, P_STR(in->description.value));
    MERGE(KIND, in->kind, P_STR(in->kind.value));
    MERGE(PERCENT_OFF, in->percent_off, P_F64(in->percent_off.value));
    MERGE(TRIAL_DAYS, in->trial_days, P_I64(in->trial_days.value));
    MERGE(STORE_OFFER, in->store_offer_id, P_STR(in->store_offer_id.value));
    MERGE(PLANS, in->plan_ids, P_I64S(in->plan_ids.items, in->plan_ids.count));
    MERGE(MAX_REDEMPTIONS, in->max_redemptions, P_I64(in->max_redemptions.value));
    MERGE(PER_USER, in->per_user_limit, P_I64(in->per_user_limit.value));
    MERGE(STARTS, in->starts_at, P_STR(in->starts_at.value));
    MERGE(ENDS, in->ends_at, P_STR(in->ends_at.value));
    MERGE(ACTIVE, in->is_active, P_BOOL(in->is_active.value));
}

static bool empty(const struct db_param *value)
{
    return value->kind == PARAM_NULL || (value->kind == PARAM_STR && value->str.ptr == NULL);
}

static struct str text_of(const struct db_param *value)
{
    return value->kind == PARAM_STR ? value->str : STR_NONE;
}

/* Amount and currency belong together: a new currency asks for a new amount. */
static int merge_amount(struct req *r, const struct offer_in *in, struct db_param *values)
{
    int64_t minor;

    if (in->currency.set) {
        struct str unit = balance_unit(r->task.arena, in->currency.value);
        if (!in->currency.null && !unit.ptr)
            return fail_field(r, "currency", "pattern", "must be a currency or a unit");
        if (!in->amount.set && !empty(&values[AMOUNT]) && !str_eq(text_of(&values[CURRENCY]), unit))
            return fail_field(r, "amount", "required", "is needed in the new currency");
        values[CURRENCY] = P_STR(unit);
    }
    if (!in->amount.set)
        return 0;
    values[AMOUNT] = P_NULL;
    if (in->amount.null || json_is_null(in->amount.value))
        return 0;
    if (empty(&values[CURRENCY]))
        return fail_field(r, "currency", "required", "is needed with an amount");
    TRY(balance_minor(r, "amount", in->amount.value, text_of(&values[CURRENCY]), false, &minor));
    if (minor == 0)
        return fail_field(r, "amount", "out_of_range", "must be above 0");
    values[AMOUNT] = P_I64(minor);
    return 0;
}

static int check(struct req *r, const struct offer_in *in, const struct db_param *values)
{
    struct str kind = text_of(&values[KIND]);

    if (in->percent_off.set && !in->percent_off.null &&
        fabs(in->percent_off.value * 100 - round(in->percent_off.value * 100)) > 1e-6)
        return fail_field(r, "percent_off", "out_of_range", "may have two decimals");
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        if (!str_is(kind, needs[i].kind))
            continue;
        if (empty(&values[needs[i].column]))
            return fail_field(
                r, needs[i].member, "required", "is needed for an offer of this kind");
    }
    if (str_is(kind, "amount") && text_of(&values[CURRENCY]).len != 3)
        return fail_field(r, "currency", "pattern", "must be a currency");
    return 0;
}

/* As the body says it, else as it is stored; 0 = none. */
static int64_t time_of(const struct in_str *in, const struct rows *stored, const char *name)
{
    int64_t at_ms = 0;

    if (in->set)
        return clock_parse(in->value, &at_ms) ? at_ms : 0;
    return stored ? rows_time(stored, 0, rows_column(stored, name)) : 0;
}

/* `stored` is NULL for an offer that is new. */
static int check_times(struct req *r, const struct offer_in *in, const struct rows *stored)
{
    int64_t starts_ms = time_of(&in->starts_at, stored, "starts_at");
    int64_t ends_ms = time_of(&in->ends_at, stored, "ends_at");

    if (starts_ms && ends_ms && ends_ms <= starts_ms)
        return fail_field(r, "ends_at", "out_of_range", "must be later than starts_at");
    return 0;
}

static int fail_save(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (rc != DB_UNIQUE)
        return rc > 0 ? fail_db(r, rc) : rc;
    schema_error_add(r->task.arena, errors, STR("name"), "unique_violation", "is taken");
    return fail_with(r, "unique_violation", STR("An offer of this name exists."), errors);
}

/* --- endpoints --- */

AWAITS static int offers_list(struct req *r)
{
    return reply_page(r, "id", &SQL_OFFERS_LIST, PARAMS());
}

AWAITS static int offers_get(struct req *r)
{
    struct rows offer;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &offer, &SQL_OFFER_GET, PARAMS(P_I64(id))));
    return reply_row(r, 200, &offer);
}

/* Audit and the offer as it is now, in the open transaction. */
AWAITS static int finish(struct req *r, const char *action, int64_t id, struct rows *ret_offer)
{
    struct db_call calls[] = {
        gateway_audit(r, action, "offer", id, STR_NONE),
        {.sql = &SQL_OFFER_GET, PARAMS(P_I64(id))},
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    *ret_offer = calls[1].rows;
    return sql_commit(r);
}

AWAITS static int offers_create(struct req *r)
{
    struct db_param values[COLUMNS];
    struct offer_in in;
    struct rows rows;

    TRY(req_json(r, &create_schema, &in));
    for (int i = 0; i < COLUMNS; i++)
        values[i] = P_NULL;
    values[PLANS] = P_I64S(NULL, 0);
    values[PER_USER] = P_I64(1);
    values[ACTIVE] = P_BOOL(true);
    merge(&in, values);
    TRY(merge_amount(r, &in, values));
    TRY(check(r, &in, values));
    TRY(check_times(r, &in, NULL));
    TRY(sql_begin(r));
    int rc = db_query(&r->task, r->db, &SQL_OFFER_ADD, values, COLUMNS, &rows);
    if (rc)
        return fail_save(r, rc);
    TRY(finish(r, "offers.create", rows_i64(&rows, 0, 0), &rows));
    return reply_created(r, &rows);
}

AWAITS static int offers_update(struct req *r)
{
    struct db_param values[COLUMNS + 1];
    struct offer_in in;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, &SQL_OFFER_LOCK, PARAMS(P_I64(id))));
    values[0] = P_I64(id);
    load(&rows, values + 1);
    merge(&in, values + 1);
    TRY(merge_amount(r, &in, values + 1));
    TRY(check(r, &in, values + 1));
    TRY(check_times(r, &in, &rows));
    int rc = db_query(&r->task, r->db, &SQL_OFFER_SAVE, values, COLUMNS + 1, NULL);
    if (rc)
        return fail_save(r, rc);
    TRY(finish(r, "offers.update", id, &rows));
    return reply_row(r, 200, &rows);
}

AWAITS static int offers_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, &SQL_OFFER_REMOVE, PARAMS(P_I64(id))));
    struct db_call told = gateway_audit(r, "offers.delete", "offer", id, STR_NONE);
    TRY(sql_batch(r, &told, 1));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

#define OFFERS PAYMENTS_BASE "/offers"

static const struct route offers_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = OFFERS,
        .id = "offers_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_READ,
        .query = page_query,
        .ok = {200, &out_schema, .list = true},
        .run = offers_list,
        .class = CLASS_READ,
        .tag = "Payments",
        .summary = "List offers",
    },
    {
        .method = HTTP_POST_M,
        .path = OFFERS,
        .id = "offers_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_CREATE,
        .body = &create_schema,
        .ok = {201, &out_schema},
        .fails = {409},
        .run = offers_create,
        .class = CLASS_WRITE,
        .tag = "Payments",
        .summary = "Create an offer",
    },
    {
        .method = HTTP_GET_M,
        .path = OFFERS "/{id}",
        .id = "offers_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_READ,
        .ok = {200, &out_schema},
        .fails = {404},
        .run = offers_get,
        .class = CLASS_READ,
        .tag = "Payments",
        .summary = "Get an offer",
    },
    {
        .method = HTTP_PUT_M,
        .path = OFFERS "/{id}",
        .id = "offers_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_UPDATE,
        .body = &update_schema,
        .ok = {200, &out_schema},
        .fails = {404, 409},
        .run = offers_update,
        .class = CLASS_WRITE,
        .tag = "Payments",
        .summary = "Change an offer",
    },
    {
        .method = HTTP_DELETE_M,
        .path = OFFERS "/{id}",
        .id = "offers_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_DELETE,
        .ok = {204},
        .fails = {404},
        .run = offers_delete,
        .class = CLASS_WRITE,
        .tag = "Payments",
        .summary = "Delete an offer with its codes",
    },
};
ROUTES(offers);
