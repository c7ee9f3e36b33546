/* Calls to the app store's server API. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/codec.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "fetch/fetch.h"
#include "json/jr.h"
#include "payments/store.h"
#include "payments/store_private.h"

#define TOKEN_LIFE_S 300
#define TIMEOUT_MS   10000
enum { CLAIMS_BYTES_MAX = 4096, KEY_FILE_BYTES_MAX = 4096, STATUS_UNAUTHORIZED = 401 };

/* --- keys --- */

/* Returns the text between a PEM block's marks, without white space; STR_NONE = there is none. */
static struct str pem_body(struct arena *arena, struct str pem)
{
    static const char begin[] = "-----BEGIN PRIVATE KEY-----";
    static const char end[] = "-----END PRIVATE KEY-----";
    const char *from = memmem(pem.ptr, pem.len, begin, sizeof(begin) - 1);
    size_t len = 0;

    if (!from)
        return STR_NONE;
    from += sizeof(begin) - 1;
    const char *to = memmem(from, (size_t)(pem.ptr + pem.len - from), end, sizeof(end) - 1);
    if (!to)
        return STR_NONE;
    char *body = arena_alloc(arena, (size_t)(to - from) + 1);
    for (const char *at = from; at < to; at++)
        if (*at != '\n' && *at != '\r' && *at != ' ' && *at != '\t')
            body[len++] = *at;
    return (struct str){body, len};
}

int store_key_read(struct arena *arena, struct str pem, struct str *ret_der)
{
    struct ec_key *key;
    struct str der;

    if (pem.len == 0 || pem.len > KEY_FILE_BYTES_MAX)
        return STORE_KEY_BAD;
    struct str body = pem_body(arena, pem);
    if (body.len == 0 || !codec_b64_decode(arena, body, &der) || ec_key_from_pkcs8(der, &key) != 0)
        return STORE_KEY_BAD;
    *ret_der = ec_key_to_pkcs8(arena, key);
    ec_key_free(key);
    return 0;
}

/* --- tokens --- */

static bool is_key_id(struct str text)
{
    return text.len > 0 && ascii_has_only(text, ASCII_ALNUM, "-_");
}

/* Returns the bearer token of a call; STR_NONE when the settings hold no usable key. */
static struct str api_token(struct arena *arena, const struct store_account *account)
{
    int64_t now_s = clock_wall_ms() / 1000;
    struct ec_key *key;
    struct strbuf claims;
    struct jw w;

    if (!account->configured || !is_key_id(account->key_id) ||
        ec_key_from_pkcs8(account->private_key, &key) != 0)
        return STR_NONE;
    strbuf_init(&claims, arena, CLAIMS_BYTES_MAX);
    jw_init(&w, &claims);
    jw_obj(&w);
    JW_STR(&w, "iss", account->issuer_id);
    JW_I64(&w, "iat", now_s);
    JW_I64(&w, "exp", now_s + TOKEN_LIFE_S);
    JW_CSTR(&w, "aud", "appstoreconnect-v1");
    JW_STR(&w, "bid", account->bundle_id);
    jw_obj_end(&w);
    struct str token = claims.overflow
                           ? STR_NONE
                           : jws_sign_es256(arena, key, account->key_id, strbuf_view(&claims));
    ec_key_free(key);
    return token;
}

/* --- calls --- */

struct api_call {
    const struct store_account *account;
    bool sandbox;
    const char *method;
    struct str path;
};

static void store_api_describe(struct arena *arena,
                               const struct fetch_response *response,
                               struct str *ret_reason)
{
    struct jr_error error;
    json_t *body = NULL;

    if (response->status == STATUS_UNAUTHORIZED) {
        *ret_reason = STR("the store does not accept the key: issuer_id, key_id, private_key or "
                          "bundle_id is wrong, or the key belongs to another environment");
        return;
    }
    if (jr_parse_external(arena, response->body, &body, &error) == 0 &&
        jr_str(body, "errorMessage").len > 0)
        *ret_reason = arena_printf(arena,
                                   "the store answered: %.*s (%lld)",
                                   STR_ARG(jr_str(body, "errorMessage")),
                                   (long long)jr_i64(body, "errorCode", 0));
    else
        *ret_reason = arena_printf(arena, "the store answered with status %ld", response->status);
}

