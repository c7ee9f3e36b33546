/* Compact JWS: RFC 7515 vectors, algorithm confusion, malformed tokens, claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/codec.h"
#include "crypto/digest.h"
#include "crypto/ec.h"
#include "crypto/jws.h"

static struct arena *arena;
static struct ec_key *key;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    key = ec_key_generate();
    arena_defer(arena, ec_key_free_deferred, key);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

#define RFC7515_PAYLOAD                                                                            \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"

static struct str unb64(const char *text)
{
    struct str bytes;
    assert_true(codec_b64url_decode(arena, str_from(text), &bytes));
    return bytes;
}

/* Returns a token with any header and payload, validly signed by the test's key. */
static struct str token_of(const char *header, const char *payload)
{
    uint8_t sig[EC_SIGNATURE_BYTES];
    struct str input = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(codec_b64url(arena, str_from(header))),
                                    STR_ARG(codec_b64url(arena, str_from(payload))));
    ec_sign_es256(key, input, sig);
    struct str signature = codec_b64url(arena, (struct str){(const char *)sig, sizeof(sig)});
    return arena_printf(arena, "%.*s.%.*s", STR_ARG(input), STR_ARG(signature));
}

static int parse(struct str token)
{
    struct jws jws;
    return jws_parse(arena, token, &jws);
}

static int parse_and_verify(struct str token)
{
    struct jws jws;
    int rc = jws_parse(arena, token, &jws);
    return rc ? rc : jws_verify_es256(&jws, key);
}

TEST_WITH(test_rfc7515_es256, setup, teardown)
{
    struct jws jws;
    struct ec_key *public;
    const struct str token =
        STR("eyJhbGciOiJFUzI1NiJ9." RFC7515_PAYLOAD
            ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-"
            "Kg6NU1Q");
    assert_int_equal(ec_key_from_jwk(arena,
                                     STR("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                     STR("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"),
                                     &public),
                     0);
    arena_defer(arena, ec_key_free_deferred, public);
    assert_int_equal(jws_parse(arena, token, &jws), 0);
    assert_true(str_is(jws.alg, "ES256"));
    assert_null(jws.kid.ptr);
    assert_null(jws.typ.ptr);
    assert_int_equal(jws_verify_es256(&jws, public), 0);
    assert_int_equal(jws_verify_es256(&jws, key), JWS_BAD_SIGNATURE);
    assert_true(str_is(jws_claim_str(&jws, "iss"), "joe"));
    int64_t exp = 0;
    assert_true(jws_claim_i64(&jws, "exp", &exp));
    assert_int_equal(exp, 1300819380);
    assert_null(jws_claim_str(&jws, "exp").ptr);
    assert_false(jws_claim_i64(&jws, "iss", &exp));
    assert_null(jws_claim_str(&jws, "absent").ptr);
}

static const char rsa_n[] =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d"
    "4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexM"
    "dbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvU"
    "K-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
static const char rsa_sig[] =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5j"
    "ujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L"
    "07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEU"
    "ipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

TEST_WITH(test_rfc7515_rs256, setup, teardown)
{
    struct jws jws;
    struct str e = unb64("AQAB");
    struct str n = unb64(rsa_n);
    struct str token = arena_printf(arena, "eyJhbGciOiJSUzI1NiJ9.%s.%s", RFC7515_PAYLOAD, rsa_sig);
    assert_int_equal(jws_parse(arena, token, &jws), 0);
    assert_int_equal(jws_verify_rs256(&jws, n, e), 0);
    assert_int_equal(jws_verify_es256(&jws, key), JWS_BAD_ALG);
    assert_int_equal(jws_verify_rs256(&jws, n, unb64("AQAD")), JWS_BAD_SIGNATURE);

    char *changed = arena_cstr(arena, jws.signature);
    changed[100] = (char)(changed[100] ^ 1);
    jws.signature.ptr = changed;
    assert_int_equal(jws_verify_rs256(&jws, n, e), JWS_BAD_SIGNATURE);
    jws.signature.len = 255;
    assert_int_equal(jws_verify_rs256(&jws, n, e), JWS_BAD_SIGNATURE);
    jws.signature.len = 0;
    assert_int_equal(jws_verify_rs256(&jws, n, e), JWS_BAD_SIGNATURE);
}

TEST_WITH(test_sign, setup, teardown)
{
    struct jws jws;
    struct str token = jws_sign_es256(arena, key, STR("k-1"), STR("{\"sub\":\"7\",\"exp\":100}"));
    assert_int_equal(jws_parse(arena, token, &jws), 0);
    assert_true(str_is(jws.kid, "k-1"));
    assert_true(str_is(jws.typ, "JWT"));
    assert_true(str_is(jws.claims_json, "{\"sub\":\"7\",\"exp\":100}"));
    assert_int_equal(jws_verify_es256(&jws, key), 0);

    token = jws_sign_es256_typ(arena, key, STR_NONE, STR("at.jwt"), STR("{}"));
    assert_int_equal(jws_parse(arena, token, &jws), 0);
    assert_null(jws.kid.ptr);
    assert_true(str_is(jws.typ, "at.jwt"));
}

/* T1: the token never chooses the algorithm. */
TEST_WITH(test_algorithm_confusion, setup, teardown)
{
    const char *algs[] = {"none", "None", "nOnE", "HS256", "RS256", "es256", "ES256K", "ES384"};
    for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
        char *header = arena_cstr(arena, arena_printf(arena, "{\"alg\":\"%s\"}", algs[i]));
        assert_int_equal(parse_and_verify(token_of(header, "{\"exp\":1}")), JWS_BAD_ALG);
    }
    assert_int_equal(parse(token_of("{}", "{}")), JWS_BAD);
    assert_int_equal(parse(token_of("{\"alg\":\"\"}", "{}")), JWS_BAD);
    assert_int_equal(parse(token_of("{\"alg\":null}", "{}")), JWS_BAD);
    assert_int_equal(parse(token_of("{\"alg\":[\"ES256\"]}", "{}")), JWS_BAD);
    assert_int_equal(parse(token_of("{\"ALG\":\"ES256\"}", "{}")), JWS_BAD);
    /* "none" as RFC 7519 section 6 writes it: no signature at all */
    assert_int_equal(parse(STR("eyJhbGciOiJub25lIn0.e30.")), JWS_BAD);

    /* HMAC keyed with the public key */
    struct str x;
    struct str y;
    uint8_t mac[DIGEST_SHA256_BYTES];
    ec_key_jwk(arena, key, &x, &y);
    struct str input = STR("eyJhbGciOiJIUzI1NiJ9.e30");
    digest_hmac_sha256(x, input, mac);
    struct str tag = codec_b64url(arena, (struct str){(const char *)mac, sizeof(mac)});
    struct str token = arena_printf(arena, "%.*s.%.*s", STR_ARG(input), STR_ARG(tag));
    assert_int_equal(parse_and_verify(token), JWS_BAD_ALG);
}

