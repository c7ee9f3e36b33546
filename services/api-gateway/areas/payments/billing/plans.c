/* /subscription-plans: the plans to which users can subscribe. plans_sync.c sends them to the
 * processor. */
#include "areas/payments/billing/plans.h"

#include <string.h>

#include "areas/payments/billing/terms.h"
#include "areas/payments/pay_common.h"
#include "http/query.h"
#include "plans_sql.h"

#define NAME_MAX_CHARS  200
#define TEXT_MAX_CHARS  2000
#define SAVE_TIMEOUT_MS 60000 /* the plan is sent to the processor before the answer */

struct plan_in {
    struct in_str plan_name, name, description, type;
    struct terms_in terms;
    struct in_bool is_active;
    struct in_str store_product_id;
};

/* clang-format off */
static const struct field in_fields[] = {
    {.name = "plan_name", FIELD_AT(struct plan_in, plan_name), .type = FIELD_STR, .min = 1,
     .max = NAME_MAX_CHARS, .doc = "Unique name of the plan; when left out, the value of name",
     .example = "\"gold\""},
    {.name = "name", FIELD_AT(struct plan_in, name), .type = FIELD_STR, .min = 1,
     .max = NAME_MAX_CHARS, .doc = "Name that subscribers see; when left out, the value of plan_name",
     .example = "\"Gold\""},
    {.name = "description", FIELD_AT(struct plan_in, description), .type = FIELD_STR, .nullable = true,
     .max = TEXT_MAX_CHARS},
    {.name = "type", FIELD_AT(struct plan_in, type), .type = FIELD_STR, .values = terms_types},
    TERMS_MEMBERS(struct plan_in, false),
    {.name = "is_active", FIELD_AT(struct plan_in, is_active), .type = FIELD_BOOL,
     .doc = "Whether users can subscribe to the plan; running subscriptions continue"},
    {.name = "store_product_id", FIELD_AT(struct plan_in, store_product_id), .type = FIELD_STR,
     .nullable = true, .min = 1, .max = NAME_MAX_CHARS, .doc = "Product id of the plan in the app store; unique",
     .example = "\"com.example.gold.monthly\""},
};
static const struct schema create_schema = SCHEMA("SubscriptionPlanCreate", struct plan_in, in_fields);
static const struct schema update_schema = SCHEMA("SubscriptionPlanUpdate", struct plan_in, in_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "tenant_id", .type = FIELD_I64, .required = true, .doc = "Number of the project"},
    {.name = "plan_name", .type = FIELD_STR, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "type", .type = FIELD_STR, .required = true, .example = "\"recurring\""},
    {.name = "amount", .type = FIELD_F64, .required = true, .example = "12.5"},
    {.name = "amount_minor", .type = FIELD_I64, .required = true, .doc = "In the currency's minor unit",
     .example = "1250"},
    {.name = "currency", .type = FIELD_STR, .required = true, .example = "\"usd\""},
    {.name = "billing_interval", .type = FIELD_STR, .required = true, .values = terms_intervals},
    {.name = "interval_count", .type = FIELD_I64, .required = true},
    {.name = "trial_period_days", .type = FIELD_I64, .required = true},
    {.name = "is_active", .type = FIELD_BOOL, .required = true},
    {.name = "store_product_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "processor_product_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "processor_price_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "synced", .type = FIELD_BOOL, .required = true,
     .doc = "Whether the processor has the current plan; otherwise the next save sends the plan again"},
    {.name = "sync_error", .type = FIELD_STR, .required = true, .nullable = true,
     .doc = "Why the processor does not have the current plan"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema plan_schema = SCHEMA_OUT("SubscriptionPlan", out_fields);

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "is_active", .type = FIELD_BOOL, .doc = "true: only active plans; false: only inactive plans"},
    {0},
};
/* clang-format on */

/* --- reading --- */

AWAITS static int plans_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str active = query_get(query, "is_active");
    return reply_page(
        r,
        "id",
        SQL_PLANS_LIST(.tenant_id = r->scope->project->number,
                       .is_active = active.ptr ? some_bool(str_is(active, "true")) : NO_BOOL));
}

