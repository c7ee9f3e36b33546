/* /integrations/svcpay/iap-store: test notifications of the app store, and the token with which the
 * app assigns a purchase to a user. */
#include "areas/payments/pay_common.h"
#include "base/ascii.h"
#include "iap_store_sql.h"
#include "payments/store.h"

#define TOKEN_MAX 128

static const char *const environment_names[] = {"production", "sandbox", NULL};

/* --- test notifications --- */

/* clang-format off */
static const struct query_param environment_query[] = {
    {.name = "environment", .type = FIELD_STR, .values = environment_names,
     .doc = "Which server of the app store to use: production or sandbox; required"},
    {.name = NULL},
};
/* clang-format on */

static const struct field sent_fields[] = {
    {.name = "test_notification_token",
     .type = FIELD_STR,
     .required = true,
     .doc = "Token of the notification; GET .../iap-store/test-notification/{token} shows its "
            "outcome"},
    {.name = "environment", .type = FIELD_STR, .required = true, .values = environment_names},
};
static const struct schema sent_schema = SCHEMA_OUT("StoreTestNotification", sent_fields);

static const char *const test_states[] = {"pending", "received", "delivered", "failed", NULL};
static const struct field attempt_fields[] = {
    {.name = "at", .type = FIELD_TIME, .required = true},
    {.name = "result", .type = FIELD_STR, .required = true, .example = "\"SUCCESS\""},
};
static const struct schema attempt_schema = SCHEMA_OUT("StoreTestAttempt", attempt_fields);
static const struct field outcome_fields[] = {
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = test_states,
     .doc =
         "received: the notification arrived here and was accepted; delivered: the store reports "
         "that it sent the notification, which was not accepted here; failed: the store could not "
         "send the notification; pending: it is not sent yet"},
    {.name = "environment", .type = FIELD_STR, .required = true, .values = environment_names},
    {.name = "received_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "attempts", .type = FIELD_LIST, .required = true, .sub = &attempt_schema},
};
static const struct schema outcome_schema = SCHEMA_OUT("StoreTestOutcome", outcome_fields);

/* Checks the query and reads the credentials for a call to the store. They stay valid until the
 * request ends. */
AWAITS static int
store_call_begin(struct req *r, const struct store_account **ret_account, bool *ret_sandbox)
{
    const struct payment_settings *settings;
    const struct query *query;

    TRY(req_query(r, &query));
    struct str environment = query_get(query, "environment");
    if (!environment.len)
        return fail_field(r, "environment", PROBLEM_REQUIRED, "must be production or sandbox");
    TRY(pay_settings_get(r, false, &settings));
    if (!settings->store.configured)
        return fail(r,
                    PROBLEM_PAYMENTS_NOT_CONFIGURED,
                    "This project has no app store credentials: store them with PUT "
                    "/iap-store/credentials.");
    *ret_account = &settings->store;
    *ret_sandbox = str_is(environment, "sandbox");
    return 0;
}

static int fail_store_call(struct req *r, int rc, struct str reason)
{
    if (rc < 0)
        return rc;
    if (rc == STORE_API_DOWN)
        return fail(r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The app store: %.*s.", STR_ARG(reason));
    return fail(r, PROBLEM_PROVIDER_ERROR, "The app store: %.*s.", STR_ARG(reason));
}

AWAITS static int store_test(struct req *r)
{
    const struct store_account *account = NULL;
    struct str reason = STR_NONE;
    struct str token;
    bool sandbox = false;

    TRY(store_call_begin(r, &account, &sandbox));
    int rc = store_request_test(&r->task, account, sandbox, &token, &reason);
    if (rc != 0)
        return fail_store_call(r, rc, reason);
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "test_notification_token", token);
    JW_CSTR(&w, "environment", environment_names[sandbox]);
    jw_obj_end(&w);
    return reply_json(r, 202);
}

