/* Tokens of taps are bound to project, send, category and an hour, and any other token is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/codec.h"
#include "push/tap_token.h"

#define PROJECT  INT64_C(7)
#define SEND     INT64_C(281474976710657) /* above 2^48 */
#define CATEGORY "order"
#define SENT     INT64_C(1760000000999)
#define HOUR     INT64_C(3600000)

static const struct aead_key keys[] = {
    {.bytes = {1, 2, 3}, .id = 1},
    {.bytes = {4, 5, 6}, .id = 2},
};
static const struct tap order = {.project = PROJECT, .category = STR_INIT(CATEGORY), .send = SEND};
static const struct tap nothing = {.project = PROJECT, .send = SEND};
static struct arena *arena;
static struct str token;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    token = tap_token_sign(arena, &keys[1], &order, SENT);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static int verify_at(struct str text, int64_t now_ms)
{
    int64_t send = 0;
    int rc = tap_token_verify(arena, keys, ARRAY_LEN(keys), &order, text, now_ms, &send);
    assert_int_equal(send, rc == 0 ? SEND : 0);
    return rc;
}

TEST_WITH(test_good, setup, teardown)
{
    assert_int_equal(token.len, TAP_TOKEN_BYTES);
    assert_int_equal(verify_at(token, SENT), 0);
    /* another process that continues the send makes the same token */
    assert_true(str_eq(token, tap_token_sign(arena, &keys[1], &order, SENT)));
    /* a token that a retired key has signed is still valid */
    assert_int_equal(verify_at(tap_token_sign(arena, &keys[0], &order, SENT), SENT), 0);
}

TEST_WITH(test_hour, setup, teardown)
{
    assert_int_equal(verify_at(token, SENT - 24 * HOUR), 0); /* clocks differ */
    assert_int_equal(verify_at(token, SENT - 999 + HOUR - 1), 0);
    assert_int_equal(verify_at(token, SENT - 999 + HOUR), TAP_TOKEN_EXPIRED);
    assert_int_equal(verify_at(token, INT64_MAX), TAP_TOKEN_EXPIRED);
}

TEST_WITH(test_of_others, setup, teardown)
{
    static const struct {
        int64_t project;
        const char *category;
    } cases[] = {
        {8, CATEGORY},
        {-PROJECT, CATEGORY},
        {0, CATEGORY},
        {PROJECT, ""},
        {PROJECT, "orde"},
        {PROJECT, "orders"},
        {PROJECT, "ORDER"},
    };
    int64_t send = 0;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct tap claim = {.project = cases[i].project,
                                  .category = str_from(cases[i].category)};
        assert_int_equal(tap_token_verify(arena, keys, ARRAY_LEN(keys), &claim, token, SENT, &send),
                         TAP_TOKEN_BAD);
    }
    /* a send without a category has no valid token, not even for the empty category */
    struct str without = tap_token_sign(arena, &keys[1], &nothing, SENT);
    assert_int_equal(tap_token_verify(arena, keys, ARRAY_LEN(keys), &nothing, without, SENT, &send),
                     TAP_TOKEN_BAD);
    assert_int_equal(verify_at(without, SENT), TAP_TOKEN_BAD);
    /* a key that the project no longer has, or another key with the same id */
    assert_int_equal(tap_token_verify(arena, keys, 1, &order, token, SENT, &send), TAP_TOKEN_BAD);
    const struct aead_key other = {.bytes = {9}, .id = 2};
    assert_int_equal(tap_token_verify(arena, &other, 1, &order, token, SENT, &send), TAP_TOKEN_BAD);
    assert_int_equal(tap_token_verify(arena, NULL, 0, &order, token, SENT, &send), TAP_TOKEN_BAD);
}

/* A change of any bit makes the token invalid: version, key, send, end and signature. */
TEST_WITH(test_changed, setup, teardown)
{
    struct str decoded;

    assert_true(codec_b64url_decode(arena, token, &decoded));
    char *bytes = arena_cstr(arena, decoded);
    for (size_t bit = 0; bit < decoded.len * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        struct str forged = codec_b64url(arena, (struct str){bytes, decoded.len});
        assert_int_equal(verify_at(forged, SENT), TAP_TOKEN_BAD);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t len = 0; len < token.len; len++)
        assert_int_equal(verify_at((struct str){token.ptr, len}, SENT), TAP_TOKEN_BAD);
    assert_int_equal(verify_at(arena_printf(arena, "%.*sA", STR_ARG(token)), SENT), TAP_TOKEN_BAD);
    assert_int_equal(verify_at(arena_printf(arena, "%.*s=", STR_ARG(token)), SENT), TAP_TOKEN_BAD);
    char *text = arena_cstr(arena, token);
    text[10] = '!';
    assert_int_equal(verify_at(str_from(text), SENT), TAP_TOKEN_BAD);
}

/* tap_token_key_id() returns the key id in a token without verifying the token. */
TEST_WITH(test_key_id, setup, teardown)
{
    uint32_t id = 0;

    assert_true(tap_token_key_id(arena, token, &id));
    assert_int_equal(id, 2);
    assert_false(tap_token_key_id(arena, STR("x"), &id));
    assert_false(tap_token_key_id(arena, (struct str){token.ptr, token.len - 1}, &id));
    assert_false(tap_token_key_id(arena, STR_NONE, &id));
}
