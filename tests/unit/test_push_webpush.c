/* Web push: the message of RFC 8291 byte for byte, messages that are decrypted with the
 * receiver's key, limits at both ends, and subscriptions as browsers and attackers send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include <openssl/evp.h>

#include "base/codec.h"
#include "crypto/digest.h"
#include "push/webpush_encrypt.h"

#define P256DH                                                                                     \
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
#define AUTH     "BTBZMqHH6r4Tts7J_aSIgg"
#define ENDPOINT "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"
#define SUBSCRIPTION(endpoint, p256dh, auth)                                                       \
    "{\"endpoint\":\"" endpoint "\",\"expirationTime\":null,\"keys\":{\"p256dh\":\"" p256dh        \
    "\",\"auth\":\"" auth "\"}}"

static struct arena *arena;
static struct webpush_body body, one, two;

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

static struct str unb64(const char *text)
{
    struct str bytes;
    assert_true(codec_b64url_decode(arena, str_from(text), &bytes));
    return bytes;
}

/* Returns a key with this private number. The RFC has bare numbers, but a key is read from PKCS
 * #8. */
static struct ec_key *private_key(const char *number)
{
    static const uint8_t head[] = {0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07,
                                   0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
                                   0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04,
                                   0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20};
    char der[sizeof(head) + EC_COORDINATE_BYTES];
    struct ec_key *key = NULL;

    memcpy(der, head, sizeof(head));
    memcpy(der + sizeof(head), unb64(number).ptr, EC_COORDINATE_BYTES);
    assert_int_equal(ec_key_from_pkcs8((struct str){der, sizeof(der)}, &key), 0);
    arena_defer(arena, ec_key_free_deferred, key);
    return key;
}

static struct webpush_subscription subscription_of(const char *json)
{
    struct webpush_subscription found;
    assert_int_equal(webpush_subscription_read(arena, str_from(json), &found), 0);
    return found;
}

static struct webpush_subscription rfc8291(void)
{
    return subscription_of(SUBSCRIPTION(ENDPOINT, P256DH, AUTH));
}

static struct str bytes_of(const void *bytes, size_t count)
{
    return (struct str){bytes, count};
}

/* Decrypts a message as a browser does, with OpenSSL's functions and HMACs in the order of the
 * RFC. */
static struct str
decrypted(const struct ec_key *own, const uint8_t *auth, const struct webpush_body *message)
{
    uint8_t secret[32], prk[32], keying[32], key[32], nonce[32];
    struct ec_key *sender = NULL;
    struct str point = bytes_of(message->bytes + 21, 65);
    int written = 0;

    assert_int_equal(ec_key_from_point(point, &sender), 0);
    ec_shared_secret(own, sender, secret);
    ec_key_free(sender);
    digest_hmac_sha256(bytes_of(auth, 16), bytes_of(secret, 32), prk);
    const struct str info[] = {bytes_of("WebPush: info", 14), ec_key_point(own), point, STR("\1")};
    digest_hmac_sha256_parts(bytes_of(prk, 32), info, ARRAY_LEN(info), keying);
    digest_hmac_sha256(bytes_of(message->bytes, 16), bytes_of(keying, 32), prk);
    digest_hmac_sha256(bytes_of(prk, 32), STR("Content-Encoding: aes128gcm\0\1"), key);
    digest_hmac_sha256(bytes_of(prk, 32), STR("Content-Encoding: nonce\0\1"), nonce);

    size_t sealed = message->len - 86 - 16;
    uint8_t *plain = arena_alloc(arena, sealed + 16);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    assert_int_equal(EVP_DecryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, nonce), 1);
    assert_int_equal(EVP_DecryptUpdate(ctx, plain, &written, message->bytes + 86, (int)sealed), 1);
    assert_int_equal(
        EVP_CIPHER_CTX_ctrl(
            ctx, EVP_CTRL_GCM_SET_TAG, 16, (void *)(uintptr_t)(message->bytes + message->len - 16)),
        1);
    assert_int_equal(EVP_DecryptFinal_ex(ctx, plain + written, &written), 1);
    EVP_CIPHER_CTX_free(ctx);
    while (sealed > 0 && plain[sealed - 1] == 0)
        sealed--;
    assert_true(sealed > 0 && plain[sealed - 1] == 2);
    return bytes_of(plain, sealed - 1);
}