/* *ret_ms: when the notification was received and accepted; 0 = it was not. */
AWAITS static int
find_received_at(struct req *r, bool sandbox, const struct store_test *test, int64_t *ret_ms)
{
    struct rows rows;

    *ret_ms = 0;
    if (!test->uuid.len)
        return 0;
    struct str event_id = arena_printf(
        r->task.arena, "%s:%.*s", sandbox ? "Sandbox" : "Production", STR_ARG(test->uuid));
    TRY(sql_all(r, &rows, SQL_IAP_EVENT_RECEIVED(.event_id = event_id)));
    if (rows.count)
        *ret_ms = sql_iap_event_received_row(&rows, 0).received_at;
    return 0;
}

static const char *test_state(const struct store_test *test, int64_t received_ms)
{
    if (received_ms)
        return "received";
    for (size_t i = 0; i < test->attempt_count; i++)
        if (str_is(test->attempts[i].result, "SUCCESS"))
            return "delivered";
    return test->attempt_count ? "failed" : "pending";
}

/* The store's tokens consist of a UUID and a time. A token with other characters is refused,
 * because it becomes part of a URL. */
static bool is_test_token(struct str token)
{
    return token.len > 0 && token.len <= TOKEN_MAX && ascii_has_only(token, ASCII_ALNUM, "-_");
}

/* Accepts any token: only the store knows its test notifications. */
AWAITS static int store_guard(struct req *r UNUSED)
{
    return 0;
}

AWAITS static int store_outcome(struct req *r)
{
    const struct store_account *account = NULL;
    struct str token = req_param(r, "token");
    struct store_test test = {0};
    struct str reason = STR_NONE;
    int64_t received_ms = 0;
    bool sandbox = false;

    TRY(store_call_begin(r, &account, &sandbox));
    if (!is_test_token(token))
        return fail(r, PROBLEM_NOT_FOUND, "The app store has no such test notification.");
    int rc = store_test_outcome(&r->task, account, sandbox, token, &test, &reason);
    if (rc == STORE_API_NOT_FOUND)
        return fail(r,
                    PROBLEM_NOT_FOUND,
                    "The app store has no such test notification, or has not sent it yet.");
    if (rc != 0)
        return fail_store_call(r, rc, reason);
    TRY(find_received_at(r, sandbox, &test, &received_ms));
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "status", test_state(&test, received_ms));
    JW_CSTR(&w, "environment", environment_names[sandbox]);
    jw_lit(&w, "received_at");
    if (received_ms)
        jw_time(&w, received_ms);
    else
        jw_null(&w);
    jw_lit(&w, "attempts");
    jw_arr(&w);
    for (size_t i = 0; i < test.attempt_count; i++) {
        jw_obj(&w);
        jw_lit(&w, "at");
        jw_time(&w, test.attempts[i].at_ms);
        JW_STR(&w, "result", test.attempts[i].result);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* --- token of the caller --- */

static const struct field token_fields[] = {
    {.name = "app_account_token",
     .type = FIELD_STR,
     .required = true,
     .doc = "What the app passes as appAccountToken when the user buys",
     .example = "\"00000000-0000-4000-8000-00000000000c\""},
};
static const struct schema token_schema = SCHEMA_OUT("StoreAccountToken", token_fields);

AWAITS static int store_token(struct req *r)
{
    char token[STORE_ACCOUNT_TOKEN_BYTES + 1];
    struct jw w = resp_json(r);

    store_account_token(r->scope->caller->user_id, token);
    jw_obj(&w);
    JW_CSTR(&w, "app_account_token", token);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route iap_store_notification_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/iap-store/test-notification",
        .id = "iap_store_test",
        .auth = AUTH_ADMIN,
        .query = environment_query,
        .success = {202, &sent_schema},
        .extra_statuses = {409, 502, 503},
        .run = store_test,
        .summary = "Ask the app store to send a test notification",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/iap-store/test-notification/{token}",
        .id = "iap_store_test_outcome",
        .auth = AUTH_ADMIN,
        .query = environment_query,
        .success = {200, &outcome_schema},
        .extra_statuses = {404, 409, 502, 503},
        .run = store_outcome,
        .guard = store_guard,
        .summary = "Read the outcome of a test notification",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/iap-store/account-token",
        .id = "iap_store_account_token",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .success = {200, &token_schema},
        .run = store_token,
        .summary = "Read the token that assigns purchases in the app store to the caller",
        .doc = "An API key reads the token of the user who created the key.",
    },
};
ROUTES(iap_store_notification, "Payments");