/* T3: a token in any form other than the one valid form is refused. */
TEST_WITH(test_malformed, setup, teardown)
{
    struct str good = token_of("{\"alg\":\"ES256\"}", "{\"exp\":1}");
    assert_int_equal(parse_and_verify(good), 0);

    assert_int_equal(parse(STR_NONE), JWS_BAD);
    assert_int_equal(parse(STR(".")), JWS_BAD);
    assert_int_equal(parse(STR("..")), JWS_BAD);
    assert_int_equal(parse(STR("...")), JWS_BAD);
    assert_int_equal(parse(arena_printf(arena, "%.*s.", STR_ARG(good))), JWS_BAD);
    assert_int_equal(parse(arena_printf(arena, "%.*s.AAAA", STR_ARG(good))), JWS_BAD);
    assert_int_equal(parse(arena_printf(arena, "%.*s=", STR_ARG(good))), JWS_BAD);
    assert_int_equal(parse(arena_printf(arena, "%.*s\n", STR_ARG(good))), JWS_BAD);
    assert_int_equal(parse(arena_printf(arena, " %.*s", STR_ARG(good))), JWS_BAD);
    for (size_t len = 0; len < good.len; len++)
        assert_int_not_equal(parse_and_verify((struct str){good.ptr, len}), 0);

    /* 64 bytes leave four unused bits in the last character. With these bits set, a lax reader
     * would decode the same bytes. */
    char *lax = arena_cstr(arena, good);
    char *last = lax + good.len - 1;
    assert_true(strchr("AQgw", *last) != NULL);
    *last = (char)(*last + 1);
    assert_int_equal(parse((struct str){lax, good.len}), JWS_BAD);

    char *big = arena_alloc(arena, JWS_MAX_BYTES);
    memset(big, 'a', JWS_MAX_BYTES - 1);
    big[JWS_MAX_BYTES - 1] = '\0';
    struct str large = token_of("{\"alg\":\"ES256\"}",
                                arena_cstr(arena, arena_printf(arena, "{\"a\":\"%s\"}", big)));
    struct jws jws;
    assert_int_equal(parse(large), JWS_BAD);
    assert_int_equal(jws_parse_limit(arena, large, 65536, &jws), 0);
}

