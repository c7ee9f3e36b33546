/* Store notifications that are accepted and refused, tokens of users, key files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

#include "json/jr.h"
#include "payments/store.h"
#include "store_chain.h"

#define NOW_S  1800000000LL
#define NOW_MS (NOW_S * 1000)
#define DAY_MS (CHAIN_DAY_S * 1000)

#define BUNDLE "com.example.app"
#define APP_ID 1234567

static struct arena *arena;
static struct chain *chain;
static struct x5c_anchors *anchors;
static struct str reason;

static const struct store_account both = {
    .issuer_id = STR_INIT("57246542-96fe-1a63-e053-0824d011072a"),
    .key_id = STR_INIT("ABC123DEFG"),
    .bundle_id = STR_INIT(BUNDLE),
    .app_apple_id = APP_ID,
    .environments = STORE_PRODUCTION | STORE_SANDBOX,
    .configured = true,
};

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    chain = chain_new(arena, NOW_S, &(struct chain_wish){0});
    assert_int_equal(x5c_anchors_from_pem(chain->pem, &anchors), 0);
    store_init(&(struct store_config){.anchors = anchors,
                                      .production_url = STR_INIT("https://store.example/"),
                                      .sandbox_url = STR_INIT("https://sandbox.example")});
    reason = STR_NONE;
    return 0;
}

static int teardown(void **state UNUSED)
{
    x5c_anchors_free(anchors);
    arena_free(arena);
    return 0;
}

/* --- notifications --- */

/* Changes that a test makes to a valid notification, as JSON texts. NULL = unchanged. */
struct wish {
    const char *environment, *bundle, *app; /* of the notification's data */
    const char *inner_environment, *inner_bundle;
    const char *more; /* members next to data */
    int64_t signed_ms;
    const struct chain *outer, *inner;
};

static struct str transaction_of(const struct wish *wish)
{
    return arena_printf(
        arena,
        "{\"transactionId\":\"2\",\"originalTransactionId\":\"1\",\"bundleId\":\"%s\","
        "\"productId\":\"pro\",\"type\":\"Auto-Renewable Subscription\",\"purchaseDate\":%lld,"
        "\"expiresDate\":%lld,\"environment\":\"%s\",\"signedDate\":%lld}",
        wish->inner_bundle ? wish->inner_bundle : BUNDLE,
        (long long)NOW_MS,
        (long long)(NOW_MS + 30 * DAY_MS),
        wish->inner_environment ? wish->inner_environment : "Production",
        (long long)NOW_MS);
}

static struct str renewal_of(const struct wish *wish)
{
    return arena_printf(arena,
                        "{\"originalTransactionId\":\"1\",\"autoRenewStatus\":1,"
                        "\"environment\":\"%s\",\"signedDate\":%lld}",
                        wish->inner_environment ? wish->inner_environment : "Production",
                        (long long)NOW_MS);
}

static struct str payload_of(const struct wish *wish)
{
    const struct chain *inner = wish->inner ? wish->inner : chain;

    return arena_printf(
        arena,
        "{\"notificationType\":\"SUBSCRIBED\",\"subtype\":\"INITIAL_BUY\","
        "\"notificationUUID\":\"002e14d5-51f5-4503-b5a8-c3a1af68eb20\",\"version\":\"2.0\","
        "\"signedDate\":%lld,%s\"data\":{\"environment\":\"%s\",\"bundleId\":\"%s\",%s"
        "\"status\":1,\"signedTransactionInfo\":\"%.*s\",\"signedRenewalInfo\":\"%.*s\"}}",
        (long long)(wish->signed_ms ? wish->signed_ms : NOW_MS),
        wish->more ? wish->more : "",
        wish->environment ? wish->environment : "Production",
        wish->bundle ? wish->bundle : BUNDLE,
        wish->app ? wish->app : "\"appAppleId\":1234567,",
        STR_ARG(chain_sign(arena, inner, transaction_of(wish))),
        STR_ARG(chain_sign(arena, inner, renewal_of(wish))));
}

