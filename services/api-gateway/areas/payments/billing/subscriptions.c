/* /subscriptions: reading subscriptions, and the users to whom a subscription gives access. */
#include "areas/payments/billing/subscriptions.h"

#include "base/num.h"
#include "http/query.h"
#include "keyset.h"
#include "subscriptions_sql.h"

#define USERS_MAX 1000

/* clang-format off */
static const char *const statuses[] = {"incomplete", "incomplete_expired", "trialing", "active", "past_due", "unpaid",
                                       "paused", "canceled", NULL};
static const char *const providers[] = {"processor", "iap_store", NULL};

#define SUBSCRIPTION_MEMBERS                                                                       \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
    {.name = "plan_id", .type = FIELD_I64, .required = true, .nullable = true},                    \
    {.name = "subscriber_id", .type = FIELD_I64, .required = true, .nullable = true},              \
    {.name = "customer_email", .type = FIELD_STR, .required = true, .nullable = true},             \
    {.name = "name", .type = FIELD_STR, .required = true, .nullable = true},                       \
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},                \
    {.name = "status", .type = FIELD_STR, .required = true, .values = statuses},                   \
    {.name = "provider", .type = FIELD_STR, .required = true, .values = providers},                \
    {.name = "provider_subscription_id", .type = FIELD_STR, .required = true, .nullable = true},   \
    {.name = "amount", .type = FIELD_F64, .required = true, .nullable = true},                     \
    {.name = "amount_minor", .type = FIELD_I64, .required = true, .nullable = true},               \
    {.name = "currency", .type = FIELD_STR, .required = true, .nullable = true},                   \
    {.name = "billing_interval", .type = FIELD_STR, .required = true, .nullable = true},           \
    {.name = "interval_count", .type = FIELD_I64, .required = true, .nullable = true},             \
    {.name = "trial_length_days", .type = FIELD_I64, .required = true},                            \
    {.name = "current_period_start", .type = FIELD_TIME, .required = true, .nullable = true},      \
    {.name = "current_period_end", .type = FIELD_TIME, .required = true, .nullable = true},        \
    {.name = "trial_end", .type = FIELD_TIME, .required = true, .nullable = true},                 \
    {.name = "cancel_at_period_end", .type = FIELD_BOOL, .required = true},                        \
    {.name = "canceled_at", .type = FIELD_TIME, .required = true, .nullable = true},               \
    {.name = "ended_at", .type = FIELD_TIME, .required = true, .nullable = true},                  \
    {.name = "store_status", .type = FIELD_STR, .required = true, .nullable = true,                \
     .doc = "Status in the app store: in_grace, billing_retry, expired, revoked, ..."},            \
    {.name = "store_product_id", .type = FIELD_STR, .required = true, .nullable = true},           \
    {.name = "environment", .type = FIELD_STR, .required = true, .nullable = true,                 \
     .doc = "App store: Production or Sandbox"},                                                   \
    {.name = "metadata", .type = FIELD_MAP, .required = true},                                     \
    {.name = "created_at", .type = FIELD_TIME, .required = true},                                  \
    {.name = "updated_at", .type = FIELD_TIME, .required = true}
static const struct field listed_fields[] = {SUBSCRIPTION_MEMBERS};

static const struct field history_fields[] = {
    {.name = "at", .type = FIELD_TIME, .required = true, .doc = "Time of the change, by the sender's clock"},
    {.name = "from", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "to", .type = FIELD_STR, .required = true},
    {.name = "event_id", .type = FIELD_STR, .required = true, .nullable = true,
     .doc = "Received event that reported the change; null when no event did"},
    {.name = "detail", .type = FIELD_MAP, .required = true},
};
static const struct schema history_schema = SCHEMA_OUT("SubscriptionHistory", history_fields);
static const struct field out_fields[] = {
    SUBSCRIPTION_MEMBERS,
    {.name = "history", .type = FIELD_LIST, .required = true, .sub = &history_schema,
     .doc = "The newest 200 changes, oldest first"},
    {.name = "checkout_url", .type = FIELD_STR, .nullable = true,
     .doc = "Only in the answer to POST: where the subscriber pays; null when a saved method was charged"},
};

