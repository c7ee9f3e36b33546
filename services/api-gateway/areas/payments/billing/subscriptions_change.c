/* Changing a subscription: cancelling, resuming, another plan, another subscriber. */
#include "areas/payments/billing/plans.h"
#include "areas/payments/billing/subscriptions.h"
#include "base/clock.h"
#include "json/jr.h"
#include "subscriptions_write_sql.h"

#define CHANGE_TIMEOUT_MS 60000

/* A change of a subscription. Its calls are harmless to repeat. */
struct subscription_change {
    struct req *r;
    struct call call;
    struct subscription subscription;
    const json_t *object; /* the processor's answer; NULL = no call was needed */
    int64_t plan_id;      /* the new plan; 0 = unchanged */
    bool subscriber_set;
    int64_t subscriber_id;  /* 0 = none */
    const json_t *metadata; /* NULL = unchanged */
};

/* --- calls --- */

AWAITS static int change_request(struct req *r,
                                 struct subscription_change *change,
                                 const char *method,
                                 struct str path,
                                 const struct form *form)
{
    struct processor_request request = {.method = method, .path = path};

    if (form)
        request.form = form_text(form);
    if (str_is(str_from(method), "POST"))
        request.key = plan_random_key(r, "subscription-change", change->subscription.id);
    return processor_call(&r->task, change->call.settings, &request, &change->call.reply);
}

static struct str subscription_path(struct req *r, const struct subscription_change *change)
{
    return processor_path(r->task.arena, "/v1/subscriptions", change->subscription.provider_id, "");
}

/* A change is harmless to repeat, so its call is not stored in the row. If its outcome is unknown,
 * the timer of payments-webhook reads the subscription from the processor. */
AWAITS static int fail_call(struct req *r, const struct subscription_change *change, int rc)
{
    if (rc < 0)
        return rc;
    if (rc == PROCESSOR_OUTCOME_UNKNOWN)
        TRY(sql_exec(r, NULL, SQL_SUBSCRIPTION_IN_DOUBT(.id = change->subscription.id)));
    return pay_fail(r, rc, &change->call.reply);
}

/* --- writing the change --- */

AWAITS static int change_write_members(const struct subscription_change *change, struct db *tx)
{
    const struct subscription *subscription = &change->subscription;
    struct task *task = change->call.task;

    if (change->plan_id)
        TRY(db_query(task,
                     tx,
                     SQL_SUBSCRIPTION_MOVE(.id = subscription->id, .plan_id = change->plan_id),
                     NULL));
    if (!change->subscriber_set && !change->metadata)
        return 0;
    return db_query(task,
                    tx,
                    SQL_SUBSCRIPTION_SET(.id = subscription->id,
                                         .subscriber_set = change->subscriber_set,
                                         .subscriber_id = some_id(change->subscriber_id),
                                         .metadata = change->metadata
                                                         ? jr_print(task->arena, change->metadata)
                                                         : STR_NONE),
                    NULL);
}

/* co: Writes the processor's answer, the members that only we have, and the audit row in one
 * transaction. The processor's answer is written even if the subscription has changed since the
 * call: If-Match was checked before the call. */
AWAITS static int change_write(struct call *call, struct db *tx, void *arg)
{
    const struct subscription_change *change = arg;

    if (!change->object)
        TRY(sql_run_begin_hook(change->r, tx));
    else
        TRY(call_apply(call, tx, change->object, clock_wall_ms()));
    TRY(change_write_members(change, tx));
    if (!change->subscriber_set)
        return 0;
    struct db_call audit = gateway_audit(
        change->r, "subscriptions.set_subscriber", "subscription", call->id, STR_NONE);
    return db_batch(call->task, tx, &audit, 1, NULL);
}

AWAITS static int change_finish(struct req *r, struct subscription_change *change)
{
    int rc = call_transact(&change->call, change_write, change);

    if (rc == 0)
        r->scope->begin_hook = NULL;
    if (rc == DB_FOREIGN_KEY)
        return fail_field(
            r, "subscriber_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a user that does not exist");
    if (rc == APPLY_OTHER_PROJECT || rc == APPLY_MALFORMED || rc == APPLY_LATER)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The processor's answer cannot be read.");
    if (rc > 0 && rc < RESULT_FIRST)
        return rc; /* the begin hook refused the request: rc is the status of the answer */
    if (rc > 0)
        return fail_db(r, rc);
    if (rc < 0)
        return rc;
    return subscription_reply(r, 200, change->call.id, STR_NONE);
}

/* Finishes the change with the object in the processor's reply. */
AWAITS static int change_finish_with_reply(struct req *r, struct subscription_change *change)
{
    change->object = change->call.reply.body;
    return change_finish(r, change);
}

/* --- cancelling and resuming --- */

struct cancel_in {
    struct in_bool at_period_end;
};
static const struct field cancel_fields[] = {
    {.name = "at_period_end",
     FIELD_AT(struct cancel_in, at_period_end),
     .type = FIELD_BOOL,
     .doc = "true (default): the subscription ends with the paid period; false: it ends now"},
};
static const struct schema cancel_schema =
    SCHEMA("SubscriptionCancel", struct cancel_in, cancel_fields);