static struct str body_of(struct str token)
{
    return arena_printf(arena, "{\"signedPayload\":\"%.*s\"}", STR_ARG(token));
}

static int
read_token(const struct store_account *account, struct str token, struct store_notification *ret)
{
    struct store_notification ignored;

    reason = STR_NONE;
    int rc = store_notification_read(
        arena, body_of(token), account, NOW_MS, ret ? ret : &ignored, &reason);
    assert_int_equal(rc != 0, reason.len != 0);
    return rc;
}

static int read_as(const struct store_account *account, const struct wish *wish)
{
    return read_token(
        account, chain_sign(arena, wish->outer ? wish->outer : chain, payload_of(wish)), NULL);
}

static int read_wish(const struct wish *wish)
{
    return read_as(&both, wish);
}

TEST_WITH(test_good, setup, teardown)
{
    struct store_notification got;
    struct jr_error error;
    json_t *document;

    assert_int_equal(
        read_token(&both, chain_sign(arena, chain, payload_of(&(struct wish){0})), &got), 0);
    assert_true(str_is(got.type, "SUBSCRIBED") && str_is(got.subtype, "INITIAL_BUY"));
    assert_true(str_is(got.environment, "Production"));
    assert_true(str_is(got.event_id, "Production:002e14d5-51f5-4503-b5a8-c3a1af68eb20"));
    assert_int_equal(got.signed_ms, NOW_MS);
    assert_int_equal(jr_parse(arena, got.document, &document, &error), 0);
    const json_t *data = json_object_get(json_object_get(document, "notification"), "data");
    assert_int_equal(jr_i64(data, "status", 0), 1);
    assert_null(json_object_get(data, "signedTransactionInfo"));
    assert_null(json_object_get(data, "signedRenewalInfo"));
    assert_true(
        str_is(jr_str(json_object_get(document, "transaction"), "originalTransactionId"), "1"));
    assert_int_equal(jr_i64(json_object_get(document, "renewal"), "autoRenewStatus", -1), 1);
    assert_true(json_is_null(json_object_get(document, "app_transaction")));
}

/* A TEST notification has no transaction inside. */
TEST_WITH(test_without_transaction, setup, teardown)
{
    struct store_notification got;
    struct str payload = arena_printf(
        arena,
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"u-1\",\"signedDate\":%lld,"
        "\"data\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE "\"}}",
        (long long)NOW_MS);

    assert_int_equal(read_token(&both, chain_sign(arena, chain, payload), &got), 0);
    assert_int_equal(got.subtype.len, 0);
    assert_true(str_is(got.event_id, "Sandbox:u-1"));
}

TEST_WITH(test_other_parts, setup, teardown)
{
    static const struct {
        const char *part;
        int rc;
    } cases[] = {
        {"\"summary\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE "\"}", 0},
        {"\"summary\":{\"environment\":\"Sandbox\",\"bundleId\":\"com.example.other\"}",
         STORE_OTHER_APP},
        {"\"summary\":{\"environment\":\"Production\",\"bundleId\":\"" BUNDLE
         "\",\"appAppleId\":1234567}",
         0},
        {"\"summary\":{\"environment\":\"Production\",\"bundleId\":\"" BUNDLE "\"}",
         STORE_OTHER_APP},
        {"\"externalPurchaseToken\":{\"externalPurchaseId\":\"SANDBOX_1\",\"bundleId\":\"" BUNDLE
         "\"}",
         0},
        {"\"externalPurchaseToken\":{\"externalPurchaseId\":\"x1\",\"bundleId\":\"" BUNDLE "\"}",
         STORE_OTHER_APP},
        {"\"externalPurchaseToken\":{\"externalPurchaseId\":\"x1\",\"bundleId\":\"" BUNDLE
         "\",\"appAppleId\":1234567}",
         0},
        {"\"appData\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE "\"}", 0},
        {"\"appData\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE
         "\",\"signedAppTransactionInfo\":\"e30.e30.AAAA\"}",
         STORE_INVALID},
        {"\"other\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE "\"}", STORE_INVALID},
        {"\"summary\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE
         "\"},\"appData\":{\"environment\":\"Production\",\"bundleId\":\"" BUNDLE
         "\",\"appAppleId\":1234567}",
         STORE_OTHER_APP},
        {"\"data\":7", STORE_OTHER_APP},
        {"\"data\":null", STORE_OTHER_APP},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str payload = arena_printf(
            arena,
            "{\"notificationType\":\"X\",\"notificationUUID\":\"u\",\"signedDate\":%lld,%s}",
            (long long)NOW_MS,
            cases[i].part);
        assert_int_equal(read_token(&both, chain_sign(arena, chain, payload), NULL), cases[i].rc);
    }
}