static const struct query_param list_query[] = {
    KEYSET_QUERY,
    {.name = "status", .type = FIELD_STR, .values = statuses, .doc = "Only subscriptions in this state"},
    {.name = "plan_id", .type = FIELD_I64, .doc = "Only subscriptions to this plan"},
    {.name = "subscriber_id", .type = FIELD_I64, .doc = "Only subscriptions of this user"},
    {.name = "provider", .type = FIELD_STR, .values = providers},
    {0},
};
/* clang-format on */
const struct schema subscription_listed_schema = SCHEMA_OUT("SubscriptionListed", listed_fields);
const struct schema subscription_schema = SCHEMA_OUT("Subscription", out_fields);

/* --- the row --- */

int subscription_load(struct req *r, int64_t id, struct subscription *ret_subscription)
{
    struct rows found;

    TRY(sql_one(r, &found, SQL_SUBSCRIPTION_LOAD(.id = id)));
    const struct sql_subscription_load_row row = sql_subscription_load_row(&found, 0);
    *ret_subscription = (struct subscription){
        .id = id,
        .plan_id = row.plan_id.value,
        .subscriber_id = row.subscriber_id.value,
        .provider = row.provider,
        .provider_id = row.provider_id,
        .session_id = row.session_id,
        .customer = row.customer,
        .status = status_read(STATUS_OF_SUBSCRIPTION, row.status),
        .cancel_at_period_end = row.cancel_at_period_end,
        .call_key = row.call_key,
        .call_path = row.call_path,
        .call_form = row.call_form,
        .failure_code = row.failure_code,
        .failure_message = row.failure_message,
    };
    return 0;
}

bool subscription_has_ended(const struct subscription *subscription)
{
    return subscription->status == STATUS_SUBSCRIPTION_CANCELED ||
           subscription->status == STATUS_SUBSCRIPTION_INCOMPLETE_EXPIRED;
}

int subscription_check_changeable(struct req *r, const struct subscription *subscription)
{
    if (str_is(subscription->provider, "iap_store"))
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The app store manages this subscription: its subscriber can change it only "
                    "there, in the settings of the device.");
    if (subscription_has_ended(subscription))
        return fail(r,
                    PROBLEM_PAYMENT_STATE,
                    "The subscription has ended: it is %.*s.",
                    STR_ARG(status_text(subscription->status)));
    return 0;
}

int subscription_reply(struct req *r, int status, int64_t id, struct str checkout_url)
{
    struct rows found;
    struct jw w;

    TRY(sql_one(r, &found, SQL_SUBSCRIPTION_GET(.id = id)));
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &found, 0);
    if (status == 201)
        JW_STR_OR_NULL(&w, "checkout_url", checkout_url);
    jw_obj_end(&w);
    return reply_json(r, status);
}

/* --- reading --- */

static const struct keyset_list subscriptions_keyset = {
    &SQL_SUBSCRIPTIONS_DESC, &SQL_SUBSCRIPTIONS_ASC, &SQL_SUBSCRIPTIONS_COUNT, "id"};

static struct opt_i64 subscriptions_number_of(const struct query *query, const char *name)
{
    int64_t number;

    return num_parse_i64(query_get(query, name), &number) ? some_i64(number) : NO_I64;
}

AWAITS static int subscriptions_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return keyset_reply(
        r,
        &subscriptions_keyset,
        SQL_SUBSCRIPTIONS_ARGS(.status = query_get(query, "status"),
                               .plan_id = subscriptions_number_of(query, "plan_id"),
                               .subscriber_id = subscriptions_number_of(query, "subscriber_id"),
                               .provider = query_get(query, "provider")));
}

AWAITS static int subscriptions_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return subscription_reply(r, 200, id, STR_NONE);
}

/* --- users --- */

struct users_in {
    struct in_ids user_ids;
};
static const struct field users_fields[] = {
    {.name = "user_ids",
     FIELD_AT(struct users_in, user_ids),
     .type = FIELD_IDS,
     .required = true,
     .max = USERS_MAX,
     .doc = "The complete list of users: users who are not in the list lose access",
     .example = "[8,9]"},
};
static const struct schema users_schema =
    SCHEMA("SubscriptionUsers", struct users_in, users_fields);