AWAITS static int change_load(struct req *r, struct subscription_change *change)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    change->r = r;
    change->call = pay_call_begin(r, &call_subscription, NULL, id);
    return subscription_load(r, id, &change->subscription);
}

AWAITS static int subscription_guard(struct req *r)
{
    struct subscription_change *change = ARENA_NEW(r->task.arena, change);

    return change_load(r, change);
}

/* Cancels a subscription that has not begun, by expiring its checkout. */
AWAITS static int cancel_checkout(struct req *r, struct subscription_change *change)
{
    const struct subscription *subscription = &change->subscription;
    int rc;

    if (!subscription->session_id.len)
        return fail(
            r, PROBLEM_PAYMENT_STATE, "The subscription is still being created; try again later.");
    rc = change_request(
        r,
        change,
        "POST",
        processor_path(r->task.arena, "/v1/checkout/sessions", subscription->session_id, "/expire"),
        NULL);
    if (rc == PROCESSOR_INVALID)
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The checkout of the subscription has just ended; read the subscription and "
                    "try again.");
    if (rc)
        return fail_call(r, change, rc);
    return change_finish_with_reply(r, change);
}

/* Cancels immediately. PROCESSOR_NOT_FOUND: the subscription has already ended at the processor, so
 * read its final state. */
AWAITS static int cancel_now(struct req *r, struct subscription_change *change)
{
    int rc = change_request(r, change, "DELETE", subscription_path(r, change), NULL);

    if (rc == PROCESSOR_NOT_FOUND)
        rc = change_request(r, change, "GET", subscription_path(r, change), NULL);
    if (rc)
        return fail_call(r, change, rc);
    return change_finish_with_reply(r, change);
}

AWAITS static int set_period_end(struct req *r, struct subscription_change *change, bool cancel)
{
    struct form form;
    int rc;

    form_init(&form, r->task.arena);
    form_bool(&form, "cancel_at_period_end", cancel);
    rc = change_request(r, change, "POST", subscription_path(r, change), &form);
    if (rc)
        return fail_call(r, change, rc);
    return change_finish_with_reply(r, change);
}

AWAITS static int subscriptions_cancel(struct req *r)
{
    struct subscription_change *change = ARENA_NEW(r->task.arena, change);
    const struct subscription *subscription = &change->subscription;
    struct cancel_in in;

    TRY(req_json(r, &cancel_schema, &in));
    TRY(change_load(r, change));
    TRY(subscription_check_changeable(r, subscription));
    TRY(pay_settings_get(r, true, &change->call.settings));
    if (!subscription->provider_id.len)
        return cancel_checkout(r, change);
    bool now = in.at_period_end.set && !in.at_period_end.value;
    /* An incomplete subscription has no paid period to run to the end. */
    if (now || subscription->status == STATUS_SUBSCRIPTION_INCOMPLETE)
        return cancel_now(r, change);
    return set_period_end(r, change, true);
}

AWAITS static int subscriptions_resume(struct req *r)
{
    struct subscription_change *change = ARENA_NEW(r->task.arena, change);

    TRY(change_load(r, change));
    TRY(subscription_check_changeable(r, &change->subscription));
    if (!change->subscription.cancel_at_period_end)
        return fail(
            r,
            PROBLEM_PAYMENT_STATE,
            "The subscription has no cancellation to undo: its cancel_at_period_end is false.");
    TRY(pay_settings_get(r, true, &change->call.settings));
    return set_period_end(r, change, false);
}

/* --- changing --- */