/* Calls the API. *ret_body is an object. */
AWAITS static int store_api_call(struct task *task,
                                 const struct api_call *api,
                                 const json_t **ret_body,
                                 struct str *ret_reason)
{
    const struct store_config *config = store_config();
    struct arena *arena = task->arena;
    struct str base = api->sandbox ? config->sandbox_url : config->production_url;
    struct str token = api_token(arena, api->account);
    struct fetch_response response;
    struct jr_error error;
    json_t *body;

    if (token.len == 0) {
        *ret_reason = STR("no usable key is stored: check key_id and private_key");
        return STORE_API_REFUSED;
    }
    const struct fetch_header headers[] = {
        {STR("Authorization"), arena_printf(arena, "Bearer %.*s", STR_ARG(token))},
        {STR("Accept"), STR("application/json")},
    };
    const struct fetch_request request = {
        .method = str_from(api->method),
        .url = arena_printf(arena, "%.*s%.*s", STR_ARG(base), STR_ARG(api->path)),
        .headers = headers,
        .nheaders = ARRAY_LEN(headers),
        .timeout_ms = TIMEOUT_MS,
        .purpose = FETCH_STORE,
    };
    int rc = fetch(task, &request, &response);
    if (rc < 0)
        return rc;
    if (rc > 0 || response.status == 429 || response.status >= 500) {
        *ret_reason = STR("the store cannot be reached or accepts no calls now; try again later");
        return STORE_API_DOWN;
    }
    if (response.status < 200 || response.status > 299) {
        store_api_describe(arena, &response, ret_reason);
        return response.status == 404 ? STORE_API_NOT_FOUND : STORE_API_REFUSED;
    }
    if (jr_parse_external(arena, response.body, &body, &error) != 0 || !json_is_object(body)) {
        *ret_reason = STR("the store's answer is not a JSON object");
        return STORE_API_DOWN;
    }
    *ret_body = body;
    return 0;
}

int store_request_test(struct task *task,
                       const struct store_account *account,
                       bool sandbox,
                       struct str *ret_token,
                       struct str *ret_reason)
{
    const struct api_call api = {
        .account = account,
        .sandbox = sandbox,
        .method = "POST",
        .path = STR("/inApps/v1/notifications/test"),
    };
    const json_t *body;
    int rc = store_api_call(task, &api, &body, ret_reason);

    /* 404 means here that no URL is registered for notifications. */
    if (rc == STORE_API_NOT_FOUND)
        return STORE_API_REFUSED;
    if (rc != 0)
        return rc;
    struct str token = jr_str(body, "testNotificationToken");
    if (token.len == 0) {
        *ret_reason = STR("the store's answer has no testNotificationToken");
        return STORE_API_DOWN;
    }
    *ret_token = token;
    return 0;
}

/* Returns the UUID of the notification that the store claims to have sent. It is only compared with
 * notifications that arrived, so its signature is not checked. */
static struct str payload_uuid(struct arena *arena, struct str token)
{
    struct jws jws;

    return jws_parse_limit(arena, token, STORE_BODY_BYTES_MAX, &jws) == 0
               ? jws_claim_str(&jws, "notificationUUID")
               : STR_NONE;
}

int store_test_outcome(struct task *task,
                       const struct store_account *account,
                       bool sandbox,
                       struct str token,
                       struct store_test *ret,
                       struct str *ret_reason)
{
    struct store_test test = {0};
    const struct api_call api = {
        .account = account,
        .sandbox = sandbox,
        .method = "GET",
        .path = arena_printf(task->arena,
                             "/inApps/v1/notifications/test/%.*s",
                             STR_ARG(codec_percent(task->arena, token))),
    };
    const json_t *body;
    int rc = store_api_call(task, &api, &body, ret_reason);

    if (rc != 0)
        return rc;
    const json_t *attempts = json_object_get(body, "sendAttempts");
    for (size_t i = 0; i < json_array_size(attempts) && i < STORE_ATTEMPTS_MAX; i++) {
        const json_t *attempt = json_array_get(attempts, i);
        test.attempts[test.attempt_count++] = (struct store_test_attempt){
            .at_ms = jr_i64(attempt, "attemptDate", 0),
            .result = jr_str(attempt, "sendAttemptResult"),
        };
    }
    test.uuid = payload_uuid(task->arena, jr_str(body, "signedPayload"));
    *ret = test;
    return 0;
}