static const struct field user_fields[] = {
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "email", .type = FIELD_STR, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true, .doc = "When the user was added"},
};
static const struct schema user_schema = SCHEMA_OUT("SubscriptionUser", user_fields);

static const struct field set_fields[] = {
    {.name = "user_ids", .type = FIELD_IDS, .required = true, .example = "[8,9]"},
};
static const struct schema set_schema = SCHEMA_OUT("SubscriptionUsersSet", set_fields);

AWAITS static int subscriptions_users_list(struct req *r)
{
    struct subscription subscription;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(subscription_load(r, id, &subscription));
    return reply_page(r, "user_id", SQL_SUBSCRIPTION_USERS_LIST(.subscription_id = id));
}

AWAITS static int subscription_users_set(struct req *r)
{
    struct subscription subscription;
    struct users_in in;
    int64_t id;
    struct jw w;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &users_schema, &in));
    TRY(subscription_load(r, id, &subscription));
    struct db_call calls[] = {
        db_call(SQL_SUBSCRIPTION_USERS_DROP(.subscription_id = id,
                                            .user_ids =
                                                sql_i64s(in.user_ids.items, in.user_ids.count))),
        db_call(
            SQL_SUBSCRIPTION_USERS_ADD(.subscription_id = id,
                                       .user_id = sql_i64s(in.user_ids.items, in.user_ids.count))),
        gateway_audit(r, "subscriptions.set_users", "subscription", id, STR_NONE),
    };
    int rc = db_batch(&r->task, r->scope->db, calls, ARRAY_LEN(calls), NULL);
    if (rc == DB_FOREIGN_KEY)
        return fail_field(
            r, "user_ids", PROBLEM_FOREIGN_KEY_VIOLATION, "names a user that does not exist");
    TRY(sql_check(r, rc));
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "user_ids");
    jw_arr(&w);
    for (size_t i = 0; i < in.user_ids.count; i++)
        jw_i64(&w, in.user_ids.items[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int subscription_user_guard(struct req *r)
{
    struct rows known;
    int64_t user_id;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "user_id", &user_id));
    return sql_one(r, &known, SQL_SUBSCRIPTION_USER(.subscription_id = id, .user_id = user_id));
}

AWAITS static int subscription_users_remove(struct req *r)
{
    struct rows removed;
    int64_t user_id;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "user_id", &user_id));
    TRY(sql_begin(r));
    TRY(sql_one(
        r, &removed, SQL_SUBSCRIPTION_USER_REMOVE(.subscription_id = id, .user_id = user_id)));
    TRY(gateway_commit(
        r, gateway_audit(r, "subscriptions.remove_user", "subscription", id, STR_NONE)));
    return reply_empty(r, 204);
}

static const struct route subscriptions_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscriptions",
        .id = "subscriptions_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .query = list_query,
        .success = {200, &subscription_listed_schema, .list = true},
        .run = subscriptions_list,
        .summary = "List subscriptions, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}",
        .id = "subscriptions_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .success = {200, &subscription_schema},
        .extra_statuses = {404},
        .run = subscriptions_get,
        .summary = "Read a subscription with its history",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}/users",
        .id = "subscriptions_users_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PAYMENTS_READ,
        .query = page_query,
        .success = {200, &user_schema, .list = true},
        .extra_statuses = {404},
        .run = subscriptions_users_list,
        .summary = "List the users, other than the subscriber, to whom a subscription gives access",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}/users",
        .id = "subscriptions_users_set",
        .auth = AUTH_ADMIN,
        .body = &users_schema,
        .success = {200, &set_schema},
        .extra_statuses = {404},
        .run = subscription_users_set,
        .guard = subscriptions_get,
        .summary = "Set the users, other than the subscriber, to whom a subscription gives access",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/subscriptions/{id}/users/{user_id}",
        .id = "subscriptions_users_remove",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = subscription_users_remove,
        .guard = subscription_user_guard,
        .summary = "Remove a user from a subscription",
    },
};
ROUTES(subscriptions, "Subscriptions");