TEST_WITH(test_whose, setup, teardown)
{
    struct store_account account = both;

    assert_int_equal(read_wish(&(struct wish){.bundle = "com.example.other"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.bundle = ""}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.app = "\"appAppleId\":7,"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.app = ""}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.environment = "Xcode"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.environment = "LocalTesting"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.environment = "production"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.environment = ""}), STORE_OTHER_APP);
    /* The environments of the notification and of its transaction differ. */
    assert_int_equal(read_wish(&(struct wish){.environment = "Sandbox"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.inner_environment = "Sandbox"}), STORE_OTHER_APP);
    assert_int_equal(read_wish(&(struct wish){.inner_bundle = "com.example.other"}),
                     STORE_OTHER_APP);

    const struct wish sandbox = {
        .environment = "Sandbox", .inner_environment = "Sandbox", .app = ""};
    assert_int_equal(read_as(&account, &sandbox), 0);
    account.environments = STORE_PRODUCTION;
    assert_int_equal(read_as(&account, &sandbox), STORE_OTHER_APP);
    account.environments = STORE_SANDBOX;
    assert_int_equal(read_as(&account, &sandbox), 0);
    assert_int_equal(read_as(&account, &(struct wish){0}), STORE_OTHER_APP);
    account.environments = STORE_PRODUCTION | STORE_SANDBOX;
    account.app_apple_id = 0; /* unknown: production could be another app's */
    assert_int_equal(read_as(&account, &(struct wish){0}), STORE_OTHER_APP);
    assert_int_equal(read_as(&account, &(struct wish){.app = "\"appAppleId\":0,"}),
                     STORE_OTHER_APP);
    account = both;
    account.configured = false;
    assert_int_equal(read_as(&account, &(struct wish){0}), STORE_OTHER_APP);
}

TEST_WITH(test_age, setup, teardown)
{
    const int64_t minute = 60000;

    assert_int_equal(read_wish(&(struct wish){.signed_ms = NOW_MS - 7 * DAY_MS}), 0);
    assert_int_equal(read_wish(&(struct wish){.signed_ms = NOW_MS - 7 * DAY_MS - 1}), STORE_STALE);
    assert_int_equal(read_wish(&(struct wish){.signed_ms = NOW_MS + 5 * minute}), 0);
    assert_int_equal(read_wish(&(struct wish){.signed_ms = NOW_MS + 5 * minute + 1}), STORE_STALE);
    assert_int_equal(read_wish(&(struct wish){.signed_ms = -1}), STORE_INVALID);
}

