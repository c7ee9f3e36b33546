/* Access of users: /subscriptions/me/entitlement and /subscriptions/by-user. */
#include "payments/entitlement.h"

#include "areas/payments/pay_common.h"
#include "entitlements_sql.h"
#include "payments/store.h"

/* clang-format off */
static const struct field entitlement_fields[] = {
    {.name = "has_access", .type = FIELD_BOOL, .required = true},
    {.name = "provider", .type = FIELD_STR, .required = true, .nullable = true,
     .doc = "processor_web or iap_store; null without any subscription", .example = "\"processor_web\""},
    {.name = "status", .type = FIELD_STR, .required = true,
     .doc = "trialing, active, past_due, in_grace, canceled, ...; none without any subscription",
     .example = "\"trialing\""},
    {.name = "expires_at", .type = FIELD_TIME, .required = true, .nullable = true,
     .doc = "When access ends unless it is renewed: the end of the trial, of the paid period, or of the grace days"},
    {.name = "trial_length_days", .type = FIELD_I64, .required = true, .example = "14"},
    {.name = "subscription_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "plan_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "app_account_token", .type = FIELD_STR, .required = true, .nullable = true,
     .doc = "What the app passes to the app store when this user buys; null while no app store is configured"},
};
/* clang-format on */
static const struct schema entitlement_schema = SCHEMA_OUT("Entitlement", entitlement_fields);

static void entitlements_put_id(struct jw *w, const char *name, int64_t id)
{
    jw_lit(w, name);
    if (id)
        jw_i64(w, id);
    else
        jw_null(w);
}

AWAITS static int reply_entitlement(struct req *r, int64_t user_id)
{
    char token[STORE_ACCOUNT_TOKEN_BYTES + 1] = "";
    const struct payment_settings *settings;
    struct entitlement best;
    struct jw w;

    TRY(pay_settings_get(r, false, &settings));
    TRY(sql_check(r, entitlement_get(&r->task, r->scope->project, settings, user_id, &best)));
    if (settings->store.configured)
        store_account_token(user_id, token);
    w = resp_json(r);
    jw_obj(&w);
    JW_BOOL(&w, "has_access", best.has_access);
    JW_STR_OR_NULL(&w, "provider", best.provider);
    JW_STR(&w, "status", best.status);
    jw_lit(&w, "expires_at");
    if (best.expires_ms)
        jw_time(&w, best.expires_ms);
    else
        jw_null(&w);
    JW_I64(&w, "trial_length_days", best.trial_length_days);
    entitlements_put_id(&w, "subscription_id", best.subscription_id);
    entitlements_put_id(&w, "plan_id", best.plan_id);
    JW_STR_OR_NULL(&w, "app_account_token", str_from(token));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* An API key reads the access of the user who created the key. */
AWAITS static int entitlements_get_own(struct req *r)
{
    return reply_entitlement(r, r->scope->caller->user_id);
}

AWAITS static int entitlements_get_by_user(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "userId", &id));
    TRY(sql_one(r, &user, SQL_ENTITLEMENT_USER(.id = id)));
    return reply_entitlement(r, id);
}

#define RULE_DOC                                                                                   \
    "The best of the user's own and shared subscriptions with the processor and the app store: "   \
    "a subscription with access first, then the subscription that ends last. trialing and active " \
    "give access, "                                                                                \
    "and so do the grace days after a failed payment (setting grace_days, or the date that the "   \
    "store reports). "                                                                             \
    "A subscription in the app store gives access only "                                           \
    "until its end."

static const struct route entitlements_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscriptions/me/entitlement",
        .id = "subscriptions_my_entitlement",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .success = {200, &entitlement_schema},
        .run = entitlements_get_own,
        .summary = "Read the caller's access",
        .doc = RULE_DOC " An API key reads the access of the user who created the key.",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/subscriptions/by-user/{userId}",
        .id = "subscriptions_by_user",
        .auth = AUTH_ADMIN,
        .success = {200, &entitlement_schema},
        .extra_statuses = {404},
        .run = entitlements_get_by_user,
        .summary = "Read a user's access",
        .doc = RULE_DOC,
    },
};
ROUTES(entitlements, "Subscriptions");
