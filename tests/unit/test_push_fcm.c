/* FCM: service accounts as people upload them, the assertion as the token endpoint verifies it,
 * answers of both endpoints and of proxies before them, and missing answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "crypto/jws.h"
#include "fetch/fetch.h"
#include "json/jr.h"
#include "push/answer.h"
#include "push/fcm_account.h"

#define EMAIL "firebase-adminsdk@shop-1234.iam.gserviceaccount.com"
#define NOW   INT64_C(1760000000000)

static struct arena *arena;
static EVP_PKEY *rsa;

static int setup_all(void **state UNUSED)
{
    rsa = EVP_RSA_gen(2048);
    assert_non_null(rsa);
    return 0;
}

static int teardown_all(void **state UNUSED)
{
    EVP_PKEY_free(rsa);
    return 0;
}

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

/* --- accounts --- */

enum form { PKCS8, PKCS1, PUBLIC, ENCRYPTED };

static const char *pem_of(EVP_PKEY *pkey, enum form form)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    int done = 0;

    if (form == PKCS8)
        done = PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL);
    else if (form == PKCS1)
        done = PEM_write_bio_PrivateKey_traditional(bio, pkey, NULL, NULL, 0, NULL, NULL);
    else if (form == PUBLIC)
        done = PEM_write_bio_PUBKEY(bio, pkey);
    else
        done = PEM_write_bio_PKCS8PrivateKey(bio, pkey, EVP_aes_128_cbc(), "pass", 4, NULL, NULL);
    assert_int_equal(done, 1);
    long bytes = BIO_get_mem_data(bio, &text);
    const char *pem = arena_cstr(arena, (struct str){text, (size_t)bytes});
    BIO_free(bio);
    return pem;
}

/* Returns a key file as Google's console issues it, with one member replaced (NULL: left out). */
static struct str file_with(const char *name, const char *value)
{
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                             "type",
                             "service_account",
                             "project_id",
                             "shop-1234",
                             "private_key_id",
                             "0123456789abcdef",
                             "private_key",
                             pem_of(rsa, PKCS8),
                             "client_email",
                             EMAIL,
                             "client_id",
                             "1",
                             "token_uri",
                             "https://attacker.example/token");
    if (name && value)
        json_object_set_new(root, name, json_string(value));
    else if (name)
        json_object_del(root, name);
    struct str text = jr_print(arena, root);
    json_decref(root);
    return text;
}

static int read_with(const char *name, const char *value)
{
    struct fcm_account account;
    return fcm_account_read(arena, file_with(name, value), &account);
}

TEST_WITH(test_account, setup, teardown)
{
    struct fcm_account account;

    assert_int_equal(fcm_account_read(arena, file_with(NULL, NULL), &account), 0);
    assert_true(str_is(account.project_id, "shop-1234"));
    assert_true(str_is(account.client_email, EMAIL));
    assert_true(str_is(account.key_id, "0123456789abcdef"));
    assert_true(str_is(fcm_send_url(arena, STR("https://fcm.googleapis.com"), &account),
                       "https://fcm.googleapis.com/v1/projects/shop-1234/messages:send"));

    assert_int_equal(fcm_account_read(arena, file_with("private_key_id", NULL), &account), 0);
    assert_null(account.key_id.ptr);
    assert_int_equal(fcm_account_read(arena, file_with("private_key_id", "a\"b"), &account), 0);
    assert_null(account.key_id.ptr);
    assert_int_equal(read_with("project_id", "example.com:shop"), 0);
    assert_int_equal(read_with("private_key", pem_of(rsa, PKCS1)), 0);
}