TEST_WITH(test_rfc8291, setup, teardown)
{
    static const char expected[] =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_"
        "c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
        "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_"
        "Qu"
        "lcy4a-fN";
    struct webpush_subscription subscription = rfc8291();
    struct ec_key *own = private_key("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");

    assert_int_equal(webpush_encrypt_with(own,
                                          (const uint8_t *)unb64("DGv6ra1nlYgDCS1FRnbzlw").ptr,
                                          &subscription,
                                          STR("When I grow up, I want to be a watermelon"),
                                          0,
                                          &body),
                     0);
    assert_int_equal(body.len, 144);
    assert_string_equal(codec_b64url(arena, bytes_of(body.bytes, body.len)).ptr, expected);
}

TEST_WITH(test_round_trip, setup, teardown)
{
    static const struct {
        size_t text, padding;
    } cases[] = {{0, 0}, {1, 0}, {0, 1}, {15, 17}, {1000, 512}, {3993, 0}, {0, 3993}, {3000, 993}};
    struct webpush_subscription subscription = rfc8291();
    struct ec_key *browser = private_key("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94");
    char text[WEBPUSH_TEXT_MAX];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str plain = {text, cases[i].text};
        assert_int_equal(webpush_encrypt(&subscription, plain, cases[i].padding, &body), 0);
        assert_int_equal(body.len, WEBPUSH_OVERHEAD_BYTES + cases[i].text + cases[i].padding);
        assert_true(body.len <= WEBPUSH_BODY_MAX);
        assert_true(str_eq(decrypted(browser, subscription.auth, &body), plain));
    }
}

TEST_WITH(test_limits, setup, teardown)
{
    struct webpush_subscription subscription = rfc8291();
    static const char text[WEBPUSH_TEXT_MAX + 1];

    assert_int_equal(WEBPUSH_TEXT_MAX, 3993);
    assert_int_equal(webpush_encrypt(&subscription, bytes_of(text, 3994), 0, &body),
                     WEBPUSH_TOO_LARGE);
    assert_int_equal(webpush_encrypt(&subscription, bytes_of(text, 3993), 1, &body),
                     WEBPUSH_TOO_LARGE);
    assert_int_equal(webpush_encrypt(&subscription, bytes_of(text, 1), SIZE_MAX, &body),
                     WEBPUSH_TOO_LARGE);
    subscription.point[64] ^= 1;
    assert_int_equal(webpush_encrypt(&subscription, STR("x"), 0, &body), WEBPUSH_KEY_BAD);
}

/* Neither key pair nor salt is used twice. */
TEST_WITH(test_fresh, setup, teardown)
{
    struct webpush_subscription subscription = rfc8291();

    assert_int_equal(webpush_encrypt(&subscription, STR("same"), 0, &one), 0);
    assert_int_equal(webpush_encrypt(&subscription, STR("same"), 0, &two), 0);
    assert_memory_not_equal(one.bytes, two.bytes, 16);
    assert_memory_not_equal(one.bytes + 21, two.bytes + 21, 65);
}

TEST_WITH(test_subscriptions, setup, teardown)
{
    static const char *const good[] = {
        SUBSCRIPTION(ENDPOINT, P256DH, AUTH),
        SUBSCRIPTION(ENDPOINT, P256DH "=", AUTH "=="),
        /* the standard base64 alphabet */
        SUBSCRIPTION(
            ENDPOINT,
            "BCVxsr7N/"
            "eNgVRqvHtD0zTZsEc6+VV+JvLexhqUzORcxaOzi6+AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4=",
            "BTBZMqHH6r4Tts7J/aSIgg=="),
    };

    struct webpush_subscription first = subscription_of(good[0]);
    assert_string_equal(first.origin.ptr, "https://push.example.net");
    assert_true(str_is(first.endpoint, ENDPOINT));
    assert_true(first.secure);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct webpush_subscription found = subscription_of(good[i]);
        assert_memory_equal(found.point, first.point, sizeof(found.point));
        assert_memory_equal(found.auth, first.auth, sizeof(found.auth));
    }
    assert_false(subscription_of(SUBSCRIPTION("http://127.0.0.1:8090/p", P256DH, AUTH)).secure);
}

