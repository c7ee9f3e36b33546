/* /offers: creating, reading, changing and deleting offers. */
#include "areas/payments/billing/offers.h"

#include <math.h>

#include "areas/payments/billing/balances.h"
#include "areas/payments/pay_common.h"
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

static const char *const offer_kinds[] = {"percent", "amount", "trial", "credit", "store", NULL};

#define OFFER_MEMBERS(new)                                                                         \
    NAMED_MEMBERS(struct offer_in, new, "\"Autumn\""),                                             \
        {.name = "kind",                                                                           \
         FIELD_AT(struct offer_in, kind),                                                          \
         .type = FIELD_STR,                                                                        \
         .required = (new),                                                                        \
         .values = offer_kinds,                                                                    \
         .doc = "percent, amount: discount on a subscription; trial: days without a charge; "      \
                "credit: added to a balance; store: an offer of the app store",                    \
         .example = "\"trial\""},                                                                  \
        {.name = "percent_off",                                                                    \
         FIELD_AT(struct offer_in, percent_off),                                                   \
         .type = FIELD_F64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 0.01,                                                                              \
         .has_max = true,                                                                          \
         .max = 100,                                                                               \
         .doc = "For percent: at most two decimals"},                                              \
        {.name = "amount",                                                                         \
         FIELD_AT(struct offer_in, amount),                                                        \
         .type = FIELD_JSON,                                                                       \
         .nullable = true,                                                                         \
         .doc = "For amount and credit: a decimal number"},                                        \
        {.name = "currency",                                                                       \
         FIELD_AT(struct offer_in, currency),                                                      \
         .type = FIELD_STR,                                                                        \
         .nullable = true,                                                                         \
         .max = BALANCE_UNIT_MAX,                                                                  \
         .doc = "Currency of the amount; for credit also a unit that the project defines"},        \
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
         .doc = "Plans to which the offer applies; empty for all plans"},                          \
        {.name = "max_redemptions",                                                                \
         FIELD_AT(struct offer_in, max_redemptions),                                               \
         .type = FIELD_I64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 1000000000,                                                                        \
         .doc = "Limit for all codes of the offer together"},                                      \
        {.name = "per_user_limit",                                                                 \
         FIELD_AT(struct offer_in, per_user_limit),                                                \
         .type = FIELD_I64,                                                                        \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 1000000,                                                                           \
         .doc = "Redemptions for each user; 1 when left out"},                                     \
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
    {.name = "kind", .type = FIELD_STR, .required = true, .values = offer_kinds},
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

/* --- merging a body --- */

#define MERGE(to, member, some, none)                                                              \
    do {                                                                                           \
        if ((member).set)                                                                          \
            (to) = (member).null ? (none) : (some);                                                \
    } while (0)

static void offers_merge(const struct offer_in *in, struct sql_offer_lock_row *offer)
{
    const struct in_i64 *trial = &in->trial_days;
    const struct in_i64 *most = &in->max_redemptions;

    MERGE(offer->name, in->name, in->name.value, STR_NONE);
    MERGE(offer->description, in->description, in->description.value, STR_NONE);
    MERGE(offer->kind, in->kind, in->kind.value, STR_NONE);
    MERGE(offer->percent_off, in->percent_off, some_f64(in->percent_off.value), NO_F64);
    MERGE(offer->trial_days, *trial, some_i64(trial->value), NO_I64);
    MERGE(offer->store_offer_id, in->store_offer_id, in->store_offer_id.value, STR_NONE);
    MERGE(offer->max_redemptions, *most, some_i64(most->value), NO_I64);
    MERGE(offer->starts_at, in->starts_at, in->starts_at.value, STR_NONE);
    MERGE(offer->ends_at, in->ends_at, in->ends_at.value, STR_NONE);
    if (in->plan_ids.set)
        offer->plan_ids = sql_i64s(in->plan_ids.items, in->plan_ids.count);
    if (in->per_user_limit.set)
        offer->per_user_limit = in->per_user_limit.value;
    if (in->is_active.set)
        offer->is_active = in->is_active.value;
}

