/* /subscription-templates: prepared subscriptions, with their own terms or those of a plan. */
#include "areas/payments/billing/terms.h"
#include "areas/payments/pay_common.h"
#include "base/num.h"
#include "http/query.h"
#include "templates_sql.h"

#define NAME_MAX_CHARS 200
#define TEXT_MAX_CHARS 2000

struct template_in {
    struct in_str name, description, type;
    struct in_i64 plan_id;
    struct terms_in terms;
    struct in_bool is_active;
};

/* clang-format off */
#define TEMPLATE_MEMBERS(name_required)                                                            \
    {.name = "name", FIELD_AT(struct template_in, name), .type = FIELD_STR,                        \
     .required = (name_required), .min = 1, .max = NAME_MAX_CHARS, .doc = "Unique",                \
     .example = "\"Gold, first month free\""},                                                     \
    {.name = "description", FIELD_AT(struct template_in, description), .type = FIELD_STR,          \
     .nullable = true, .max = TEXT_MAX_CHARS},                                                     \
    {.name = "plan_id", FIELD_AT(struct template_in, plan_id), .type = FIELD_I64,                  \
     .nullable = true, .has_min = true, .min = 1,                                                  \
     .doc = "Takes the terms of this plan; amount, currency, billing_interval and interval_count " \
            "are then null"},                                                                      \
    {.name = "type", FIELD_AT(struct template_in, type), .type = FIELD_STR,                        \
     .values = terms_types},                                                                       \
    TERMS_MEMBERS(struct template_in, true),                                                       \
    {.name = "is_active", FIELD_AT(struct template_in, is_active), .type = FIELD_BOOL}
static const struct field create_fields[] = {TEMPLATE_MEMBERS(true)};
static const struct field update_fields[] = {TEMPLATE_MEMBERS(false)};
static const struct schema create_schema =
    SCHEMA("SubscriptionTemplateCreate", struct template_in, create_fields);
static const struct schema update_schema =
    SCHEMA("SubscriptionTemplateUpdate", struct template_in, update_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "plan_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "type", .type = FIELD_STR, .required = true, .example = "\"recurring\""},
    {.name = "amount", .type = FIELD_F64, .required = true, .nullable = true},
    {.name = "amount_minor", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "currency", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "billing_interval", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "interval_count", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "trial_period_days", .type = FIELD_I64, .required = true, .nullable = true,
     .doc = "null with a plan_id: the plan's days apply"},
    {.name = "is_active", .type = FIELD_BOOL, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema template_schema = SCHEMA_OUT("SubscriptionTemplate", out_fields);

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "is_active", .type = FIELD_BOOL, .doc = "true: only active templates; false: only inactive templates"},
    {.name = "plan_id", .type = FIELD_I64, .doc = "Only templates of this plan"},
    {0},
};
/* clang-format on */

AWAITS static int templates_list(struct req *r)
{
    const struct query *query;
    int64_t plan_id = 0;

    TRY(req_query(r, &query));
    struct str active = query_get(query, "is_active");
    bool of_plan = num_parse_i64(query_get(query, "plan_id"), &plan_id);
    return reply_page(
        r,
        "id",
        SQL_TEMPLATES_LIST(.is_active = active.ptr ? some_bool(str_is(active, "true")) : NO_BOOL,
                           .plan_id = of_plan ? some_i64(plan_id) : NO_I64));
}

AWAITS static int reply_template(struct req *r, int status, int64_t id)
{
    struct rows found;

    TRY(sql_one(r, &found, SQL_TEMPLATE_GET(.id = id)));
    if (status == 201)
        reply_location(r, id);
    return reply_row(r, status, &found);
}

AWAITS static int templates_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_template(r, 200, id);
}

/* --- saving --- */

struct template
{
    struct str name, description;
    int64_t plan_id; /* 0 = the template has its own terms */
    struct terms terms;
    bool trial_set; /* trial_period_days has a value, also with a plan */
    bool is_active;
};

/* Merges a template with a plan: 400 when the body also gives terms, because the plan has them. */
static int merge_plan(struct req *r, const struct template_in *in, struct template *template)
{
    if (terms_given(&in->terms))
        return fail_field(
            r,
            "plan_id",
            PROBLEM_VALIDATION_FAILED,
            "the plan gives amount, currency, billing_interval and interval_count: leave them out");
    template->terms.amount_minor = -1;
    template->terms.currency = template->terms.billing_interval = STR_NONE;
    return 0;
}

static int templates_merge(struct req *r, const struct template_in *in, struct template *template)
{
    const struct in_i64 *trial = &in->terms.trial_period_days;

    if (in->name.set)
        template->name = in->name.value;
    if (in->description.set)
        template->description = in->description.value;
    if (in->is_active.set)
        template->is_active = in->is_active.value;
    if (in->plan_id.set)
        template->plan_id = in->plan_id.null ? 0 : in->plan_id.value;
    if (trial->set) {
        template->trial_set = !trial->null;
        template->terms.trial_period_days = trial->null ? 0 : trial->value;
    }
    return template->plan_id ? merge_plan(r, in, template)
                             : terms_merge(r, &in->terms, &template->terms);
}

