/* Notifications of the app store as they arrive: signatures, owner, age. */
#include <string.h>

#include "base/ascii.h"
#include "json/jr.h"
#include "payments/store.h"
#include "payments/store_private.h"

enum { WORD_BYTES_MAX = 64 };
#define FUTURE_MS (5LL * 60 * 1000)

/* Context of reading one notification. */
struct notification_reader {
    struct arena *arena;
    const struct store_account *account;
    int64_t now_ms;
    struct str environment;
    struct str *ret_reason;
};

static int notification_refuse(struct notification_reader *reading, int rc, const char *reason)
{
    *reading->ret_reason = str_from(reason);
    return rc;
}

/* Types, subtypes and ids: letters, digits, '_' and '-'. */
static bool notification_is_word(struct str text)
{
    return text.len > 0 && text.len <= WORD_BYTES_MAX && ascii_has_only(text, ASCII_ALNUM, "_-");
}

/* --- owner --- */

static int environment_check(struct notification_reader *reading, struct str environment)
{
    const struct store_account *account = reading->account;
    const unsigned bit = str_is(environment, "Production") ? STORE_PRODUCTION
                         : str_is(environment, "Sandbox")  ? STORE_SANDBOX
                                                           : 0U;

    if (!(account->environments & bit))
        return notification_refuse(
            reading, STORE_OTHER_APP, "the environment of the notification is not enabled");
    if (reading->environment.len > 0 && !str_eq(reading->environment, environment))
        return notification_refuse(reading, STORE_OTHER_APP, "the notification mixes environments");
    reading->environment = environment;
    return 0;
}

/* Checks a part that names the app. The app's id is given in production only. */
static int app_check(struct notification_reader *reading, const json_t *object)
{
    const struct store_account *account = reading->account;

    if (!str_eq(jr_str(object, "bundleId"), account->bundle_id))
        return notification_refuse(reading, STORE_OTHER_APP, "bundleId is another app's");
    if (str_is(reading->environment, "Production") &&
        (account->app_apple_id == 0 || jr_i64(object, "appAppleId", 0) != account->app_apple_id))
        return notification_refuse(
            reading,
            STORE_OTHER_APP,
            "appAppleId is another app's, or app_apple_id is not configured");
    return 0;
}

/* Each part of a notification names its app and environment; at least one part is present. */
static int parts_check(struct notification_reader *reading, const json_t *claims)
{
    static const char *const parts[] = {"data", "summary", "appData", "externalPurchaseToken"};
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const json_t *part = json_object_get(claims, parts[i]);
        if (!part)
            continue;
        struct str environment = jr_str(part, "environment");
        if (strcmp(parts[i], "externalPurchaseToken") == 0)
            environment = str_starts(jr_str(part, "externalPurchaseId"), STR("SANDBOX"))
                              ? STR("Sandbox")
                              : STR("Production");
        TRY(environment_check(reading, environment));
        TRY(app_check(reading, part));
        any = true;
    }
    return any ? 0 : notification_refuse(reading, STORE_INVALID, "the notification names no app");
}

/* --- signed parts --- */

/* A kind of signed text, and what it must say about its owner. */
struct signed_part {
    const char *member;
    const char *environment; /* member that names the environment */
    bool bundle, app; /* bundle: the part names the bundle; app: it also names the app's id */
};
static const struct signed_part transaction_info = {
    "signedTransactionInfo", "environment", true, false};
static const struct signed_part renewal_info = {"signedRenewalInfo", "environment", false, false};
static const struct signed_part app_transaction = {
    "signedAppTransactionInfo", "receiptType", true, true};

/* *ret_claims stays NULL when the part has no such text. */
static int signed_part_open(struct notification_reader *reading,
                            const json_t *part,
                            const struct signed_part *inner,
                            const json_t **ret_claims)
{
    const json_t *token = json_object_get(part, inner->member);
    const json_t *claims;

    if (!token)
        return 0;
    if (!json_is_string(token))
        return notification_refuse(reading, STORE_INVALID, "a signed part is not a string");
    TRY(store_jws_open(reading->arena,
                       (struct str){json_string_value(token), json_string_length(token)},
                       reading->now_ms,
                       &claims,
                       reading->ret_reason));
    if (!str_eq(jr_str(claims, inner->environment), reading->environment))
        return notification_refuse(
            reading, STORE_OTHER_APP, "a signed part is of another environment");
    if (inner->app)
        TRY(app_check(reading, claims));
    else if (inner->bundle && !str_eq(jr_str(claims, "bundleId"), reading->account->bundle_id))
        return notification_refuse(
            reading, STORE_OTHER_APP, "bundleId of a signed part is another app's");
    *ret_claims = claims;
    return 0;
}