AWAITS static int reply_plan(struct req *r, int status, int64_t id)
{
    struct rows plan;

    TRY(sql_one(r, &plan, SQL_PLAN_GET(.tenant_id = r->scope->project->number, .id = id)));
    if (status == 201)
        reply_location(r, id);
    return reply_row(r, status, &plan);
}

AWAITS static int plans_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_plan(r, 200, id);
}

/* --- saving --- */

struct plan {
    struct str plan_name, name, description, store_product_id;
    struct terms terms;
    bool is_active;
};

static int plans_merge(struct req *r, const struct plan_in *in, struct plan *plan)
{
    if (in->plan_name.set)
        plan->plan_name = in->plan_name.value;
    if (in->name.set)
        plan->name = in->name.value;
    if (!plan->name.len)
        plan->name = plan->plan_name;
    if (!plan->plan_name.len)
        plan->plan_name = plan->name;
    if (!plan->name.len)
        return fail_field(r, "name", PROBLEM_REQUIRED, "is required");
    if (in->description.set)
        plan->description = in->description.value;
    if (in->store_product_id.set)
        plan->store_product_id = in->store_product_id.value;
    if (in->is_active.set)
        plan->is_active = in->is_active.value;
    return terms_merge(r, &in->terms, &plan->terms);
}