struct update_in {
    struct in_i64 plan_id, subscriber_id;
    struct in_json metadata;
};
static const struct field update_fields[] = {
    {.name = "plan_id",
     FIELD_AT(struct update_in, plan_id),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Moves the subscription to this plan; the processor settles the difference for the "
            "current period"},
    {.name = "subscriber_id",
     FIELD_AT(struct update_in, subscriber_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "The user who has access; administrators only"},
    {.name = "metadata",
     FIELD_AT(struct update_in, metadata),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Replaces all metadata. At most 40 texts, numbers or booleans of at most 500 "
            "characters, which are stored as texts. Names have 1 to 40 characters and no square "
            "brackets; names that the service sets, such as project_id, are refused"},
};
static const struct schema update_schema =
    SCHEMA("SubscriptionUpdate", struct update_in, update_fields);

static bool can_move(const struct subscription *subscription)
{
    return subscription->provider_id.len && (subscription->status == STATUS_SUBSCRIPTION_TRIALING ||
                                             subscription->status == STATUS_SUBSCRIPTION_ACTIVE ||
                                             subscription->status == STATUS_SUBSCRIPTION_PAST_DUE);
}

AWAITS static int check_plan(struct req *r, int64_t id)
{
    struct rows plan;

    TRY(sql_all(r, &plan, SQL_SUBSCRIPTION_PLAN(.id = id)));
    if (!plan.count)
        return fail_field(
            r, "plan_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a plan that does not exist");
    if (!sql_subscription_plan_row(&plan, 0).is_active)
        return fail(r, PROBLEM_CONFLICT, "The plan is no longer offered: its is_active is false.");
    return 0;
}

/* Returns the id of the subscription's only item; STR_NONE when it cannot be read. */
static struct str item_of(const json_t *object)
{
    return jr_str(json_array_get(json_object_get(json_object_get(object, "items"), "data"), 0),
                  "id");
}

AWAITS static int move_to_plan(struct req *r, struct subscription_change *change)
{
    struct str price;
    struct str product;
    struct str item;
    struct form form;
    int rc;

    TRY(check_plan(r, change->plan_id));
    TRY(pay_settings_get(r, true, &change->call.settings));
    TRY(plan_price(r, change->call.settings, change->plan_id, &price, &product));
    if (!price.len)
        return fail(r,
                    PROBLEM_DEPENDENCY_UNAVAILABLE,
                    "The processor does not have this plan yet; try again.");
    rc = change_request(r, change, "GET", subscription_path(r, change), NULL);
    if (rc)
        return fail_call(r, change, rc);
    item = item_of(change->call.reply.body);
    if (!item.len)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The processor's answer cannot be read.");
    form_init(&form, r->task.arena);
    form_str(&form, "items[0][id]", item);
    form_str(&form, "items[0][price]", price);
    form_i64(&form, "metadata[plan_id]", change->plan_id);
    rc = change_request(r, change, "POST", subscription_path(r, change), &form);
    if (rc)
        return fail_call(r, change, rc);
    change->object = change->call.reply.body;
    return 0;
}

static int
check_update(struct req *r, const struct update_in *in, struct subscription_change *change)
{
    bool store = str_is(change->subscription.provider, "iap_store");

    if (in->subscriber_id.set && !caller_is_admin(r->scope->caller))
        return fail(r, PROBLEM_ADMIN_REQUIRED, "Only an administrator can change subscriber_id.");
    if (in->plan_id.set || (in->metadata.set && store))
        TRY(subscription_check_changeable(r, &change->subscription));
    if (in->plan_id.set && !can_move(&change->subscription))
        return fail(
            r,
            PROBLEM_PAYMENT_STATE,
            "The subscription is %.*s: only a running subscription can be moved to another plan.",
            STR_ARG(status_text(change->subscription.status)));
    return 0;
}

AWAITS static int subscriptions_update(struct req *r)
{
    struct subscription_change *change = ARENA_NEW(r->task.arena, change);
    struct update_in in;
    json_t *metadata;
    struct rows user;

    TRY(req_json(r, &update_schema, &in));
    TRY(change_load(r, change));
    TRY(check_update(r, &in, change));
    if (in.metadata.set) {
        TRY(pay_user_metadata(r, in.metadata.null ? NULL : in.metadata.value, &metadata));
        change->metadata = metadata;
    }
    change->subscriber_set = in.subscriber_id.set;
    change->subscriber_id =
        in.subscriber_id.set && !in.subscriber_id.null ? in.subscriber_id.value : 0;
    if (change->subscriber_id) {
        TRY(sql_all(r, &user, SQL_SUBSCRIPTION_USER(.id = change->subscriber_id)));
        if (!user.count)
            return fail_field(r,
                              "subscriber_id",
                              PROBLEM_FOREIGN_KEY_VIOLATION,
                              "names a user that does not exist");
    }
    if (in.plan_id.set && in.plan_id.value != change->subscription.plan_id) {
        change->plan_id = in.plan_id.value;
        TRY(move_to_plan(r, change));
    }
    return change_finish(r, change);
}

static const struct route subscriptions_change_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}/cancel",
        .id = "subscriptions_cancel",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &cancel_schema,
        .body_optional = true,
        .success = {200, &subscription_schema},
        .extra_statuses = {404, 409, 502},
        .run = subscriptions_cancel,
        .guard = subscription_guard,
        .timeout_ms = CHANGE_TIMEOUT_MS,
        .summary = "Cancel a subscription",
        .doc = "The subscription ends with the paid period, or now. If its checkout is still open, "
               "the checkout is closed. 409 payment_state when the subscription has ended, or when "
               "the app store manages it.",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}/resume",
        .id = "subscriptions_resume",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .success = {200, &subscription_schema},
        .extra_statuses = {404, 409, 502},
        .run = subscriptions_resume,
        .guard = subscription_guard,
        .timeout_ms = CHANGE_TIMEOUT_MS,
        .summary = "Undo a cancellation at the end of the period",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}",
        .id = "subscriptions_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_UPDATE,
        .body = &update_schema,
        .success = {200, &subscription_schema},
        .extra_statuses = {402, 404, 409, 502},
        .run = subscriptions_update,
        .guard = subscription_guard,
        .timeout_ms = CHANGE_TIMEOUT_MS,
        .summary = "Move a subscription to another plan, change its subscriber or its metadata",
        .doc = "Only administrators can change subscriber_id. 409 for plan_id and metadata of a "
               "subscription that the app store manages.",
    },
};
ROUTES(subscriptions_change, "Subscriptions");
