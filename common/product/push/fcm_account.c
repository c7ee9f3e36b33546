/* Service accounts for FCM and their access tokens. */
#include "push/fcm_account.h"

#include "base/ascii.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "crypto/jws.h"
#include "crypto/rsa_key.h"
#include "json/jr.h"
#include "json/jw.h"
#include "push/answer.h"

enum {
    PROJECT_ID_MAX = 63,
    EMAIL_MAX = 254,
    KEY_ID_MAX = 128,
    CLAIMS_MAX = 8192,
    TOKEN_MAX = 4096,
    TOKEN_S_MAX = 86400,
};

/* --- the file --- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Returns true for 1 to `max` characters that are letters, digits or in `others`. */
static bool has_only_characters(struct str text, const char *others, size_t max)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_letter_or_digit(text.ptr[i]) && !ascii_is_in(text.ptr[i], others))
            return false;
    return text.len > 0 && text.len <= max;
}

/* The id becomes a segment of a URL path. "example.com:shop" is an old form that still exists. */
static bool project_id_ok(struct str id)
{
    return has_only_characters(id, "-.:", PROJECT_ID_MAX) && is_letter_or_digit(id.ptr[0]);
}

static bool fcm_email_ok(struct str email)
{
    const char *at = email.len > 0 ? memchr(email.ptr, '@', email.len) : NULL;
    return has_only_characters(email, "@-._+", EMAIL_MAX) && at && at > email.ptr &&
           at < email.ptr + email.len - 1;
}

int fcm_account_read(struct arena *arena, struct str json, struct fcm_account *ret_account)
{
    struct jr_error ignored;
    struct rsa_key *key = NULL;
    json_t *root = NULL;

    if (json.len > FCM_ACCOUNT_BYTES_MAX || jr_parse(arena, json, &root, &ignored) != 0 ||
        !json_is_object(root))
        return FCM_ACCOUNT_BAD_JSON;
    struct fcm_account account = {
        .project_id = jr_str(root, "project_id"),
        .client_email = jr_str(root, "client_email"),
        .key_id = jr_str(root, "private_key_id"),
    };
    if (!str_is(jr_str(root, "type"), "service_account"))
        return FCM_ACCOUNT_BAD_TYPE;
    if (!project_id_ok(account.project_id))
        return FCM_ACCOUNT_BAD_PROJECT;
    if (!fcm_email_ok(account.client_email))
        return FCM_ACCOUNT_BAD_EMAIL;
    if (rsa_key_from_pem(jr_str(root, "private_key"), &key) != 0)
        return FCM_ACCOUNT_BAD_KEY;
    arena_defer(arena, rsa_key_free_deferred, key);
    account.key = key;
    if (!has_only_characters(
            account.key_id, "-_.+", KEY_ID_MAX)) /* the key id is optional in a token */
        account.key_id = STR_NONE;
    *ret_account = account;
    return 0;
}

const char *fcm_account_reason(int result)
{
    switch (result) {
    case FCM_ACCOUNT_BAD_JSON:
        return "must be the JSON of a service account";
    case FCM_ACCOUNT_BAD_TYPE:
        return "type must be service_account";
    case FCM_ACCOUNT_BAD_PROJECT:
        return "project_id is missing or is not a project id";
    case FCM_ACCOUNT_BAD_EMAIL:
        return "client_email is missing or is not an email address";
    case FCM_ACCOUNT_BAD_KEY:
        return "private_key is missing or is not an RSA private key in PEM";
    default:
        return "";
    }
}

struct str fcm_send_url(struct arena *arena, struct str base, const struct fcm_account *account)
{
    return arena_printf(
        arena, "%.*s/v1/projects/%.*s/messages:send", STR_ARG(base), STR_ARG(account->project_id));
}

/* --- the grant --- */

struct str fcm_grant_form(struct arena *arena, const struct fcm_account *account, int64_t now_ms)
{
    struct strbuf claims;
    struct jw w;

    strbuf_init(&claims, arena, CLAIMS_MAX);
    jw_init(&w, &claims);
    jw_obj(&w);
    JW_STR(&w, "iss", account->client_email);
    JW_STR(&w, "scope", STR(FCM_SCOPE));
    JW_STR(&w, "aud", STR(FCM_TOKEN_URL));
    JW_I64(&w, "iat", now_ms / 1000);
    JW_I64(&w, "exp", now_ms / 1000 + FCM_GRANT_S);
    jw_obj_end(&w);
    MUST(jw_is_complete(&w));
    struct str jwt = jws_sign_rs256(arena, account->key, account->key_id, strbuf_view(&claims));
    /* Only the colons of the grant type need an escape in a form. */
    return arena_printf(
        arena,
        "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%.*s",
        STR_ARG(jwt));
}

/* The token goes into a header unchanged (RFC 6750 section 2.1). */
static bool fcm_token_ok(struct str token)
{
    return has_only_characters(token, "-._~+/=", TOKEN_MAX);
}

static int
fcm_token_failure(struct arena *arena, long status, const json_t *root, struct str *ret_code)
{
    *ret_code = push_code(arena, jr_str(root, "error"), status);
    bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
    /* An answer without JSON, such as a 404 in HTML, may be another server's: try later. */
    return refused && json_is_object(root) ? FCM_TOKEN_REFUSED : FCM_TOKEN_UNAVAILABLE;
}

int fcm_token_read(struct arena *arena,
                   long status,
                   struct str body,
                   int64_t now_ms,
                   struct fcm_token *ret_token,
                   struct str *ret_code)
{
    struct jr_error ignored;
    json_t *root = NULL;

    if (jr_parse_external(arena, body, &root, &ignored) != 0)
        root = NULL;
    if (status != 200)
        return fcm_token_failure(arena, status, root, ret_code);
    struct str token = jr_str(root, "access_token");
    struct str type = jr_str(root, "token_type");
    int64_t seconds = jr_i64(root, "expires_in", FCM_GRANT_S - 1);
    if (!fcm_token_ok(token) || (type.ptr && !str_ieq(type, STR("Bearer"))) || seconds < 1) {
        *ret_code = STR("INVALID_ANSWER");
        return FCM_TOKEN_UNAVAILABLE;
    }
    if (seconds > TOKEN_S_MAX)
        seconds = TOKEN_S_MAX;
    ret_token->authorization = arena_printf(arena, "Bearer %.*s", STR_ARG(token));
    ret_token->expires_ms = now_ms + seconds * 1000;
    ret_token->renew_ms = ret_token->expires_ms - (int64_t)FCM_RENEW_S * 1000;
    return 0;
}