TEST_WITH(test_headers_and_payloads, setup, teardown)
{
    const char *bad_headers[] = {
        "",
        "[]",
        "\"ES256\"",
        "{\"alg\":\"ES256\",\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"crit\":[\"exp\"],\"exp\":1}",
        "{\"alg\":\"ES256\",\"crit\":[]}",
        "{\"alg\":\"ES256\",\"b64\":false}",
        "{\"alg\":\"ES256\",\"b64\":true}",
        "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"ES256\",\"typ\":null}",
        "{\"alg\":\"ES256\"} x",
        "{\"alg\":\"ES256\"",
        "{\"alg\":\"ES256\",\"kid\":\"a\\u0000b\"}",
        "{\"alg\":\"ES256\",\"kid\":\"\xff\"}",
        "{\"alg\":\"ES256\",\"x\":[[[[[[[[1]]]]]]]]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad_headers); i++)
        assert_int_equal(parse(token_of(bad_headers[i], "{}")), JWS_BAD);

    const char *bad_payloads[] = {
        "",
        "[]",
        "null",
        "7",
        "{\"exp\":1,\"exp\":2}",
        "{\"a\":{\"b\":1,\"b\":1}}",
        "{\"exp\":9223372036854775808}",
        "{\"exp\":1e400}",
        "{}{}",
        "{\"a\":[[[[[[[[1]]]]]]]]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad_payloads); i++)
        assert_int_equal(parse(token_of("{\"alg\":\"ES256\"}", bad_payloads[i])), JWS_BAD);
    assert_int_equal(parse(token_of("{\"alg\":\"ES256\"}", "{\"a\":[[[[[[[1]]]]]]]}")), 0);
    assert_int_equal(parse(token_of("{\"alg\":\"ES256\"}", "{\"a\":\"[[[[[[[[[[[\\\"[[\"}")), 0);
    /* keys in the header are not even read */
    assert_int_equal(parse_and_verify(token_of(
                         "{\"alg\":\"ES256\",\"jwk\":{\"kty\":\"EC\"},\"jku\":\"http://a/\","
                         "\"x5u\":\"http://a/\",\"x5c\":[\"AA==\"]}",
                         "{}")),
                     0);
}

static int check(const char *payload, const struct jws_expectations *expect)
{
    struct jws jws;
    assert_int_equal(
        jws_parse(arena, token_of("{\"alg\":\"ES256\",\"typ\":\"JWT\"}", payload), &jws), 0);
    return jws_claims_check(&jws, expect);
}

/* T4: now is 1000, 60 seconds of leeway. */
TEST_WITH(test_claims_time, setup, teardown)
{
    const struct jws_expectations expect = {.now_s = 1000, .leeway_s = 60};
    const struct {
        const char *payload;
        int rc;
    } cases[] = {
        {"{}", JWS_BAD_CLAIM},
        {"{\"exp\":\"2000\"}", JWS_BAD_CLAIM},
        {"{\"exp\":2000.0}", JWS_BAD_CLAIM},
        {"{\"exp\":2e3}", JWS_BAD_CLAIM},
        {"{\"exp\":null}", JWS_BAD_CLAIM},
        {"{\"exp\":true}", JWS_BAD_CLAIM},
        {"{\"exp\":[2000]}", JWS_BAD_CLAIM},
        {"{\"exp\":941}", 0},
        {"{\"exp\":940}", JWS_EXPIRED},
        {"{\"exp\":-9223372036854775808}", JWS_EXPIRED},
        {"{\"exp\":9223372036854775807}", 0},
        {"{\"exp\":2000,\"nbf\":1060}", 0},
        {"{\"exp\":2000,\"nbf\":1061}", JWS_NOT_YET},
        {"{\"exp\":2000,\"nbf\":9223372036854775807}", JWS_NOT_YET},
        {"{\"exp\":2000,\"nbf\":\"1\"}", JWS_BAD_CLAIM},
        {"{\"exp\":2000,\"nbf\":1.5}", JWS_BAD_CLAIM},
        {"{\"exp\":2000,\"iat\":1060}", 0},
        {"{\"exp\":2000,\"iat\":1061}", JWS_NOT_YET},
        {"{\"exp\":2000,\"iat\":null}", JWS_BAD_CLAIM},
        {"{\"exp\":2000,\"iat\":-5}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(check(cases[i].payload, &expect), cases[i].rc);

    struct jws_expectations fractional = expect; /* RFC 7519 section 2 */
    fractional.fractions = true;
    assert_int_equal(check("{\"exp\":2000,\"nbf\":1.5,\"iat\":999.5}", &fractional), 0);
    assert_int_equal(check("{\"exp\":2e3}", &fractional), 0);
    assert_int_equal(check("{\"exp\":940.9}", &fractional), JWS_EXPIRED);
    assert_int_equal(check("{\"exp\":2000,\"nbf\":1061.5}", &fractional), JWS_NOT_YET);
    assert_int_equal(check("{\"exp\":1e300}", &fractional), JWS_BAD_CLAIM);
    assert_int_equal(check("{\"exp\":\"2000\"}", &fractional), JWS_BAD_CLAIM);

    const struct jws_expectations fresh = {.now_s = 1000, .leeway_s = 60, .max_age_s = 600};
    assert_int_equal(check("{\"exp\":2000}", &fresh), JWS_BAD_CLAIM);
    assert_int_equal(check("{\"exp\":2000,\"iat\":340}", &fresh), 0);
    assert_int_equal(check("{\"exp\":2000,\"iat\":339}", &fresh), JWS_EXPIRED);
    assert_int_equal(check("{\"exp\":2000,\"iat\":-9223372036854775808}", &fresh), JWS_EXPIRED);
}

TEST_WITH(test_claims_parties, setup, teardown)
{
    struct jws_expectations expect = {.iss = STR("https://a"), .aud = STR("me"), .now_s = 1};
    const struct {
        const char *payload;
        int rc;
    } cases[] = {
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":\"me\"}", 0},
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":[\"you\",\"me\"]}", 0},
        {"{\"exp\":9,\"aud\":\"me\"}", JWS_BAD_ISSUER},
        {"{\"exp\":9,\"iss\":\"https://a/\",\"aud\":\"me\"}", JWS_BAD_ISSUER},
        {"{\"exp\":9,\"iss\":[\"https://a\"],\"aud\":\"me\"}", JWS_BAD_ISSUER},
        {"{\"exp\":9,\"iss\":\"https://a\"}", JWS_BAD_AUDIENCE},
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":\"ME\"}", JWS_BAD_AUDIENCE},
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":[]}", JWS_BAD_AUDIENCE},
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":[\"me\",7]}", JWS_BAD_AUDIENCE},
        {"{\"exp\":9,\"iss\":\"https://a\",\"aud\":{\"me\":1}}", JWS_BAD_AUDIENCE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(check(cases[i].payload, &expect), cases[i].rc);

    expect.iss_alt = STR("a");
    assert_int_equal(check("{\"exp\":9,\"iss\":\"a\",\"aud\":\"me\"}", &expect), 0);
    expect.azp = true;
    assert_int_equal(check("{\"exp\":9,\"iss\":\"a\",\"aud\":\"me\"}", &expect), 0);
    assert_int_equal(check("{\"exp\":9,\"iss\":\"a\",\"aud\":[\"me\"]}", &expect), 0);
    assert_int_equal(check("{\"exp\":9,\"iss\":\"a\",\"aud\":[\"me\",\"b\"]}", &expect),
                     JWS_BAD_AUDIENCE);
    assert_int_equal(
        check("{\"exp\":9,\"iss\":\"a\",\"aud\":[\"me\",\"b\"],\"azp\":\"me\"}", &expect), 0);
    assert_int_equal(check("{\"exp\":9,\"iss\":\"a\",\"aud\":\"me\",\"azp\":\"b\"}", &expect),
                     JWS_BAD_AUDIENCE);

    const struct jws_expectations typed = {.typ = STR("jwt"), .now_s = 1};
    const struct jws_expectations other = {.typ = STR("tap"), .now_s = 1};
    assert_int_equal(check("{\"exp\":9}", &typed), 0);
    assert_int_equal(check("{\"exp\":9}", &other), JWS_BAD_TYPE);
}
