/* Certificate chains: a valid one, and each way in which a chain can be invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"
#include <openssl/x509.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/rand.h"
#include "crypto/ec.h"
#include "crypto/x5c.h"
#include "store_chain.h"

#define AT_S   1800000000LL
#define AT_MS  (AT_S * 1000)
#define DAY_MS (CHAIN_DAY_S * 1000)

static struct arena *arena;

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

static void anchors_release(void *ptr)
{
    x5c_anchors_free(ptr);
}

static struct x5c_anchors *trust(struct str pem)
{
    struct x5c_anchors *anchors = NULL;

    assert_int_equal(x5c_anchors_from_pem(pem, &anchors), 0);
    arena_defer(arena, anchors_release, anchors);
    return anchors;
}

static void json_release(void *root)
{
    json_decref(root);
}

static const json_t *header_of(const struct str *entries, size_t count)
{
    json_t *header = json_object();
    json_t *list = json_array();

    arena_defer(arena, json_release, header);
    json_object_set_new(header, "x5c", list);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_stringn(entries[i].ptr, entries[i].len));
    return header;
}

static int verify_entries(const struct x5c_anchors *anchors,
                          const struct str *entries,
                          size_t count,
                          int64_t at_ms)
{
    const struct ec_key *key = NULL;
    int rc = x5c_verify(arena, anchors, header_of(entries, count), at_ms, &key);

    assert_int_equal(rc == 0, key != NULL);
    return rc;
}

/* Verifies a chain made as `wish` says, under its own root, at AT_MS. */
static int verify_wish(const struct chain_wish *wish)
{
    const struct chain *chain = chain_new(arena, AT_S, wish);

    return verify_entries(trust(chain->pem), chain->x5c, 3, AT_MS);
}

TEST_WITH(test_store_root, setup, teardown)
{
    /* SHA-256 of Apple Root CA - G3. */
    static const char fingerprint[] =
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179";
    struct x5c_anchors *anchors = x5c_anchors_default();
    uint8_t digest[X5C_SHA256_BYTES];

    assert_true(x5c_anchor_sha256(anchors, 0, digest));
    assert_true(
        str_is(codec_hex(arena, (struct str){(const char *)digest, sizeof(digest)}), fingerprint));
    assert_false(x5c_anchor_sha256(anchors, 1, digest));
    x5c_anchors_free(anchors);
    x5c_anchors_free(NULL);
}

TEST_WITH(test_good, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct x5c_anchors *anchors = trust(chain->pem);
    const struct ec_key *key;
    const struct ec_key *again;
    struct str x;
    struct str y;
    struct str wanted_x;
    struct str wanted_y;

    assert_int_equal(x5c_verify(arena, anchors, header_of(chain->x5c, 3), AT_MS, &key), 0);
    ec_key_jwk(arena, key, &x, &y);
    ec_key_jwk(arena, chain->signer, &wanted_x, &wanted_y);
    assert_true(str_eq(x, wanted_x) && str_eq(y, wanted_y));
    assert_false(ec_key_has_private(key));
    /* The second result is cached. */
    assert_int_equal(x5c_verify(arena, anchors, header_of(chain->x5c, 3), AT_MS, &again), 0);
    assert_ptr_equal(key, again);
}

TEST_WITH(test_third_entry_is_ignored, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct chain *other = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct str entries[] = {chain->x5c[0], chain->x5c[1], other->x5c[2]};
    const struct str nonsense[] = {chain->x5c[0], chain->x5c[1], STR("not a certificate")};

    assert_int_equal(verify_entries(trust(chain->pem), entries, 3, AT_MS), 0);
    assert_int_equal(verify_entries(trust(chain->pem), nonsense, 3, AT_MS), 0);
    /* A third-party root in this entry gains nothing. */
    assert_int_equal(verify_entries(trust(other->pem), chain->x5c, 3, AT_MS), X5C_UNTRUSTED);
    struct x5c_anchors *store = x5c_anchors_default();
    assert_int_equal(verify_entries(store, chain->x5c, 3, AT_MS), X5C_UNTRUSTED);
    x5c_anchors_free(store);
}