TEST_WITH(test_wrong_accounts, setup, teardown)
{
    static const struct {
        const char *name, *value;
        int result;
    } cases[] = {
        {"type", NULL, FCM_ACCOUNT_BAD_TYPE},
        {"type", "authorized_user", FCM_ACCOUNT_BAD_TYPE},
        {"project_id", NULL, FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "", FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "..", FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "a/b", FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "a?b", FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "a%2fb", FCM_ACCOUNT_BAD_PROJECT},
        {"project_id", "a\r\nHost: b", FCM_ACCOUNT_BAD_PROJECT},
        {"client_email", NULL, FCM_ACCOUNT_BAD_EMAIL},
        {"client_email", "nobody", FCM_ACCOUNT_BAD_EMAIL},
        {"client_email", "@example.com", FCM_ACCOUNT_BAD_EMAIL},
        {"client_email", "a@", FCM_ACCOUNT_BAD_EMAIL},
        {"client_email", "a\"@example.com", FCM_ACCOUNT_BAD_EMAIL},
        {"private_key", NULL, FCM_ACCOUNT_BAD_KEY},
        {"private_key", "", FCM_ACCOUNT_BAD_KEY},
        {"private_key",
         "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
         FCM_ACCOUNT_BAD_KEY},
    };
    struct fcm_account ignored;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int result = read_with(cases[i].name, cases[i].value);
        if (result != cases[i].result)
            fail_msg("%s %s: %d", cases[i].name, cases[i].value, result);
        assert_true(strlen(fcm_account_reason(result)) > 0);
    }
    assert_int_equal(fcm_account_read(arena, STR("[]"), &ignored), FCM_ACCOUNT_BAD_JSON);
    assert_int_equal(fcm_account_read(arena, STR("{"), &ignored), FCM_ACCOUNT_BAD_JSON);
    assert_int_equal(fcm_account_read(arena, STR_NONE, &ignored), FCM_ACCOUNT_BAD_JSON);
    struct str large = arena_printf(arena, "\"%*d\"", FCM_ACCOUNT_BYTES_MAX, 1);
    assert_int_equal(fcm_account_read(arena, large, &ignored), FCM_ACCOUNT_BAD_JSON);
}

static int read_key(EVP_PKEY *pkey, enum form form)
{
    return read_with("private_key", pem_of(pkey, form));
}

TEST_WITH(test_wrong_keys, setup, teardown)
{
    assert_int_equal(read_key(rsa, PUBLIC), FCM_ACCOUNT_BAD_KEY);
    assert_int_equal(read_key(rsa, ENCRYPTED), FCM_ACCOUNT_BAD_KEY);
    EVP_PKEY *other = EVP_EC_gen("P-256");
    assert_int_equal(read_key(other, PKCS8), FCM_ACCOUNT_BAD_KEY);
    EVP_PKEY_free(other);
    other = EVP_RSA_gen(1024);
    assert_int_equal(read_key(other, PKCS8), FCM_ACCOUNT_BAD_KEY);
    EVP_PKEY_free(other);
}

/* A key made of the halves of two keys can be read, but its public half does not verify its
 * signatures. Such a key is refused. */
TEST_WITH(test_key_of_two_halves, setup, teardown)
{
    static const char *const names[] = {
        OSSL_PKEY_PARAM_RSA_N,
        OSSL_PKEY_PARAM_RSA_E,
        OSSL_PKEY_PARAM_RSA_D,
        OSSL_PKEY_PARAM_RSA_FACTOR1,
        OSSL_PKEY_PARAM_RSA_FACTOR2,
        OSSL_PKEY_PARAM_RSA_EXPONENT1,
        OSSL_PKEY_PARAM_RSA_EXPONENT2,
        OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    EVP_PKEY *second = EVP_RSA_gen(2048);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    BIGNUM *numbers[ARRAY_LEN(names)] = {NULL};
    EVP_PKEY *mixed = NULL;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(EVP_PKEY_get_bn_param(i >= 2 ? second : rsa, names[i], &numbers[i]), 1);
        assert_int_equal(OSSL_PARAM_BLD_push_BN(build, names[i], numbers[i]), 1);
    }
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &mixed, EVP_PKEY_KEYPAIR, params), 1);
    assert_int_equal(read_key(mixed, PKCS8), FCM_ACCOUNT_BAD_KEY);
    EVP_PKEY_free(mixed);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        BN_clear_free(numbers[i]);
    EVP_PKEY_free(second);
}

/* --- the grant --- */

static struct str public_number(const char *name)
{
    BIGNUM *n = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(rsa, name, &n), 1);
    size_t count = (size_t)BN_num_bytes(n);
    unsigned char *bytes = arena_alloc(arena, count);
    assert_int_equal(BN_bn2bin(n, bytes), (int)count);
    BN_free(n);
    return (struct str){(char *)bytes, count};
}

