/*
 * Tokens. An input that begins with 't' is a token; any other input is "header\npayload\n", which
 * this file encodes and signs, so that the fuzzer reaches the claims.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/codec.h"
#include "base/panic.h"
#include "crypto/ec.h"
#include "crypto/jws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_S 1700000000

static struct ec_key *signing_key(void)
{
    static struct ec_key *key;

    if (!key)
        key = ec_key_generate();
    return key;
}

static struct str encode(struct arena *arena, struct str header, struct str payload, bool sign)
{
    uint8_t signature[EC_SIGNATURE_BYTES] = {1};
    struct str input = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(codec_b64url(arena, header)),
                                    STR_ARG(codec_b64url(arena, payload)));

    if (sign)
        ec_sign_es256(signing_key(), input, signature);
    return arena_printf(
        arena,
        "%.*s.%.*s",
        STR_ARG(input),
        STR_ARG(codec_b64url(arena, (struct str){(const char *)signature, sizeof(signature)})));
}

/* The parser accepts only the canonical encoding. */
static void check_canonical(struct arena *arena, struct str token, const struct jws *jws)
{
    struct str again = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(jws->signing_input),
                                    STR_ARG(codec_b64url(arena, jws->signature)));

    MUST(str_eq(token, again));
    MUST(jws->signature.len && jws->alg.ptr && json_is_object(jws->claims));
    MUST(token.len <= JWS_MAX_BYTES);
}

/* A token that passes has the required claims as plain integers and texts. */
static void check_claims(const struct jws *jws)
{
    const struct jws_expectations loose = {.now_s = NOW_S, .leeway_s = 30};
    const struct jws_expectations strict = {
        .iss = STR_INIT("groundwork"),
        .aud = STR_INIT("demo"),
        .typ = STR_INIT("at+jwt"),
        .now_s = NOW_S,
        .leeway_s = 30,
        .max_age_s = 3600,
        .azp = true,
    };
    int64_t exp;

    if (jws_claims_check(jws, &loose) == 0) {
        MUST(json_is_number(json_object_get(jws->claims, "exp")));
        if (jws_claim_i64(jws, "exp", &exp))
            MUST(exp > NOW_S - 31);
    }
    if (jws_claims_check(jws, &strict) == 0) {
        MUST(jws_claims_check(jws, &loose) == 0);
        MUST(str_is(jws_claim_str(jws, "iss"), "groundwork"));
        MUST(str_ieq(jws->typ, STR("at+jwt")));
    }
}

static void check(struct arena *arena, struct str token, bool ours)
{
    struct jws jws;
    int rc = jws_parse(arena, token, &jws);

    if (rc) {
        MUST(rc == JWS_BAD);
        return;
    }
    check_canonical(arena, token, &jws);
    rc = jws_verify_es256(&jws, signing_key());
    MUST(rc == (!str_is(jws.alg, "ES256") ? JWS_BAD_ALG : ours ? 0 : JWS_BAD_SIGNATURE));
    check_claims(&jws);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};

    if (size && data[0] == 't') {
        check(arena, (struct str){text.ptr + 1, text.len - 1}, false);
    } else if (size) {
        struct str header = str_split(&text, '\n');
        struct str payload = text.ptr ? str_split(&text, '\n') : STR("{}");
        bool sign = !text.ptr || text.len != 1; /* one byte more: an unsigned copy */
        check(arena, encode(arena, header, payload, sign), sign);
    }
    arena_free(arena);
    return 0;
}