TEST_WITH(test_count_and_order, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct x5c_anchors *anchors = trust(chain->pem);
    const struct str *x5c = chain->x5c;
    const struct str four[] = {x5c[0], x5c[1], x5c[2], x5c[2]};
    const struct str swapped[] = {x5c[1], x5c[0], x5c[2]};
    const struct str backwards[] = {x5c[2], x5c[1], x5c[0]};
    const struct str twice[] = {x5c[0], x5c[0], x5c[2]};
    const struct str root[] = {x5c[0], x5c[2], x5c[2]};

    assert_int_equal(verify_entries(anchors, x5c, 0, AT_MS), X5C_BAD);
    assert_int_equal(verify_entries(anchors, x5c, 1, AT_MS), X5C_BAD);
    assert_int_equal(verify_entries(anchors, x5c, 2, AT_MS), X5C_BAD);
    assert_int_equal(verify_entries(anchors, four, 4, AT_MS), X5C_BAD);
    assert_int_equal(verify_entries(anchors, swapped, 3, AT_MS), X5C_UNTRUSTED);
    assert_int_equal(verify_entries(anchors, backwards, 3, AT_MS), X5C_UNTRUSTED);
    assert_int_equal(verify_entries(anchors, twice, 3, AT_MS), X5C_UNTRUSTED);
    assert_int_equal(verify_entries(anchors, root, 3, AT_MS), X5C_UNTRUSTED);
    /* Failures are not cached as valid, and the valid chain is accepted afterwards. */
    assert_int_equal(verify_entries(anchors, swapped, 3, AT_MS), X5C_UNTRUSTED);
    assert_int_equal(verify_entries(anchors, x5c, 3, AT_MS), 0);
    assert_int_equal(verify_entries(anchors, swapped, 3, AT_MS), X5C_UNTRUSTED);
}

TEST_WITH(test_wrong_header, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct x5c_anchors *anchors = trust(chain->pem);
    static const char *const headers[] = {"{}",
                                          "{\"x5c\":null}",
                                          "{\"x5c\":\"a\"}",
                                          "{\"x5c\":{}}",
                                          "{\"x5c\":[1,2,3]}",
                                          "{\"x5c\":[\"\",\"\",\"\"]}",
                                          "{\"x5c\":[null,null,null]}"};
    const struct ec_key *key;

    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        json_t *header = json_loads(headers[i], 0, NULL);
        assert_non_null(header);
        assert_int_equal(x5c_verify(arena, anchors, header, AT_MS, &key), X5C_BAD);
        json_decref(header);
    }
}

TEST_WITH(test_encoding, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct x5c_anchors *anchors = trust(chain->pem);
    struct str der;

    assert_true(codec_b64_decode(arena, chain->x5c[0], &der));
    struct str longer = arena_printf(arena, "%.*s", STR_ARG(der));
    char *bytes = arena_alloc(arena, der.len + 1);
    memcpy(bytes, der.ptr, der.len);
    bytes[der.len] = 0;
    longer = codec_b64(arena, (struct str){bytes, der.len + 1});
    struct str shorter = codec_b64(arena, (struct str){bytes, der.len - 1});
    struct str url = codec_b64url(arena, der);
    struct str huge = arena_printf(arena, "%0*d", 20000, 0);
    const struct str wrong[] = {longer, shorter, huge, STR("AAAA"), STR("====")};

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        const struct str entries[] = {wrong[i], chain->x5c[1], chain->x5c[2]};
        assert_int_equal(verify_entries(anchors, entries, 3, AT_MS), X5C_BAD);
        const struct str second[] = {chain->x5c[0], wrong[i], chain->x5c[2]};
        assert_int_equal(verify_entries(anchors, second, 3, AT_MS), X5C_BAD);
    }
    /* RFC 7515 requires base64, so base64url is refused where it differs. */
    if (!str_eq(url, chain->x5c[0])) {
        const struct str entries[] = {url, chain->x5c[1], chain->x5c[2]};
        assert_int_equal(verify_entries(anchors, entries, 3, AT_MS), X5C_BAD);
    }
}