/* Amount and currency belong together, so a new currency requires a new amount. */
static int merge_amount(struct req *r, const struct offer_in *in, struct sql_offer_lock_row *offer)
{
    int64_t minor;

    if (in->currency.set) {
        struct str unit = balance_unit(r->task.arena, in->currency.value);
        if (!in->currency.null && !unit.ptr)
            return fail_field(r,
                              "currency",
                              PROBLEM_PATTERN,
                              "must be a currency, or a unit of letters, digits, - and _ that "
                              "begins with a letter");
        if (!in->amount.set && offer->amount_minor.set && !str_eq(offer->currency, unit))
            return fail_field(
                r, "amount", PROBLEM_REQUIRED, "is required when the currency changes");
        offer->currency = unit;
    }
    if (!in->amount.set)
        return 0;
    offer->amount_minor = NO_I64;
    if (in->amount.null || json_is_null(in->amount.value))
        return 0;
    if (!offer->currency.ptr)
        return fail_field(r, "currency", PROBLEM_REQUIRED, "is required with an amount");
    TRY(balance_minor(r, "amount", in->amount.value, offer->currency, false, &minor));
    if (minor == 0)
        return fail_field(r, "amount", PROBLEM_OUT_OF_RANGE, "must be more than 0");
    offer->amount_minor = some_i64(minor);
    return 0;
}

/* Returns the member that the offer's kind requires and that has no value; NULL when it has one. */
static const char *missing_member(const struct sql_offer_lock_row *offer)
{
    if (str_is(offer->kind, "percent"))
        return offer->percent_off.set ? NULL : "percent_off";
    if (str_is(offer->kind, "trial"))
        return offer->trial_days.set ? NULL : "trial_days";
    if (str_is(offer->kind, "store"))
        return offer->store_offer_id.ptr ? NULL : "store_offer_id";
    return offer->amount_minor.set ? NULL : "amount";
}

static int
offers_check(struct req *r, const struct offer_in *in, const struct sql_offer_lock_row *offer)
{
    const char *member = missing_member(offer);

    if (in->percent_off.set && !in->percent_off.null &&
        fabs(in->percent_off.value * 100 - round(in->percent_off.value * 100)) > 1e-6)
        return fail_field(r, "percent_off", PROBLEM_OUT_OF_RANGE, "must have at most two decimals");
    if (member != NULL)
        return fail_field(r, member, PROBLEM_REQUIRED, "is required for an offer of this kind");
    if (str_is(offer->kind, "amount") && offer->currency.len != 3)
        return fail_field(r, "currency", PROBLEM_PATTERN, "must be a currency");
    return 0;
}

/* Returns the time of the body, otherwise the stored one; 0 = none. */
static int64_t offers_time_merged(const struct in_str *in, int64_t stored_ms)
{
    int64_t at_ms = 0;

    if (in->set)
        return clock_parse(in->value, &at_ms) ? at_ms : 0;
    return stored_ms;
}

static int
check_times(struct req *r, const struct offer_in *in, const struct sql_offer_lock_row *stored)
{
    int64_t starts_ms = offers_time_merged(&in->starts_at, stored->starts_ms);
    int64_t ends_ms = offers_time_merged(&in->ends_at, stored->ends_ms);

    if (starts_ms && ends_ms && ends_ms <= starts_ms)
        return fail_field(r, "ends_at", PROBLEM_OUT_OF_RANGE, "must be later than starts_at");
    return 0;
}

/* Merges the body into `offer` and checks the result. */
static int
offers_merge_body(struct req *r, const struct offer_in *in, struct sql_offer_lock_row *offer)
{
    offers_merge(in, offer);
    TRY(merge_amount(r, in, offer));
    TRY(offers_check(r, in, offer));
    return check_times(r, in, offer);
}

static int offers_fail_save(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (rc != DB_UNIQUE)
        return sql_check(r, rc);
    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(r, PROBLEM_UNIQUE_VIOLATION, STR("Another offer has this name."), errors);
}

/* --- endpoints --- */

AWAITS static int offers_list(struct req *r)
{
    return reply_page(r, "id", SQL_OFFERS_LIST());
}

