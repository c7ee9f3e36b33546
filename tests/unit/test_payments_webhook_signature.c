/* Stripe-Signature: a signature by the processor's own library is accepted, at any point of a
 * rotation and at both ends of the tolerance. A header that differs by a byte, a second or a
 * spelling is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "payments/webhook_signature.h"

#define T       1700000000
#define GOOD    "4c15fb2a43f93ef61eaa3e0893866d57cad9cad4223242cfb96f362480cb4021"
#define ZEROS   "0000000000000000000000000000000000000000000000000000000000000000"
#define BODY    "{\"id\":\"evt_1\",\"object\":\"event\"}"
#define SECONDS INT64_C(1000)

static const struct webhook_secret one[] = {{.secret = STR_INIT("whsec_test")}};

static int check_at(const char *header, int64_t now_ms)
{
    return webhook_signature_check(str_from(header), STR(BODY), one, 1, now_ms);
}

static int check(const char *header)
{
    return check_at(header, T * SECONDS);
}

/* Headers made with the processor's own library. */
TEST(test_signed_elsewhere)
{
    static const struct {
        const char *secret, *body, *header;
        int64_t time_s;
    } cases[] = {
        {"whsec_test", BODY, "t=1700000000,v1=" GOOD, T},
        {"whsec_AbC123",
         "{\n  \"id\": \"evt_2\",\n  \"note\": \"caf\xc3\xa9 \xe2\x9c\x93\"\n}\n",
         "t=1760000000,v1=cb9671fc19298c4feef4c002778caf7a49ec601298d1f8cbd0a17faaed3d0d86",
         1760000000},
        {"whsec_test",
         "{}",
         "t=1,v1=7500d5d4be4b3ef07af1fe56f7d522d135cdaa7530de557e67cc1049c52de094",
         1},
        {"whsec_test", BODY, "t=1700000000,v1=" ZEROS ",v1=" GOOD ",v0=deadbeef", T},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct webhook_secret secret = {.secret = str_from(cases[i].secret)};
        assert_int_equal(webhook_signature_check(str_from(cases[i].header),
                                                 str_from(cases[i].body),
                                                 &secret,
                                                 1,
                                                 cases[i].time_s * SECONDS),
                         0);
    }
}