/* A chain is valid or invalid as of now, independently of the date that is signed inside. */
TEST_WITH(test_chains, setup, teardown)
{
    const struct chain *stranger = chain_new(arena, NOW_S, &(struct chain_wish){0});
    const struct chain *old =
        chain_new(arena, NOW_S - 30 * CHAIN_DAY_S, &(struct chain_wish){.leaf_days = 29});
    struct str pems = arena_printf(arena, "%.*s%.*s", STR_ARG(chain->pem), STR_ARG(old->pem));

    assert_int_equal(read_wish(&(struct wish){.outer = stranger}), STORE_INVALID);
    assert_int_equal(read_wish(&(struct wish){.inner = stranger}), STORE_INVALID);
    x5c_anchors_free(anchors);
    assert_int_equal(x5c_anchors_from_pem(pems, &anchors), 0);
    store_init(&(struct store_config){.anchors = anchors});
    assert_int_equal(
        read_wish(&(struct wish){.outer = old, .inner = old, .signed_ms = NOW_MS - 2 * DAY_MS}),
        STORE_INVALID);
    assert_true(str_is(reason, "a certificate has expired or is not valid yet"));
    assert_int_equal(read_wish(&(struct wish){.inner = old}), STORE_INVALID);
    assert_int_equal(read_wish(&(struct wish){0}), 0);
}

TEST_WITH(test_signatures, setup, teardown)
{
    struct str payload = payload_of(&(struct wish){0});
    struct str header = chain_header(arena, chain);
    struct str good = chain_sign(arena, chain, payload);
    struct str none = header;
    const char *const algs[] = {"none", "HS256", "RS256", "ES384", "es256", "ES256 "};

    for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
        none = arena_printf(arena,
                            "{\"alg\":\"%s\",%.*s",
                            algs[i],
                            (int)(header.len - sizeof("{\"alg\":\"ES256\",") + 1),
                            header.ptr + sizeof("{\"alg\":\"ES256\",") - 1);
        assert_int_equal(
            read_token(&both, chain_sign_as(arena, chain->signer, none, payload), NULL),
            STORE_INVALID);
        assert_true(str_is(reason, "alg is not ES256"));
    }
    /* A signature by another key, a changed payload, no signature. */
    struct ec_key *other = ec_key_generate();
    arena_defer(arena, ec_key_free_deferred, other);
    assert_int_equal(read_token(&both, chain_sign_as(arena, other, header, payload), NULL),
                     STORE_INVALID);
    struct str changed = arena_dup(arena, good);
    struct str rest = changed;
    (void)str_split(&rest, '.');
    ((char *)rest.ptr)[20] = rest.ptr[20] == 'A' ? 'B' : 'A';
    assert_int_equal(read_token(&both, changed, NULL), STORE_INVALID);
    assert_int_equal(read_token(&both, (struct str){good.ptr, good.len - 86}, NULL), STORE_INVALID);
    assert_int_equal(read_token(&both, (struct str){good.ptr, good.len - 2}, NULL), STORE_INVALID);
    assert_int_equal(read_token(&both, good, NULL), 0);
}

TEST_WITH(test_bodies, setup, teardown)
{
    struct store_notification got;
    const struct str bodies[] = {
        STR_NONE,
        STR("{}"),
        STR("[]"),
        STR("null"),
        STR("{\"signedPayload\":null}"),
        STR("{\"signedPayload\":\"\"}"),
        STR("{\"signedPayload\":\"a.b.c\"}"),
        STR("{\"signedPayload\":\"a.b\"}"),
        STR("{\"signedPayload\":\"x\",\"signedPayload\":\"y\"}"),
        arena_printf(arena, "{\"signedPayload\":\"%0*d\"}", STORE_BODY_BYTES_MAX, 0),
    };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        assert_int_equal(store_notification_read(arena, bodies[i], &both, NOW_MS, &got, &reason),
                         STORE_INVALID);
}

TEST_WITH(test_payloads, setup, teardown)
{
    static const char *const payloads[] = {
        "{}",
        "{\"notificationType\":\"TEST\"}",
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"\",\"signedDate\":1800000000000}",
        "{\"notificationType\":\"A B\",\"notificationUUID\":\"u\",\"signedDate\":1800000000000}",
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"a\\nb\",\"signedDate\":"
        "1800000000000}",
        "{\"notificationType\":7,\"notificationUUID\":\"u\",\"signedDate\":1800000000000}",
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":"
        "\"1800000000000\"}",
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":1800000000000,"
        "\"subtype\":\"\\u0001\"}",
        "{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":1800000000000}",
    };

    for (size_t i = 0; i < ARRAY_LEN(payloads); i++)
        assert_int_equal(read_token(&both, chain_sign(arena, chain, str_from(payloads[i])), NULL),
                         STORE_INVALID);
}