TEST_WITH(test_wrong_subscriptions, setup, teardown)
{
    static const struct {
        const char *json;
        int result;
    } cases[] = {
        {"", WEBPUSH_BAD_JSON},
        {"null", WEBPUSH_BAD_JSON},
        {"[]", WEBPUSH_BAD_JSON},
        {"\"x\"", WEBPUSH_BAD_JSON},
        {"{}", WEBPUSH_BAD_JSON},
        {"{\"endpoint\":1,\"keys\":{\"p256dh\":\"" P256DH "\",\"auth\":\"" AUTH "\"}}",
         WEBPUSH_BAD_JSON},
        {"{\"endpoint\":\"" ENDPOINT "\",\"keys\":[]}", WEBPUSH_BAD_JSON},
        {"{\"endpoint\":\"" ENDPOINT "\",\"keys\":{\"auth\":\"" AUTH "\"}}", WEBPUSH_BAD_JSON},
        {"{\"endpoint\":\"" ENDPOINT "\",\"endpoint\":\"" ENDPOINT "\"}", WEBPUSH_BAD_JSON},
        {SUBSCRIPTION("", P256DH, AUTH), WEBPUSH_BAD_ENDPOINT},
        {SUBSCRIPTION("ftp://push.example.net/", P256DH, AUTH), WEBPUSH_BAD_ENDPOINT},
        {SUBSCRIPTION("https://", P256DH, AUTH), WEBPUSH_BAD_ENDPOINT},
        {SUBSCRIPTION("https://user@push.example.net/", P256DH, AUTH), WEBPUSH_BAD_ENDPOINT},
        /* no point, a compressed point, the point at infinity, two points that are not on the curve
         */
        {SUBSCRIPTION(ENDPOINT, "", AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, AUTH, AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, "=", AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, "====", AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, "AiVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx", AUTH),
         WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, "AA", AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT,
                      "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                      "AAAAAAAAAAA",
                      AUTH),
         WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT,
                      "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-"
                      "AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw8",
                      AUTH),
         WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT,
                      "BP__________________________________________________________________________"
                      "_____________",
                      AUTH),
         WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, P256DH "A", AUTH), WEBPUSH_BAD_POINT},
        {SUBSCRIPTION(ENDPOINT, P256DH, ""), WEBPUSH_BAD_AUTH},
        {SUBSCRIPTION(ENDPOINT, P256DH, "BTBZMqHH6r4Tts7J_aSI"), WEBPUSH_BAD_AUTH},
        {SUBSCRIPTION(ENDPOINT, P256DH, "BTBZMqHH6r4Tts7J_aSIggA"), WEBPUSH_BAD_AUTH},
        {SUBSCRIPTION(ENDPOINT, P256DH, "BTBZMqHH6r4Tts7J_aSIg!"), WEBPUSH_BAD_AUTH},
        {SUBSCRIPTION(ENDPOINT, P256DH, P256DH), WEBPUSH_BAD_AUTH},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct webpush_subscription found;
        int result = webpush_subscription_read(arena, str_from(cases[i].json), &found);
        if (result != cases[i].result)
            fail_msg("%s: %d instead of %d", cases[i].json, result, cases[i].result);
    }
    char *long_text = arena_alloc(arena, WEBPUSH_SUBSCRIPTION_BYTES + 1);
    memset(long_text, ' ', WEBPUSH_SUBSCRIPTION_BYTES + 1);
    struct webpush_subscription found;
    assert_int_equal(webpush_subscription_read(
                         arena, bytes_of(long_text, WEBPUSH_SUBSCRIPTION_BYTES + 1), &found),
                     WEBPUSH_BAD_JSON);
}

TEST_WITH(test_origins, setup, teardown)
{
    static const struct {
        const char *url, *origin;
    } cases[] = {
        {"https://fcm.googleapis.com/fcm/send/abc:def", "https://fcm.googleapis.com"},
        {"HTTPS://Push.Example.NET:443/x", "https://push.example.net"},
        {"https://push.example.net", "https://push.example.net"},
        {"https://push.example.net?x=1", "https://push.example.net"},
        {"https://push.example.net#x", "https://push.example.net"},
        {"https://push.example.net:8443/x", "https://push.example.net:8443"},
        {"http://localhost:80/x", "http://localhost"},
        {"http://localhost:443/x", "http://localhost:443"},
        {"https://[2001:DB8::1]:8443/x", "https://[2001:db8::1]:8443"},
        {"https://[2001:db8::1]/x", "https://[2001:db8::1]"},
        {"https://a@b/", NULL},
        {"https://a:b@c/", NULL},
        {"https://a%2eb/", NULL},
        {"https://a\\b/", NULL},
        {"https://a b/", NULL},
        {"https://a:/", NULL},
        {"https://a:0/", NULL},
        {"https://a:65536/", NULL},
        {"https://a:0443/", NULL},
        {"https://a:1:2/", NULL},
        {"https://:443/", NULL},
        {"https:///x", NULL},
        {"https:/a/", NULL},
        {"https:a", NULL},
        {"//a/", NULL},
        {"javascript:alert(1)", NULL},
        {"https://a\xc3\xa9/", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str origin = STR_NONE;
        int result = webpush_origin(arena, str_from(cases[i].url), &origin);
        if (result != (cases[i].origin ? 0 : WEBPUSH_BAD_ENDPOINT) ||
            (cases[i].origin && !str_is(origin, cases[i].origin)))
            fail_msg("%s: %d %.*s", cases[i].url, result, STR_ARG(origin));
    }
}