AWAITS static int offers_get(struct req *r)
{
    struct rows offer;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &offer, SQL_OFFER_GET(.id = id)));
    return reply_row(r, 200, &offer);
}

/* Writes the audit row, reads the changed offer and commits the open transaction. */
AWAITS static int
offers_finish(struct req *r, const char *action, int64_t id, struct rows *ret_offer)
{
    struct db_call calls[] = {
        gateway_audit(r, action, "offer", id, STR_NONE),
        db_call(SQL_OFFER_GET(.id = id)),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    *ret_offer = calls[1].rows;
    return sql_commit(r);
}

/* Adds the offer when `id` is 0, otherwise changes the offer with this id. *ret_id: its id. */
AWAITS static int
offers_store(struct req *r, const struct sql_offer_lock_row *offer, int64_t id, int64_t *ret_id)
{
    struct rows saved;
    int rc = db_query(&r->task,
                      r->scope->db,
                      id ? &SQL_OFFER_SAVE : &SQL_OFFER_ADD,
                      SQL_OFFER_ARGS(.id = id,
                                     .name = offer->name,
                                     .description = offer->description,
                                     .kind = offer->kind,
                                     .percent_off = offer->percent_off,
                                     .amount_minor = offer->amount_minor,
                                     .currency = offer->currency,
                                     .trial_days = offer->trial_days,
                                     .store_offer_id = offer->store_offer_id,
                                     .plan_ids = offer->plan_ids,
                                     .max_redemptions = offer->max_redemptions,
                                     .per_user_limit = offer->per_user_limit,
                                     .starts_at = offer->starts_at,
                                     .ends_at = offer->ends_at,
                                     .is_active = offer->is_active),
                      &saved);

    if (rc)
        return offers_fail_save(r, rc);
    *ret_id = sql_saved_offer_row(&saved, 0).id;
    return 0;
}

AWAITS static int offers_create(struct req *r)
{
    struct sql_offer_lock_row offer = {.per_user_limit = 1, .is_active = true};
    struct offer_in in;
    struct rows rows;
    int64_t id = 0;

    TRY(req_json(r, &create_schema, &in));
    TRY(offers_merge_body(r, &in, &offer));
    TRY(sql_begin(r));
    TRY(offers_store(r, &offer, 0, &id));
    TRY(offers_finish(r, "offers.create", id, &rows));
    return reply_created(r, &rows);
}

AWAITS static int offers_update(struct req *r)
{
    struct offer_in in;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_OFFER_LOCK(.id = id)));
    struct sql_offer_lock_row offer = sql_offer_lock_row(r->task.arena, &rows, 0);
    TRY(offers_merge_body(r, &in, &offer));
    TRY(offers_store(r, &offer, id, &id));
    TRY(offers_finish(r, "offers.update", id, &rows));
    return reply_row(r, 200, &rows);
}

AWAITS static int offers_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_OFFER_REMOVE(.id = id)));
    TRY(gateway_commit(r, gateway_audit(r, "offers.delete", "offer", id, STR_NONE)));
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
        .success = {200, &out_schema, .list = true},
        .run = offers_list,
        .summary = "List offers",
    },
    {
        .method = HTTP_POST_M,
        .path = OFFERS,
        .id = "offers_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_CREATE,
        .body = &create_schema,
        .success = {201, &out_schema},
        .extra_statuses = {409},
        .run = offers_create,
        .summary = "Create an offer",
    },
    {
        .method = HTTP_GET_M,
        .path = OFFERS "/{id}",
        .id = "offers_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_READ,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = offers_get,
        .summary = "Get an offer",
    },
    {
        .method = HTTP_PUT_M,
        .path = OFFERS "/{id}",
        .id = "offers_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_UPDATE,
        .body = &update_schema,
        .success = {200, &out_schema},
        .extra_statuses = {404, 409},
        .run = offers_update,
        .guard = offers_get,
        .summary = "Change an offer",
    },
    {
        .method = HTTP_DELETE_M,
        .path = OFFERS "/{id}",
        .id = "offers_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = offers_delete,
        .guard = offers_get,
        .summary = "Delete an offer with its codes",
    },
};
ROUTES(offers, "Payments");