/* The chain is refused when any bit of leaf or intermediate is flipped. */
TEST_WITH(test_any_bit, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct x5c_anchors *anchors = trust(chain->pem);

    for (size_t entry = 0; entry < 2; entry++) {
        struct str der;
        assert_true(codec_b64_decode(arena, chain->x5c[entry], &der));
        for (size_t i = 0; i < der.len; i += 3) {
            char *bytes = arena_alloc(arena, der.len);
            struct str entries[] = {chain->x5c[0], chain->x5c[1], chain->x5c[2]};
            memcpy(bytes, der.ptr, der.len);
            bytes[i] = (char)(bytes[i] ^ (1 << (rand_u64() % 8)));
            entries[entry] = codec_b64(arena, (struct str){bytes, der.len});
            assert_int_not_equal(verify_entries(anchors, entries, 3, AT_MS), 0);
        }
    }
}

TEST_WITH(test_mixed_chains, setup, teardown)
{
    const struct chain *one = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct chain *two = chain_new(arena, AT_S, &(struct chain_wish){0});
    const struct str foreign_leaf[] = {two->x5c[0], one->x5c[1], one->x5c[2]};
    const struct str foreign_authority[] = {one->x5c[0], two->x5c[1], one->x5c[2]};
    const struct x5c_anchors *anchors = trust(one->pem);

    assert_int_equal(verify_entries(anchors, foreign_leaf, 3, AT_MS), X5C_UNTRUSTED);
    assert_int_equal(verify_entries(anchors, foreign_authority, 3, AT_MS), X5C_UNTRUSTED);
    /* Both roots are trusted: their names are the same, their keys differ. */
    const struct x5c_anchors *both =
        trust(arena_printf(arena, "%.*s%.*s", STR_ARG(one->pem), STR_ARG(two->pem)));
    assert_int_equal(verify_entries(both, one->x5c, 3, AT_MS), 0);
    assert_int_equal(verify_entries(both, two->x5c, 3, AT_MS), 0);
    assert_int_equal(verify_entries(both, foreign_leaf, 3, AT_MS), X5C_UNTRUSTED);
}

TEST_WITH(test_markers_and_authority, setup, teardown)
{
    assert_int_equal(verify_wish(&(struct chain_wish){.no_leaf_marker = true}), X5C_NO_MARKER);
    assert_int_equal(verify_wish(&(struct chain_wish){.no_intermediate_marker = true}),
                     X5C_NO_MARKER);
    assert_int_equal(verify_wish(&(struct chain_wish){.no_ca = true}), X5C_UNTRUSTED);
    assert_int_equal(verify_wish(&(struct chain_wish){.other_issuer = true}), X5C_UNTRUSTED);
    assert_int_equal(verify_wish(&(struct chain_wish){.sha1 = true}), X5C_UNTRUSTED);
    assert_int_equal(verify_wish(&(struct chain_wish){.critical = true}), X5C_UNTRUSTED);
    assert_int_equal(verify_wish(&(struct chain_wish){.leaf_curve = "P-384"}), X5C_UNTRUSTED);
    assert_int_equal(verify_wish(&(struct chain_wish){.leaf_curve = "secp256k1"}), X5C_UNTRUSTED);
}

/* Each of the three certificates is checked for its validity, with a minute's grace, also when the
 * chain is cached. */
static void check_span(const struct chain_wish *wish, long days)
{
    const struct chain *chain = chain_new(arena, AT_S, wish);
    const struct x5c_anchors *anchors = trust(chain->pem);
    const int64_t from_ms = AT_MS - DAY_MS;
    const int64_t to_ms = AT_MS + days * DAY_MS;

    assert_int_equal(verify_entries(anchors, chain->x5c, 3, to_ms + 60001), X5C_EXPIRED);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, AT_MS), 0);
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, to_ms + 60000), 0);
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, to_ms + 60001), X5C_EXPIRED);
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, from_ms - 60000), 0);
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, from_ms - 60001), X5C_EXPIRED);
    }
}