/* Returns the template's own value; null when a plan gives the terms. */
static struct opt_i64 templates_own_or_null(const struct template *template, int64_t value)
{
    return template->plan_id ? NO_I64 : some_i64(value);
}

static struct opt_i64 templates_trial_days(const struct template *template)
{
    int64_t days = template->terms.trial_period_days;

    return template->trial_set ? some_i64(days) : templates_own_or_null(template, days);
}

static int templates_fail_save(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (rc == DB_FOREIGN_KEY)
        return fail_field(
            r, "plan_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a plan that does not exist");
    if (rc != DB_UNIQUE)
        return sql_check(r, rc);
    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(r, PROBLEM_UNIQUE_VIOLATION, STR("Another template has this name."), errors);
}

AWAITS static int lock_template(struct req *r, int64_t id, struct template *ret_template)
{
    struct rows found;

    TRY(sql_one(r, &found, SQL_TEMPLATE_LOCK(.id = id)));
    const struct sql_template_lock_row row = sql_template_lock_row(&found, 0);
    *ret_template = (struct template){
        .name = row.name,
        .description = row.description,
        .plan_id = row.plan_id.value,
        .is_active = row.is_active,
        .trial_set = row.trial_period_days.set,
        .terms =
            {
                .amount_minor = row.amount_minor.set ? row.amount_minor.value : -1,
                .currency = row.currency,
                .billing_interval = row.billing_interval,
                .interval_count = row.interval_count.set ? row.interval_count.value : 1,
                .trial_period_days = row.trial_period_days.value,
            },
    };
    return 0;
}

AWAITS static int templates_finish(struct req *r, const char *action, int64_t id)
{
    return gateway_commit(r, gateway_audit(r, action, "subscription_template", id, STR_NONE));
}

/* Adds the template when `id` is 0, otherwise changes that template. *ret_id: its id. */
AWAITS static int
templates_store(struct req *r, const struct template *template, int64_t id, int64_t *ret_id)
{
    struct rows saved;
    int rc = db_query(&r->task,
                      r->scope->db,
                      id ? &SQL_TEMPLATE_SAVE : &SQL_TEMPLATE_ADD,
                      SQL_TEMPLATE_ARGS(.id = id,
                                        .name = template->name,
                                        .description = template->description,
                                        .plan_id = some_id(template->plan_id),
                                        .amount_minor = templates_own_or_null(
                                            template, template->terms.amount_minor),
                                        .currency = template->terms.currency,
                                        .billing_interval = template->terms.billing_interval,
                                        .interval_count = templates_own_or_null(
                                            template, template->terms.interval_count),
                                        .trial_period_days = templates_trial_days(template),
                                        .is_active = template->is_active),
                      &saved);

    if (rc)
        return templates_fail_save(r, rc);
    *ret_id = sql_saved_template_row(&saved, 0).id;
    return 0;
}

AWAITS static int templates_create(struct req *r)
{
    struct template template = {.terms = TERMS_NONE, .is_active = true};
    struct template_in in;
    int64_t id = 0;

    TRY(req_json(r, &create_schema, &in));
    TRY(templates_merge(r, &in, &template));
    TRY(sql_begin(r));
    TRY(templates_store(r, &template, 0, &id));
    TRY(templates_finish(r, "subscription_templates.create", id));
    return reply_template(r, 201, id);
}

AWAITS static int templates_update(struct req *r)
{
    struct template template;
    struct template_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    TRY(sql_begin(r));
    TRY(lock_template(r, id, &template));
    TRY(templates_merge(r, &in, &template));
    TRY(templates_store(r, &template, id, &id));
    TRY(templates_finish(r, "subscription_templates.update", id));
    return reply_template(r, 200, id);
}

AWAITS static int templates_delete(struct req *r)
{
    struct template template;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(lock_template(r, id, &template));
    TRY(sql_exec(r, NULL, SQL_TEMPLATE_REMOVE(.id = id)));
    TRY(templates_finish(r, "subscription_templates.delete", id));
    return reply_empty(r, 204);
}

static const struct route templates_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscription-templates",
        .id = "subscription_templates_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .query = list_query,
        .success = {200, &template_schema, .list = true},
        .run = templates_list,
        .summary = "List subscription templates",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/subscription-templates",
        .id = "subscription_templates_create",
        .auth = AUTH_ADMIN,
        .body = &create_schema,
        .success = {201, &template_schema},
        .extra_statuses = {409},
        .run = templates_create,
        .summary = "Create a subscription template",
        .doc = "plan_id is required, or amount, currency and billing_interval.",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscription-templates/{id}",
        .id = "subscription_templates_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .success = {200, &template_schema},
        .extra_statuses = {404},
        .run = templates_get,
        .summary = "Read a subscription template",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/subscription-templates/{id}",
        .id = "subscription_templates_update",
        .auth = AUTH_ADMIN,
        .body = &update_schema,
        .success = {200, &template_schema},
        .extra_statuses = {404, 409},
        .run = templates_update,
        .guard = templates_get,
        .summary = "Change a subscription template",
        .doc = "Members left out keep their value. Subscriptions that were created from the "
               "template do not change.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/subscription-templates/{id}",
        .id = "subscription_templates_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = templates_delete,
        .guard = templates_get,
        .summary = "Delete a subscription template",
    },
};
ROUTES(templates, "Subscription plans");