TEST(test_headers)
{
    assert_int_equal(check("t=1700000000,v1=" GOOD), 0);
    assert_int_equal(check("v1=" GOOD ",t=1700000000"), 0);
    assert_int_equal(check("t=1700000000, v1=" GOOD), 0);
    assert_int_equal(check("v0=x,t=1700000000,v2=y,v1=" GOOD), 0);
    static const char *const malformed[] = {
        "",
        ",",
        "t",
        "t=1700000000",
        "v1=" GOOD,
        "t=1700000000,v0=" GOOD,
        "t=1700000000,t=1700000000,v1=" GOOD,
        "t=,v1=" GOOD,
        "t=17e8,v1=" GOOD,
        "t=+1700000000,v1=" GOOD,
        "t=01700000000,v1=" GOOD,
        "t=1700000000 ,v1=" GOOD ",,",
        "t=99999999999999999999,v1=" GOOD,
        "t=1700000000,v1",
        "T=1700000000,V1=" GOOD,
    };
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        assert_int_equal(check(malformed[i]), WEBHOOK_SIGNATURE_MALFORMED);
    static const char *const wrong[] = {
        "t=1700000000,v1=",
        "t=1700000000,v1=" ZEROS,
        "t=1700000000,v1=" GOOD "0",
        "t=1700000001,v1=" GOOD,
        "t=1700000000,v1=4C15FB2A43F93EF61EAA3E0893866D57CAD9CAD4223242CFB96F362480CB4021",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(check(wrong[i]), WEBHOOK_SIGNATURE_WRONG);
}

/* W1: A body with a byte more, less or changed is refused, and so is the same JSON written
 * differently. */
TEST(test_bodies)
{
    static const char *const bodies[] = {
        "{\"id\":\"evt_2\",\"object\":\"event\"}",
        "{\"id\":\"evt_1\", \"object\":\"event\"}",
        "{\"object\":\"event\",\"id\":\"evt_1\"}",
        BODY "\n",
        "",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        assert_int_equal(
            webhook_signature_check(
                STR("t=1700000000,v1=" GOOD), str_from(bodies[i]), one, 1, T * SECONDS),
            WEBHOOK_SIGNATURE_WRONG);
}

TEST(test_many)
{
    struct arena *arena = arena_new(0);
    struct str header = STR("t=1700000000");

    for (int i = 1; i < WEBHOOK_V1_MAX; i++)
        header = arena_printf(arena, "%.*s,v1=" ZEROS, STR_ARG(header));
    struct str last = arena_printf(arena, "%.*s,v1=" GOOD, STR_ARG(header));
    assert_int_equal(webhook_signature_check(last, STR(BODY), one, 1, T * SECONDS), 0);
    struct str more = arena_printf(arena, "%.*s,v1=" ZEROS, STR_ARG(last));
    assert_int_equal(webhook_signature_check(more, STR(BODY), one, 1, T * SECONDS),
                     WEBHOOK_SIGNATURE_MALFORMED);
    char *long_header = arena_alloc(arena, WEBHOOK_HEADER_BYTES + 1);
    memset(long_header, ' ', WEBHOOK_HEADER_BYTES + 1);
    memcpy(long_header, last.ptr, last.len);
    assert_int_equal(
        webhook_signature_check(
            (struct str){long_header, WEBHOOK_HEADER_BYTES}, STR(BODY), one, 1, T * SECONDS),
        0);
    assert_int_equal(
        webhook_signature_check(
            (struct str){long_header, WEBHOOK_HEADER_BYTES + 1}, STR(BODY), one, 1, T * SECONDS),
        WEBHOOK_SIGNATURE_MALFORMED);
    arena_free(arena);
}

/* W2: A timestamp outside of the tolerance is refused. */
TEST(test_clock)
{
    const char *header = "t=1700000000,v1=" GOOD;

    assert_int_equal(check_at(header, (T + 300) * SECONDS + 999), 0);
    assert_int_equal(check_at(header, (T + 301) * SECONDS), WEBHOOK_SIGNATURE_STALE);
    assert_int_equal(check_at(header, (T - 300) * SECONDS), 0);
    assert_int_equal(check_at(header, (T - 300) * SECONDS - 1), WEBHOOK_SIGNATURE_STALE);
    assert_int_equal(check("t=-9223372036854775808,v1=" GOOD), WEBHOOK_SIGNATURE_STALE);
    assert_int_equal(check("t=9223372036854775807,v1=" GOOD), WEBHOOK_SIGNATURE_STALE);
}

/* W6: Any active secret verifies the signature. An expired secret does not count, nor an empty
 * one. */
TEST(test_rotation)
{
    struct webhook_secret secrets[] = {
        {.secret = STR_INIT("whsec_new")},
        {.secret = STR_INIT("whsec_test"), .expires_ms = T * SECONDS + 1},
        {.secret = STR_INIT("")},
    };
    struct str header = STR("t=1700000000,v1=" GOOD);

    assert_int_equal(webhook_signature_check(header, STR(BODY), secrets, 3, T * SECONDS), 0);
    assert_int_equal(webhook_signature_check(header, STR(BODY), secrets, 3, T * SECONDS + 1),
                     WEBHOOK_SIGNATURE_WRONG);
    assert_int_equal(webhook_signature_check(header, STR(BODY), secrets + 1, 2, T * SECONDS + 1),
                     WEBHOOK_SIGNATURE_NO_SECRET);
    assert_int_equal(webhook_signature_check(header, STR(BODY), NULL, 0, T * SECONDS),
                     WEBHOOK_SIGNATURE_NO_SECRET);
    /* An attacker could sign with an empty secret. */
    assert_int_equal(webhook_signature_check(header, STR(BODY), secrets + 2, 1, T * SECONDS),
                     WEBHOOK_SIGNATURE_NO_SECRET);
}