TEST_WITH(test_grant, setup, teardown)
{
    const struct str begin =
        STR("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
    struct fcm_account account;
    struct jws jws;
    int64_t iat = 0;
    int64_t exp = 0;

    assert_int_equal(fcm_account_read(arena, file_with(NULL, NULL), &account), 0);
    struct str form = fcm_grant_form(arena, &account, NOW);
    assert_true(str_starts(form, begin));
    struct str token = {form.ptr + begin.len, form.len - begin.len};
    assert_int_equal(jws_parse(arena, token, &jws), 0);
    assert_int_equal(jws_verify_rs256(&jws,
                                      public_number(OSSL_PKEY_PARAM_RSA_N),
                                      public_number(OSSL_PKEY_PARAM_RSA_E)),
                     0);
    assert_true(str_is(jws.kid, "0123456789abcdef"));
    assert_true(str_is(jws.typ, "JWT"));
    assert_true(str_is(jws_claim_str(&jws, "iss"), EMAIL));
    assert_true(str_is(jws_claim_str(&jws, "scope"), FCM_SCOPE));
    /* never the token_uri of the file */
    assert_true(str_is(jws_claim_str(&jws, "aud"), "https://oauth2.googleapis.com/token"));
    assert_true(jws_claim_i64(&jws, "iat", &iat) && jws_claim_i64(&jws, "exp", &exp));
    assert_int_equal(iat, NOW / 1000);
    assert_int_equal(exp, NOW / 1000 + 3600);
}

TEST_WITH(test_token, setup, teardown)
{
    struct fcm_token token;
    struct str code = STR_NONE;

    assert_int_equal(fcm_token_read(arena,
                                    200,
                                    STR("{\"access_token\":\"ya29.a-_~+/"
                                        "=\",\"expires_in\":3599,\"token_type\":\"Bearer\"}"),
                                    NOW,
                                    &token,
                                    &code),
                     0);
    assert_true(str_is(token.authorization, "Bearer ya29.a-_~+/="));
    assert_int_equal(token.expires_ms, NOW + 3599000);
    assert_int_equal(token.renew_ms, NOW + 3299000);
    assert_int_equal(
        fcm_token_read(arena, 200, STR("{\"access_token\":\"a\"}"), NOW, &token, &code), 0);
    assert_int_equal(token.expires_ms, NOW + 3599000);
}

TEST_WITH(test_wrong_tokens, setup, teardown)
{
    static const struct {
        long status;
        const char *body;
        int result;
        const char *code;
    } cases[] = {
        {400,
         "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT Signature.\"}",
         FCM_TOKEN_REFUSED,
         "invalid_grant"},
        {401, "{\"error\":\"unauthorized_client\"}", FCM_TOKEN_REFUSED, "unauthorized_client"},
        {403, "{\"error\":{\"code\":403}}", FCM_TOKEN_REFUSED, "HTTP_403"},
        {400, "{\"error\":\"<b>no word</b>\"}", FCM_TOKEN_REFUSED, "HTTP_400"},
        {404, "<html>not here</html>", FCM_TOKEN_UNAVAILABLE, "HTTP_404"},
        {429, "{\"error\":\"slow_down\"}", FCM_TOKEN_UNAVAILABLE, "slow_down"},
        {500, "", FCM_TOKEN_UNAVAILABLE, "HTTP_500"},
        {503, "<html>", FCM_TOKEN_UNAVAILABLE, "HTTP_503"},
        {302, "", FCM_TOKEN_UNAVAILABLE, "HTTP_302"},
        {200, "", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200, "<html>", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200, "{}", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200, "{\"access_token\":\"\"}", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200, "{\"access_token\":\"a\\r\\nX: y\"}", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200,
         "{\"access_token\":\"a\",\"token_type\":\"mac\"}",
         FCM_TOKEN_UNAVAILABLE,
         "INVALID_ANSWER"},
        {200, "{\"access_token\":\"a\",\"expires_in\":0}", FCM_TOKEN_UNAVAILABLE, "INVALID_ANSWER"},
        {200,
         "{\"access_token\":\"a\",\"expires_in\":-1}",
         FCM_TOKEN_UNAVAILABLE,
         "INVALID_ANSWER"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fcm_token token;
        struct str code = STR_NONE;
        int result =
            fcm_token_read(arena, cases[i].status, str_from(cases[i].body), NOW, &token, &code);
        if (result != cases[i].result || !str_is(code, cases[i].code))
            fail_msg("%ld %s: %d %.*s", cases[i].status, cases[i].body, result, STR_ARG(code));
    }
}

/* --- answers --- */

#define FCM_ERROR(status, code)                                                                    \
    "{\"error\":{\"code\":1,\"message\":\"m\",\"status\":\"" status "\",\"details\":[{\"@type\":"  \
    "\"type.googleapis.com/google.rpc.BadRequest\",\"errorCode\":\"NOT_THIS\"},{\"@type\":\"type." \
    "googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"" code "\"}]}}"
#define RPC_ERROR(status) "{\"error\":{\"code\":1,\"message\":\"m\",\"status\":\"" status "\"}}"

TEST_WITH(test_fcm_answers, setup, teardown)
{
    static const struct {
        long status;
        const char *body;
        enum push_outcome outcome;
        const char *code;
    } cases[] = {
        {200, "{\"name\":\"projects/p/messages/0:15\"}", PUSH_DELIVERED, ""},
        {200, "{}", PUSH_FAILED, "INVALID_ANSWER"},
        {200, "<html>a captive portal</html>", PUSH_FAILED, "INVALID_ANSWER"},
        {404, FCM_ERROR("NOT_FOUND", "UNREGISTERED"), PUSH_UNREGISTERED, "UNREGISTERED"},
        {404, RPC_ERROR("NOT_FOUND"), PUSH_UNREGISTERED, "NOT_FOUND"},
        {404, "<html>404</html>", PUSH_FAILED, "HTTP_404"},
        {404, "", PUSH_FAILED, "HTTP_404"},
        {400, FCM_ERROR("INVALID_ARGUMENT", "INVALID_ARGUMENT"), PUSH_FAILED, "INVALID_ARGUMENT"},
        {400, FCM_ERROR("INVALID_ARGUMENT", "UNREGISTERED"), PUSH_FAILED, "UNREGISTERED"},
        {403,
         FCM_ERROR("PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
         PUSH_FAILED,
         "SENDER_ID_MISMATCH"},
        {403, RPC_ERROR("PERMISSION_DENIED"), PUSH_FAILED, "PERMISSION_DENIED"},
        {401,
         FCM_ERROR("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
         PUSH_FAILED,
         "THIRD_PARTY_AUTH_ERROR"},
        {401, RPC_ERROR("UNAUTHENTICATED"), PUSH_RENEW, "UNAUTHENTICATED"},
        {401, "<html>", PUSH_RENEW, "HTTP_401"},
        {429, FCM_ERROR("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), PUSH_RETRY, "QUOTA_EXCEEDED"},
        {429, "", PUSH_RETRY, "HTTP_429"},
        {500, RPC_ERROR("INTERNAL"), PUSH_RETRY, "INTERNAL"},
        {502, "<html>bad gateway</html>", PUSH_RETRY, "HTTP_502"},
        {503, FCM_ERROR("UNAVAILABLE", "UNAVAILABLE"), PUSH_RETRY, "UNAVAILABLE"},
        {503, RPC_ERROR("<script>"), PUSH_RETRY, "HTTP_503"},
        {302, "", PUSH_FAILED, "HTTP_302"},
        {418, "{\"error\":[]}", PUSH_FAILED, "HTTP_418"},
        {418, "{\"error\":{\"details\":{\"a\":1}}}", PUSH_FAILED, "HTTP_418"},
        {418, "{\"error\":{\"details\":[1,null,{}]}}", PUSH_FAILED, "HTTP_418"},
        {418, "[]", PUSH_FAILED, "HTTP_418"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct push_answer answer =
            fcm_answer_read(arena, cases[i].status, STR_NONE, str_from(cases[i].body), NOW);
        if (answer.outcome != cases[i].outcome || !str_is(answer.code, cases[i].code))
            fail_msg("%ld %s: %d %.*s",
                     cases[i].status,
                     cases[i].body,
                     (int)answer.outcome,
                     STR_ARG(answer.code));
        assert_int_equal(answer.retry_after_ms, -1);
        assert_int_equal(answer.is_rate_limited, cases[i].status == 429);
    }
}

TEST_WITH(test_detail_cut, setup, teardown)
{
    char text[PUSH_DETAIL_MAX + 64];

    int head = snprintf(text, sizeof(text), "{\"error\":{\"message\":\"");
    memset(text + head, 'a', PUSH_DETAIL_MAX - 1);
    strcpy(text + head + PUSH_DETAIL_MAX - 1,
           "\xc3\xa9 and more\"}}"); /* fits: the buffer is 64 more */
    struct push_answer answer = fcm_answer_read(arena, 500, STR_NONE, str_from(text), NOW);
    assert_int_equal(answer.detail.len, PUSH_DETAIL_MAX - 1); /* not cut inside of a character */
}

TEST_WITH(test_webpush_answers, setup, teardown)
{
    static const struct {
        long status;
        enum push_outcome outcome;
        const char *code;
    } cases[] = {
        {201, PUSH_DELIVERED, ""},
        {200, PUSH_DELIVERED, ""},
        {202, PUSH_DELIVERED, ""},
        {404, PUSH_UNREGISTERED, "HTTP_404"},
        {410, PUSH_UNREGISTERED, "HTTP_410"},
        {400, PUSH_FAILED, "HTTP_400"},
        {401, PUSH_FAILED, "HTTP_401"},
        {403, PUSH_FAILED, "HTTP_403"},
        {413, PUSH_FAILED, "HTTP_413"},
        {301, PUSH_FAILED, "HTTP_301"},
        {307, PUSH_FAILED, "HTTP_307"},
        {429, PUSH_RETRY, "HTTP_429"},
        {500, PUSH_RETRY, "HTTP_500"},
        {503, PUSH_RETRY, "HTTP_503"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct push_answer answer = webpush_answer_read(arena, cases[i].status, STR("7"), NOW);
        assert_int_equal(answer.outcome, cases[i].outcome);
        assert_true(str_is(answer.code, cases[i].code));
        assert_int_equal(answer.retry_after_ms, 7000);
    }
}

TEST_WITH(test_no_answer, setup, teardown)
{
    assert_int_equal(push_answer_from_fetch(FETCH_TIMEOUT).outcome, PUSH_RETRY);
    assert_int_equal(push_answer_from_fetch(FETCH_UNREACHABLE).outcome, PUSH_RETRY);
    assert_int_equal(push_answer_from_fetch(FETCH_BUSY).outcome, PUSH_RETRY);
    assert_int_equal(push_answer_from_fetch(FETCH_REFUSED).outcome, PUSH_FAILED);
    /* an unreachable address and a forbidden address have the same code */
    assert_true(str_eq(push_answer_from_fetch(FETCH_REFUSED).code,
                       push_answer_from_fetch(FETCH_UNREACHABLE).code));
    assert_int_equal(push_answer_from_fetch(FETCH_TOO_LARGE).outcome, PUSH_FAILED);
    assert_int_equal(push_answer_from_fetch(FETCH_BAD_URL).outcome, PUSH_FAILED);
    assert_int_equal(push_answer_from_fetch(FETCH_BAD_HEADER).outcome, PUSH_FAILED);
}

TEST_WITH(test_retry_after, setup, teardown)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"120", 120000},
        {" 5 ", 5000},
        {"86401", 86400000},
        {"9223372036854775807", 86400000},
        {"-1", -1},
        {"1.5", -1},
        {"", -1},
        {"soon", -1},
        {"Thu, 09 Oct 2025 08:54:20 GMT", 60000}, /* NOW is 08:53:20 */
        {"Thu, 09 Oct 2025 08:53:20 GMT", 0},
        {"Thu, 09 Oct 2025 08:00:00 GMT", 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 86400000},
        {"Thu, 32 Oct 2025 08:54:20 GMT", -1},
        {"Thu, 09 Okt 2025 08:54:20 GMT", -1},
        {"Thu, 09 Oct 2025 08:54:20 CET", -1},
        {"Thursday, 09-Oct-25 08:54:20 GMT", -1},
        {"Thu, 09 Oct 2025 08:54\n20 GMT", -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = push_retry_after_ms(str_from(cases[i].text), NOW);
        if (ms != cases[i].ms)
            fail_msg("%s: %lld", cases[i].text, (long long)ms);
    }
    assert_int_equal(push_retry_after_ms(STR_NONE, NOW), -1);
}

TEST_WITH(test_backoff, setup, teardown)
{
    const struct push_backoff backoff = {.first_ms = 1000, .over_rate_ms = 60000};
    struct push_answer answer = {.outcome = PUSH_RETRY, .retry_after_ms = -1};

    assert_int_equal(push_retry_ms(&answer, &backoff, 1, 0), 1000);
    assert_int_equal(push_retry_ms(&answer, &backoff, 2, 0), 2000);
    assert_int_equal(push_retry_ms(&answer, &backoff, 3, 0), 4000);
    assert_int_equal(push_retry_ms(&answer, &backoff, 1, 500), 1500); /* at most half more */
    assert_int_equal(push_retry_ms(&answer, &backoff, 1, 501), 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        int64_t ms = push_retry_ms(&answer, &backoff, 3, i * UINT64_C(0x9e3779b97f4a7c15));
        assert_in_range(ms, 4000, 6000);
    }
    answer.is_rate_limited = true;
    assert_int_equal(push_retry_ms(&answer, &backoff, 1, 0), 60000);
    answer.retry_after_ms = 7000;
    assert_int_equal(push_retry_ms(&answer, &backoff, 1, 0), 7000);
    answer.retry_after_ms = 0;
    assert_int_equal(push_retry_ms(&answer, &backoff, 3, UINT64_MAX), 0);
    answer.retry_after_ms = -1;
    assert_true(push_retry_ms(&answer, &backoff, UINT32_MAX, UINT64_MAX) > 0);
}

GROUP(setup_all, teardown_all)
