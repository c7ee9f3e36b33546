/* VAPID: what a push service verifies, how long a token is used, and how many tokens are cached. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/codec.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "push/vapid.h"

#define ORIGIN  "https://push.example.net"
#define SUBJECT "mailto:push@example.com"
#define NOW     INT64_C(1760000000000)
#define HOUR    INT64_C(3600000)

static struct arena *arena;
static struct ec_key *key;
static struct vapid *vapid;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    key = ec_key_generate();
    vapid = vapid_new(key, STR(SUBJECT));
    return 0;
}

static int teardown(void **state UNUSED)
{
    vapid_free(vapid);
    ec_key_free(key);
    arena_free(arena);
    return 0;
}

static struct str header_at(const char *origin, int64_t now_ms)
{
    return vapid_header(vapid, arena, str_from(origin), now_ms);
}

/* Splits "vapid t=<jwt>, k=<key>". */
static void parts(struct str header, struct jws *ret_jws, struct str *ret_key)
{
    struct str rest = header;

    assert_true(str_starts(header, STR("vapid t=")));
    struct str token = str_split(&rest, ',');
    assert_true(str_starts(rest, STR(" k=")));
    *ret_key = (struct str){rest.ptr + 3, rest.len - 3};
    assert_int_equal(jws_parse(arena, (struct str){token.ptr + 8, token.len - 8}, ret_jws), 0);
}

TEST_WITH(test_token, setup, teardown)
{
    struct jws jws;
    struct str public_key;
    struct str point;
    struct ec_key *told = NULL;
    int64_t exp = 0;

    parts(header_at(ORIGIN, NOW), &jws, &public_key);
    assert_int_equal(public_key.len, 87);
    assert_true(str_eq(public_key, vapid_public_key(arena, key)));
    assert_true(codec_b64url_decode(arena, public_key, &point));
    assert_int_equal(ec_key_from_point(point, &told), 0);
    assert_int_equal(jws_verify_es256(&jws, told), 0);
    ec_key_free(told);
    assert_true(str_is(jws.typ, "JWT"));
    assert_true(str_is(jws_claim_str(&jws, "aud"), ORIGIN));
    assert_true(str_is(jws_claim_str(&jws, "sub"), SUBJECT));
    assert_true(jws_claim_i64(&jws, "exp", &exp));
    assert_int_equal(exp, NOW / 1000 + 43200);
    assert_int_equal(json_object_size(jws.claims), 3);
}

TEST_WITH(test_used_again, setup, teardown)
{
    struct str first = header_at(ORIGIN, NOW);
    assert_true(str_eq(header_at(ORIGIN, NOW + 1), first));
    assert_true(str_eq(header_at(ORIGIN, NOW + 11 * HOUR - 1000), first));
    assert_false(str_eq(header_at("https://other.example.net", NOW), first));

    struct str second = header_at(ORIGIN, NOW + 11 * HOUR);
    assert_false(str_eq(second, first));
    assert_true(str_eq(header_at(ORIGIN, NOW + 12 * HOUR), second));
    /* after the clock was set back by a day, a token that ends too late must not be used */
    assert_false(str_eq(header_at(ORIGIN, NOW - 24 * HOUR), second));
}

/* Origins come from devices, so there may be any number of origins; the cache is bounded. */
TEST_WITH(test_bounded, setup, teardown)
{
    struct str used = header_at(ORIGIN, NOW);
    struct str unused = header_at("https://push0.example.net", NOW);

    for (int i = 1; i < 10 * VAPID_ORIGINS_MAX; i++) {
        struct str origin = arena_printf(arena, "https://push%d.example.net", i);
        (void)vapid_header(vapid, arena, origin, NOW);
        assert_true(str_eq(header_at(ORIGIN, NOW), used)); /* a token in use stays */
    }
    /* ES256 signs the same claims differently each time, so another signature shows that the
     * token was dropped. */
    assert_false(str_eq(header_at("https://push0.example.net", NOW), unused));
}

TEST_WITH(test_subjects, setup, teardown)
{
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {"mailto:a@example.com", true},
        {"https://example.com/contact", true},
        {"https://example.com:8443/a?b=c", true},
        {"mailto:a@Sub.Example.com", true},
        {"mailto:a@localhost", false},
        {"mailto:a@intranet", false},
        {"mailto:a@shop.localhost", false},
        {"mailto:a@192.0.2.1", false},
        {"mailto:<a@example.com>", false},
        {"mailto:example.com", false},
        {"https://localhost", false},
        {"https://localhost:3000/contact", false},
        {"https://intranet/contact", false},
        {"https://192.0.2.1/", false},
        {"https://[2001:db8::1]/", false},
        {"mailto:", false},
        {"https://", false},
        {"http://example.com", false},
        {"MAILTO:a@example.com", false},
        {" mailto:a@example.com", false},
        {"mailto:a@example.com\n", false},
        {"mailto:\xc3\xa9@example.com", false},
        {"a@example.com", false},
        {"", false},
    };
    char text[VAPID_SUBJECT_MAX + 1];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (vapid_subject_ok(arena, str_from(cases[i].text)) != cases[i].ok)
            fail_msg("%s", cases[i].text);
    memset(text, 'a', sizeof(text));
    memcpy(text, "https://example.com/", 20);
    assert_true(vapid_subject_ok(arena, (struct str){text, VAPID_SUBJECT_MAX}));
    assert_false(vapid_subject_ok(arena, (struct str){text, VAPID_SUBJECT_MAX + 1}));
}

/* A quote in the subject is escaped in the token's JSON. */
TEST_WITH(test_subject_escaped, setup, teardown)
{
    struct jws jws;
    struct str ignored;

    struct vapid *other = vapid_new(key, STR("mailto:\"a\\b\"@example.com"));
    parts(vapid_header(other, arena, STR(ORIGIN), NOW), &jws, &ignored);
    assert_true(str_is(jws_claim_str(&jws, "sub"), "mailto:\"a\\b\"@example.com"));
    vapid_free(other);
    vapid_free(NULL);
}