/* Adds the opened claims, or null. */
static void notification_put(json_t *document, const char *name, const json_t *claims)
{
    (void)json_object_set_new(document, name, claims ? json_deep_copy(claims) : json_null());
}

/* Returns the claims without the signed texts, which the document holds opened. */
static json_t *claims_without_signed(const json_t *claims)
{
    static const char *const parts[] = {"data", "appData"};
    json_t *notification = json_deep_copy(claims);

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        json_t *part = json_object_get(notification, parts[i]);
        (void)json_object_del(part, transaction_info.member);
        (void)json_object_del(part, renewal_info.member);
        (void)json_object_del(part, app_transaction.member);
    }
    return notification;
}

static int
document_open(struct notification_reader *reading, const json_t *claims, struct str *ret_document)
{
    const json_t *data = json_object_get(claims, "data");
    const json_t *transaction = NULL;
    const json_t *renewal = NULL;
    const json_t *app = NULL;

    TRY(signed_part_open(reading, data, &transaction_info, &transaction));
    TRY(signed_part_open(reading, data, &renewal_info, &renewal));
    TRY(signed_part_open(reading, json_object_get(claims, "appData"), &app_transaction, &app));
    json_t *document = jr_attach(reading->arena, json_object());
    (void)json_object_set_new(document, "notification", claims_without_signed(claims));
    notification_put(document, "transaction", transaction);
    notification_put(document, "renewal", renewal);
    notification_put(document, "app_transaction", app);
    *ret_document = jr_print(reading->arena, document);
    return 0;
}

/* --- the whole --- */

static int body_token(struct notification_reader *reading, struct str body, struct str *ret_token)
{
    struct jr_error error;
    json_t *root;

    if (body.len > STORE_BODY_BYTES_MAX || jr_parse(reading->arena, body, &root, &error) != 0)
        return notification_refuse(reading, STORE_INVALID, "the body is not JSON or is too long");
    *ret_token = jr_str(root, "signedPayload");
    if (ret_token->len == 0)
        return notification_refuse(reading, STORE_INVALID, "signedPayload is missing");
    return 0;
}

int store_notification_read(struct arena *arena,
                            struct str body,
                            const struct store_account *account,
                            int64_t now_ms,
                            struct store_notification *ret,
                            struct str *ret_reason)
{
    struct notification_reader reading = {
        .arena = arena, .account = account, .now_ms = now_ms, .ret_reason = ret_reason};
    struct store_notification read = {0};
    const json_t *claims;
    struct str token;

    if (!account->configured)
        return notification_refuse(&reading, STORE_OTHER_APP, "the app store is not configured");
    TRY(body_token(&reading, body, &token));
    TRY(store_jws_open(arena, token, now_ms, &claims, ret_reason));
    read.type = jr_str(claims, "notificationType");
    read.subtype = jr_str(claims, "subtype");
    read.uuid = jr_str(claims, "notificationUUID");
    read.signed_ms = jr_i64(claims, "signedDate", 0);
    if (!notification_is_word(read.type) || !notification_is_word(read.uuid) ||
        (read.subtype.len > 0 && !notification_is_word(read.subtype)) || read.signed_ms <= 0)
        return notification_refuse(
            &reading,
            STORE_INVALID,
            "notificationType, subtype, notificationUUID or signedDate is missing or malformed");
    TRY(parts_check(&reading, claims));
    if (read.signed_ms > now_ms + FUTURE_MS || now_ms - read.signed_ms > store_config()->max_age_ms)
        return notification_refuse(
            &reading, STORE_STALE, "signedDate is too long ago, or in the future");
    TRY(document_open(&reading, claims, &read.document));
    read.environment = reading.environment;
    read.event_id =
        arena_printf(arena, "%.*s:%.*s", STR_ARG(reading.environment), STR_ARG(read.uuid));
    *ret = read;
    return 0;
}