TEST_WITH(test_validity, setup, teardown)
{
    check_span(&(struct chain_wish){0}, 365);
    check_span(&(struct chain_wish){.leaf_days = 10}, 10);
    check_span(&(struct chain_wish){.intermediate_days = 20}, 20);
    check_span(&(struct chain_wish){.root_days = 30}, 30);
}

/* More chains than the cache holds. A chain that was cached for one set of roots is not valid for
 * another. */
TEST_WITH(test_cache, setup, teardown)
{
    const struct chain *first = chain_new(arena, AT_S, &(struct chain_wish){0});
    struct x5c_anchors *anchors;

    assert_int_equal(x5c_anchors_from_pem(first->pem, &anchors), 0);
    assert_int_equal(verify_entries(anchors, first->x5c, 3, AT_MS), 0);
    for (int i = 0; i < 40; i++) {
        const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
        assert_int_equal(verify_entries(trust(chain->pem), chain->x5c, 3, AT_MS), 0);
        assert_int_equal(verify_entries(anchors, first->x5c, 3, AT_MS), 0);
        assert_int_equal(verify_entries(anchors, chain->x5c, 3, AT_MS), X5C_UNTRUSTED);
    }
    x5c_anchors_free(anchors);
    /* The next set of roots may have the same address in memory. */
    const struct chain *other = chain_new(arena, AT_S, &(struct chain_wish){0});
    assert_int_equal(x5c_anchors_from_pem(other->pem, &anchors), 0);
    assert_int_equal(verify_entries(anchors, first->x5c, 3, AT_MS), X5C_UNTRUSTED);
    x5c_anchors_free(anchors);
}

TEST_WITH(test_anchors, setup, teardown)
{
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){.no_ca = true});
    struct str no_authority = chain_pem(arena, chain->intermediate);
    struct str cut = (struct str){chain->pem.ptr, chain->pem.len - 60};
    struct str spoilt = arena_printf(arena, "%.*s%.*s", STR_ARG(chain->pem), STR_ARG(cut));
    const struct str bad[] = {STR_NONE,
                              STR("nothing here"),
                              STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                              no_authority,
                              cut,
                              spoilt};
    struct x5c_anchors *anchors = NULL;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(x5c_anchors_from_pem(bad[i], &anchors), X5C_BAD);
    assert_null(anchors);
    /* Files of roots may have text around the blocks. */
    assert_non_null(trust(arena_printf(arena, "# roots\n%.*s\n# end\n", STR_ARG(chain->pem))));
}

/* ec_key_from_spki() accepts exactly one whole key that lies on the curve. */
TEST_WITH(test_spki, setup, teardown)
{
    struct ec_key *key = NULL;
    const struct chain *chain = chain_new(arena, AT_S, &(struct chain_wish){0});
    unsigned char *der = NULL;
    int bytes = i2d_PUBKEY(chain->leaf_key, &der);
    struct str whole = {(const char *)der, (size_t)bytes};

    assert_int_equal(ec_key_from_spki(whole, &key), 0);
    ec_key_free(key);
    assert_int_equal(ec_key_from_spki(STR_NONE, &key), EC_KEY_BAD);
    assert_int_equal(ec_key_from_spki((struct str){whole.ptr, whole.len - 1}, &key), EC_KEY_BAD);
    struct str longer = arena_printf(arena, "%*s", bytes + 1, "");
    memcpy((char *)longer.ptr, der, (size_t)bytes);
    assert_int_equal(ec_key_from_spki(longer, &key), EC_KEY_BAD);
    der[bytes - 1] ^= 1; /* off the curve */
    assert_int_equal(ec_key_from_spki(whole, &key), EC_KEY_BAD);
    OPENSSL_free(der);
}