/* The error message names the violated constraint, which tells which unique member is taken. */
static int plans_fail_save(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const char *field = "plan_name";

    if (rc != DB_UNIQUE)
        return sql_check(r, rc);
    struct str message = db_error(&r->task)->message;
    if (memmem(message.ptr,
               message.len,
               "subscription_plans_store_key",
               sizeof("subscription_plans_store_key") - 1))
        field = "store_product_id";
    schema_error_add(r->task.arena, errors, str_from(field), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(r, PROBLEM_UNIQUE_VIOLATION, STR("Another plan has this value."), errors);
}

/* Calls the processor after the commit: a plan is saved even if the processor refuses it. */
AWAITS static int sync_processor(struct req *r, int64_t id)
{
    const struct payment_settings *settings;

    TRY(pay_settings_get(r, false, &settings));
    return plan_sync(r, settings, id);
}

/* Adds the plan when `id` is 0, otherwise changes the plan with this id. *ret_id: the plan's id. */
AWAITS static int plans_store(struct req *r, const struct plan *plan, int64_t id, int64_t *ret_id)
{
    struct rows saved;
    int rc = db_query(&r->task,
                      r->scope->db,
                      id ? &SQL_PLAN_SAVE : &SQL_PLAN_ADD,
                      SQL_PLAN_ARGS(.id = id,
                                    .plan_name = plan->plan_name,
                                    .name = plan->name,
                                    .description = plan->description,
                                    .amount_minor = plan->terms.amount_minor,
                                    .currency = plan->terms.currency,
                                    .billing_interval = plan->terms.billing_interval,
                                    .interval_count = plan->terms.interval_count,
                                    .trial_period_days = plan->terms.trial_period_days,
                                    .is_active = plan->is_active,
                                    .store_product_id = plan->store_product_id),
                      &saved);

    if (rc)
        return plans_fail_save(r, rc);
    *ret_id = sql_saved_plan_row(&saved, 0).id;
    return 0;
}

AWAITS static int plans_finish(struct req *r, const char *action, int64_t id)
{
    TRY(gateway_commit(r, gateway_audit(r, action, "subscription_plan", id, STR_NONE)));
    return sync_processor(r, id);
}

AWAITS static int plans_create(struct req *r)
{
    struct plan plan = {.terms = TERMS_NONE, .is_active = true};
    struct plan_in in;
    int64_t id = 0;

    TRY(req_json(r, &create_schema, &in));
    TRY(plans_merge(r, &in, &plan));
    TRY(sql_begin(r));
    TRY(plans_store(r, &plan, 0, &id));
    TRY(plans_finish(r, "subscription_plans.create", id));
    return reply_plan(r, 201, id);
}

AWAITS static int lock_plan(struct req *r, int64_t id, struct plan *ret_plan)
{
    struct rows found;

    TRY(sql_one(r, &found, SQL_PLAN_LOCK(.id = id)));
    const struct sql_plan_lock_row row = sql_plan_lock_row(&found, 0);
    *ret_plan = (struct plan){
        .plan_name = row.plan_name,
        .name = row.name,
        .description = row.description,
        .store_product_id = row.store_product_id,
        .is_active = row.is_active,
        .terms =
            {
                .amount_minor = row.amount_minor,
                .currency = row.currency,
                .billing_interval = row.billing_interval,
                .interval_count = row.interval_count,
                .trial_period_days = row.trial_period_days,
            },
    };
    return 0;
}

AWAITS static int plans_update(struct req *r)
{
    struct plan plan;
    struct plan_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    TRY(sql_begin(r));
    TRY(lock_plan(r, id, &plan));
    TRY(plans_merge(r, &in, &plan));
    TRY(plans_store(r, &plan, id, &id));
    TRY(plans_finish(r, "subscription_plans.update", id));
    return reply_plan(r, 200, id);
}

/* --- deleting --- */

AWAITS static int plans_check_unused(struct req *r, int64_t id)
{
    struct rows used;

    TRY(sql_one(r, &used, SQL_PLAN_USED(.plan_id = id)));
    int64_t count = sql_plan_used_row(&used, 0).subscriptions;
    if (count)
        return fail(r,
                    PROBLEM_IN_USE,
                    "%lld %s this plan; set is_active to false to stop offering it.",
                    (long long)count,
                    count == 1 ? "subscription uses" : "subscriptions use");
    return 0;
}

/* Calls the processor first, because only the row knows the product and prices to retire. */
AWAITS static int plans_delete(struct req *r)
{
    const struct payment_settings *settings;
    struct processor_reply reply;
    struct plan plan;
    int64_t id;
    int rc;

    TRY(req_id(r, "id", &id));
    TRY(plans_check_unused(r, id));
    TRY(pay_settings_get(r, false, &settings));
    rc = plan_retire(r, settings, id, &reply);
    /* A plan can be deleted even if the processor no longer accepts the credentials. */
    if (rc != 0 && rc != PROCESSOR_REFUSED && rc != PROCESSOR_INVALID)
        return pay_fail(r, rc, &reply);
    TRY(sql_begin(r));
    TRY(lock_plan(r, id, &plan));
    TRY(plans_check_unused(r, id));
    struct db_call calls[] = {
        db_call(SQL_PLAN_REMOVE(.id = id)),
        gateway_audit(r, "subscription_plans.delete", "subscription_plan", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

#define SYNC_DOC                                                                                   \
    "When the processor's account can take payments, product and price are created or updated "    \
    "there before the answer. The plan is also saved when the processor is unavailable: synced "   \
    "is then false, and the next save sends the plan again. "

static const struct route plans_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscription-plans",
        .id = "subscription_plans_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .query = list_query,
        .success = {200, &plan_schema, .list = true},
        .run = plans_list,
        .summary = "List subscription plans",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/subscription-plans",
        .id = "subscription_plans_create",
        .auth = AUTH_ADMIN,
        .body = &create_schema,
        .success = {201, &plan_schema},
        .extra_statuses = {409},
        .run = plans_create,
        .timeout_ms = SAVE_TIMEOUT_MS,
        .summary = "Create a subscription plan",
        .doc = SYNC_DOC "plan_name or name, amount, currency and billing_interval are required.",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscription-plans/{id}",
        .id = "subscription_plans_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .success = {200, &plan_schema},
        .extra_statuses = {404},
        .run = plans_get,
        .summary = "Read a subscription plan",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/subscription-plans/{id}",
        .id = "subscription_plans_update",
        .auth = AUTH_ADMIN,
        .body = &update_schema,
        .success = {200, &plan_schema},
        .extra_statuses = {404, 409},
        .run = plans_update,
        .guard = plans_get,
        .timeout_ms = SAVE_TIMEOUT_MS,
        .summary = "Change a subscription plan",
        .doc =
            SYNC_DOC "Members left out keep their value. Running subscriptions keep their price.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/subscription-plans/{id}",
        .id = "subscription_plans_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404, 409, 502},
        .run = plans_delete,
        .guard = plans_get,
        .timeout_ms = SAVE_TIMEOUT_MS,
        .summary = "Delete a subscription plan",
        .doc = "Price and product become inactive at the processor. 409 in_use while a "
               "subscription to the plan has not ended. Templates of the plan are deleted, too.",
    },
};
ROUTES(plans, "Subscription plans");