/* --- tokens of users, key files, roots --- */

TEST_WITH(test_account_tokens, setup, teardown)
{
    char token[STORE_ACCOUNT_TOKEN_BYTES + 1];
    const int64_t ids[] = {1, 12, 255, 4096, 987654321, 0xffffffffffffLL};
    static const char *const foreign[] = {"",
                                          "00000000-0000-4000-8000-00000000000g",
                                          "00000000-0000-4000-9000-000000000001",
                                          "10000000-0000-4000-8000-000000000001",
                                          "00000000-0000-4000-8000-0000000000011",
                                          "00000000-0000-4000-8000-00000000001",
                                          "00000000-0000-4000-8000-000000000000"};

    store_account_token(12, token);
    assert_string_equal(token, "00000000-0000-4000-8000-00000000000c");
    assert_int_equal(store_account_user(STR("00000000-0000-4000-8000-0000000000FF")), 255);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        store_account_token(ids[i], token);
        assert_int_equal(store_account_user(str_from(token)), ids[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        assert_int_equal(store_account_user(str_from(foreign[i])), 0);
}

static struct str pem_of(const char *label, struct str der, size_t line)
{
    struct str text = codec_b64(arena, der);
    struct strbuf pem;

    strbuf_init(&pem, arena, 8192);
    strbuf_printf(&pem, "-----BEGIN %s-----\n", label);
    for (size_t at = 0; at < text.len; at += line) {
        size_t bytes = text.len - at < line ? text.len - at : line;
        strbuf_printf(&pem, "%.*s\r\n", (int)bytes, text.ptr + at);
    }
    strbuf_printf(&pem, "-----END %s-----\n", label);
    return strbuf_view(&pem);
}

TEST_WITH(test_key_files, setup, teardown)
{
    struct ec_key *key = ec_key_generate();
    arena_defer(arena, ec_key_free_deferred, key);
    struct str der = ec_key_to_pkcs8(arena, key);
    struct str read = STR_NONE;

    assert_int_equal(store_key_read(arena, pem_of("PRIVATE KEY", der, 64), &read), 0);
    assert_true(str_eq(read, der));
    assert_int_equal(store_key_read(arena, pem_of("PRIVATE KEY", der, 1000), &read), 0);
    const struct str bad[] = {
        STR_NONE,
        STR("hello"),
        STR("-----BEGIN PRIVATE KEY-----"),
        STR("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----"),
        STR("-----END PRIVATE KEY----------BEGIN PRIVATE KEY-----"),
        pem_of("EC PRIVATE KEY", der, 64),
        pem_of("PRIVATE KEY", (struct str){der.ptr, der.len - 1}, 64),
        der,
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(store_key_read(arena, bad[i], &read), STORE_KEY_BAD);
}

TEST_WITH(test_anchor_files, setup, teardown)
{
    struct x5c_anchors *loaded;
    uint8_t digest[X5C_SHA256_BYTES];
    char path[] = "/tmp/anchors.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, chain->pem.ptr, chain->pem.len), (ssize_t)chain->pem.len);
    assert_int_equal(store_anchors_load(str_from(path), &loaded), 0);
    x5c_anchors_free(loaded);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(store_anchors_load(str_from(path), &loaded), X5C_BAD);
    assert_int_equal(ftruncate(fd, 70000), 0);
    assert_int_equal(store_anchors_load(str_from(path), &loaded), X5C_BAD);
    close(fd);
    unlink(path);
    assert_int_equal(store_anchors_load(str_from(path), &loaded), X5C_BAD);
    assert_int_equal(store_anchors_load(STR_NONE, &loaded), 0);
    assert_true(x5c_anchor_sha256(loaded, 0, digest));
    x5c_anchors_free(loaded);
}
