/* Digests, AEAD, passwords and P-256 keys against published vectors and tampering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/codec.h"
#include "crypto/aead.h"
#include "crypto/ct.h"
#include "crypto/digest.h"
#include "crypto/ec.h"
#include "crypto/ec_agree.h"
#include "crypto/password.h"
#include "crypto/rsa_private.h"

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

static struct str repeat(char c, size_t count)
{
    char *text = arena_alloc(arena, count);
    memset(text, c, count);
    return (struct str){text, count};
}

static struct str unhex(const char *hex)
{
    struct str bytes;
    assert_true(codec_hex_decode(arena, str_from(hex), &bytes));
    return bytes;
}

static void assert_hex(const uint8_t *bytes, size_t count, const char *hex)
{
    assert_string_equal(
        arena_cstr(arena, codec_hex(arena, (struct str){(const char *)bytes, count})), hex);
}

/* FIPS 180-4 examples. */
TEST_WITH(test_sha256, setup, teardown)
{
    uint8_t hash[DIGEST_SHA256_BYTES];
    digest_sha256(STR("abc"), hash);
    assert_hex(hash, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_sha256(STR_NONE, hash);
    assert_hex(hash, 32, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_true(str_is(digest_sha256_hex(arena, STR("abc")),
                       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

TEST_WITH(test_sha256_stream, setup, teardown)
{
    uint8_t hash[DIGEST_SHA256_BYTES];
    struct digest digest;
    struct str chunk = repeat('a', 1000);
    digest_init(&digest);
    for (int i = 0; i < 1000; i++)
        digest_update(&digest, chunk);
    digest_final(&digest, hash);
    assert_hex(hash, 32, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");

    digest_done(&digest);
    digest_init(&digest);
    digest_update(&digest, chunk);
    digest_done(&digest);
    digest_done(&digest);
}

/* RFC 4231, cases 1 to 4, 6 and 7 (5 is about truncation), and the empty key. */
TEST_WITH(test_hmac, setup, teardown)
{
    struct {
        struct str key;
        struct str data;
        const char *hex;
    } cases[] = {
        {repeat(0x0b, 20),
         STR("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {STR("Jefe"),
         STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {repeat((char)0xaa, 20),
         repeat((char)0xdd, 50),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {unhex("0102030405060708090a0b0c0d0e0f10111213141516171819"),
         repeat((char)0xcd, 50),
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {repeat((char)0xaa, 131),
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {repeat((char)0xaa, 131),
         STR("This is a test using a larger than block-size key and a larger than block-size data. "
             "The key needs to be hashed before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
        {STR_NONE, STR_NONE, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t mac[DIGEST_SHA256_BYTES];
        digest_hmac_sha256(cases[i].key, cases[i].data, mac);
        assert_hex(mac, 32, cases[i].hex);
    }
}

/* RFC 5869 A.1 and A.3, first block. */
TEST_WITH(test_hkdf, setup, teardown)
{
    uint8_t key[DIGEST_SHA256_BYTES];
    digest_hkdf_sha256(
        repeat(0x0b, 22), unhex("000102030405060708090a0b0c"), unhex("f0f1f2f3f4f5f6f7f8f9"), key);
    assert_hex(key, 32, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    digest_hkdf_sha256(repeat(0x0b, 22), STR_NONE, STR_NONE, key);
    assert_hex(key, 32, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

TEST_WITH(test_ct_eq, setup, teardown)
{
    assert_true(ct_eq(STR_NONE, STR("")));
    assert_true(ct_eq(STR("a\0b"), STR("a\0b")));
    assert_false(ct_eq(STR("a\0b"), STR("a\0c")));
    assert_false(ct_eq(STR("abc"), STR("ab")));
    assert_false(ct_eq(STR("abc"), STR("Abc")));
}

static const struct aead_key keys[] = {
    {.bytes = {1, 2, 3}, .id = 7},
    {.bytes = {9, 8, 7}, .id = 0x01020304},
};

TEST_WITH(test_aead_roundtrip, setup, teardown)
{
    const struct str plains[] = {STR("s3cret"), STR(""), STR_NONE, STR("a\0b"), repeat('x', 70000)};
    for (size_t i = 0; i < ARRAY_LEN(plains); i++) {
        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            struct str opened;
            uint32_t id;
            struct str sealed = aead_seal(arena, &keys[k], plains[i], STR("p1/secrets/4"));
            assert_int_equal(sealed.len, plains[i].len + AEAD_OVERHEAD_BYTES);
            assert_int_equal(aead_key_id(sealed, &id), 0);
            assert_int_equal(id, keys[k].id);
            assert_int_equal(aead_open(arena, keys, 2, sealed, STR("p1/secrets/4"), &opened), 0);
            assert_true(str_eq(opened, plains[i]));
            assert_int_equal(opened.ptr[opened.len], '\0');
        }
    }
    struct str once = aead_seal(arena, &keys[0], STR("same"), STR_NONE);
    struct str twice = aead_seal(arena, &keys[0], STR("same"), STR_NONE);
    assert_false(str_eq(once, twice));
}

TEST_WITH(test_aead_tampering, setup, teardown)
{
    struct str opened = STR("untouched");
    struct str sealed = aead_seal(arena, &keys[0], STR("s3cret"), STR("p1/4"));
    char *bytes = arena_cstr(arena, sealed);

    for (size_t bit = 0; bit < sealed.len * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
        struct str changed = {bytes, sealed.len};
        assert_int_equal(aead_open(arena, keys, 2, changed, STR("p1/4"), &opened), AEAD_BAD);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    for (size_t len = 0; len < sealed.len; len++)
        assert_int_equal(
            aead_open(arena, keys, 2, (struct str){sealed.ptr, len}, STR("p1/4"), &opened),
            AEAD_BAD);
    assert_int_equal(aead_open(arena, keys, 2, sealed, STR("p1/5"), &opened), AEAD_BAD);
    assert_int_equal(aead_open(arena, keys, 2, sealed, STR_NONE, &opened), AEAD_BAD);
    assert_int_equal(aead_open(arena, keys + 1, 1, sealed, STR("p1/4"), &opened), AEAD_BAD);
    assert_int_equal(aead_open(arena, NULL, 0, sealed, STR("p1/4"), &opened), AEAD_BAD);
    struct aead_key wrong = keys[1];
    wrong.id = keys[0].id;
    assert_int_equal(aead_open(arena, &wrong, 1, sealed, STR("p1/4"), &opened), AEAD_BAD);
    assert_true(str_is(opened, "untouched"));
}

TEST_WITH(test_aead_derive, setup, teardown)
{
    struct aead_key one;
    struct aead_key same;
    struct aead_key other;
    aead_derive(&keys[0], STR("mail"), &one);
    aead_derive(&keys[0], STR("mail"), &same);
    aead_derive(&keys[0], STR("push"), &other);
    assert_memory_equal(one.bytes, same.bytes, sizeof(one.bytes));
    assert_memory_not_equal(one.bytes, other.bytes, sizeof(one.bytes));
    assert_memory_not_equal(one.bytes, keys[0].bytes, sizeof(one.bytes));
    assert_int_equal(one.id, keys[0].id);
    aead_key_wipe(&one);
    const uint8_t zeroes[AEAD_KEY_BYTES] = {0};
    assert_memory_equal(one.bytes, zeroes, sizeof(one.bytes));
}

TEST_WITH(test_password, setup, teardown)
{
    struct str head = arena_printf(arena, "$argon2id$v=19$m=%d,t=2,p=1$", PASSWORD_MEMORY_KIB);
    struct str phc = password_hash(arena, STR("correct horse"));
    assert_true(str_starts(phc, head));
    assert_int_equal(password_verify(phc, STR("correct horse")), PASSWORD_OK);
    assert_int_equal(password_verify(phc, STR("Correct horse")), PASSWORD_WRONG);
    assert_int_equal(password_verify(phc, STR("")), PASSWORD_WRONG);
    assert_false(str_eq(phc, password_hash(arena, STR("correct horse"))));
    static const uint8_t seeds[2][PASSWORD_SEED_BYTES] = {{1, 2, 3}, {4, 5, 6}};
    struct str nobody = password_dummy_hash(arena, seeds[0]);
    assert_true(str_eq(nobody, password_dummy_hash(arena, seeds[0])));
    assert_false(str_eq(nobody, password_dummy_hash(arena, seeds[1])));
    assert_true(str_starts(nobody, head));
    assert_int_equal(password_verify(nobody, STR("anything")), PASSWORD_WRONG);
    assert_int_equal(password_verify(nobody, STR_NONE), PASSWORD_WRONG);
}

/* All Unicode forms of a password are the same password. Older hashes are of the bytes as typed. */
TEST_WITH(test_password_forms, setup, teardown)
{
    struct str composed = STR("caf\xc3\xa9 am Abend");
    struct str decomposed = STR("cafe\xcc\x81 am Abend");
    assert_int_equal(password_verify(password_hash(arena, composed), decomposed), PASSWORD_OK);
    assert_int_equal(password_verify(password_hash(arena, decomposed), composed), PASSWORD_OK);
    assert_int_equal(password_verify(password_hash(arena, decomposed), decomposed), PASSWORD_OK);
    assert_int_equal(password_verify(password_hash(arena, composed), STR("cafe am Abend")),
                     PASSWORD_WRONG);
    /* A hash of the decomposed bytes, with less memory. */
    struct str before = STR("$argon2id$v=19$m=32,t=2,p=1$c29tZXNhbHQ$"
                            "EF8ggJdT8IGE+4Xq2xu/yKsI3PDqZULe2v+J9aHjP4s");
    assert_int_equal(password_verify(before, decomposed), PASSWORD_OK_REHASH);
    assert_int_equal(password_verify(before, composed), PASSWORD_WRONG);
    assert_int_equal(password_length(decomposed), password_length(composed));
    assert_int_equal(password_length(composed), 13);
    assert_int_equal(password_length(STR("\xff\xff")), 2);
    assert_int_equal(password_length(STR_NONE), 0);
}

/* NUL and non-text bytes count, up to the limit. */
TEST_WITH(test_password_bytes, setup, teardown)
{
    struct str phc = password_hash(arena, STR("ab\0cd"));
    assert_int_equal(password_verify(phc, STR("ab\0cd")), PASSWORD_OK);
    assert_int_equal(password_verify(phc, STR("ab")), PASSWORD_WRONG);
    assert_int_equal(password_verify(phc, STR("ab\0ce")), PASSWORD_WRONG);
    struct str longest = repeat((char)0xff, PASSWORD_MAX_BYTES);
    phc = password_hash(arena, longest);
    assert_int_equal(password_verify(phc, longest), PASSWORD_OK);
    longest.len--;
    assert_int_equal(password_verify(phc, longest), PASSWORD_WRONG);
}

TEST_WITH(test_password_phc, setup, teardown)
{
    /* A vector of the reference implementation: "password" with salt "somesalt". */
    struct str vector = STR("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$"
                            "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4");
    assert_int_not_equal(password_verify(vector, STR("password")), PASSWORD_WRONG);
    assert_int_equal(password_verify(vector, STR("Password")), PASSWORD_WRONG);
    /* A hash of the same password that takes less memory than new hashes. */
    struct str weak = STR("$argon2id$v=19$m=32,t=2,p=1$c29tZXNhbHQ$"
                          "MREcwFO6CnmcCIQUj9fsncNjHz6M9HbMqVIdTMxRNug");
    assert_int_equal(password_verify(weak, STR("password")), PASSWORD_OK_REHASH);
    assert_int_equal(password_verify(weak, STR("Password")), PASSWORD_WRONG);

    const char *bad[] = {
        "",
        "$",
        "plain",
        "$argon2id$v=19$",
        "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
        "$argon2id$v=16$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=4000000,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi",
        "$argon2id$v=19$m=256,t=2,p=200$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=2$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=-1,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4=",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4$",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(password_verify(str_from(bad[i]), STR("password")), PASSWORD_WRONG);
    assert_int_equal(password_verify(repeat('$', 5000), STR("password")), PASSWORD_WRONG);
}

TEST_WITH(test_ec_pkcs8, setup, teardown)
{
    uint8_t sig[EC_SIGNATURE_BYTES];
    struct ec_key *key = ec_key_generate();
    struct ec_key *copy = NULL;
    struct str der = ec_key_to_pkcs8(arena, key);
    assert_true(ec_key_has_private(key));
    assert_int_equal(ec_key_from_pkcs8(der, &copy), 0);
    assert_true(ec_key_has_private(copy));
    ec_sign_es256(copy, STR("data"), sig);
    struct str signature = {(const char *)sig, sizeof(sig)};
    assert_true(ec_verify_es256(key, STR("data"), signature));
    assert_false(ec_verify_es256(key, STR("date"), signature));
    ec_key_free(copy);

    copy = NULL;
    for (size_t len = 0; len < der.len; len++)
        assert_int_equal(ec_key_from_pkcs8((struct str){der.ptr, len}, &copy), EC_KEY_BAD);
    char *longer = arena_alloc(arena, der.len + 1);
    memcpy(longer, der.ptr, der.len);
    longer[der.len] = 'x';
    assert_int_equal(ec_key_from_pkcs8((struct str){longer, der.len + 1}, &copy), EC_KEY_BAD);
    assert_null(copy);
    ec_key_free(key);
    ec_key_free(NULL);
}

TEST_WITH(test_ec_jwk, setup, teardown)
{
    uint8_t sig[EC_SIGNATURE_BYTES];
    struct ec_key *key = ec_key_generate();
    struct ec_key *public = NULL;
    struct str x;
    struct str y;
    ec_key_jwk(arena, key, &x, &y);
    assert_int_equal(x.len, 43);
    assert_int_equal(ec_key_from_jwk(arena, x, y, &public), 0);
    assert_false(ec_key_has_private(public));
    ec_sign_es256(key, STR(""), sig);
    assert_true(ec_verify_es256(public, STR_NONE, (struct str){(const char *)sig, sizeof(sig)}));
    ec_key_free(public);

    public = NULL;
    assert_int_equal(ec_key_from_jwk(arena, y, x, &public), EC_KEY_BAD); /* off the curve */
    assert_int_equal(ec_key_from_jwk(arena, x, STR_NONE, &public), EC_KEY_BAD);
    assert_int_equal(ec_key_from_jwk(arena, STR("AAAA"), y, &public), EC_KEY_BAD);
    struct str zero = codec_b64url(arena, repeat('\0', 32));
    assert_int_equal(ec_key_from_jwk(arena, zero, zero, &public), EC_KEY_BAD);
    assert_null(public);
    ec_key_free(key);
}

/* Both sides of a key agreement compute the same secret. */
TEST(test_ec_agree)
{
    struct ec_key *holder = ec_key_generate();
    struct ec_key *made = NULL;
    uint8_t point[EC_POINT_BYTES], again[EC_POINT_BYTES];
    uint8_t ours[EC_COORDINATE_BYTES], theirs[EC_COORDINATE_BYTES];

    for (int i = 0; i < 50; i++) {
        assert_int_equal(ec_agree(ec_key_point(holder), point, ours), 0);
        assert_int_equal(ec_key_from_point((struct str){(char *)point, sizeof(point)}, &made), 0);
        ec_shared_secret(holder, made, theirs);
        assert_memory_equal(ours, theirs, sizeof(ours));
        ec_key_free(made);
    }
    assert_int_equal(ec_agree(ec_key_point(holder), again, theirs), 0);
    assert_memory_not_equal(again, point, sizeof(point));
    assert_memory_not_equal(ours, theirs, sizeof(ours));
    ec_key_free(holder);
}

TEST(test_ec_points)
{
    struct ec_key *key = ec_key_generate();
    uint8_t point[EC_POINT_BYTES + 1] = {0}, own[EC_POINT_BYTES], secret[EC_COORDINATE_BYTES];
    struct str text = {(char *)point, EC_POINT_BYTES};

    assert_false(ec_point_is_valid(text)); /* the mark of the point at infinity, too long */
    assert_false(ec_point_is_valid((struct str){(char *)point, 1}));
    memcpy(point, ec_key_point(key).ptr, EC_POINT_BYTES);
    assert_true(ec_point_is_valid(text));
    assert_false(ec_point_is_valid((struct str){(char *)point, EC_POINT_BYTES + 1}));
    assert_false(ec_point_is_valid((struct str){(char *)point, EC_POINT_BYTES - 1}));
    for (uint8_t mark = 0; mark < 8; mark++) { /* compressed and hybrid forms */
        point[0] = mark;
        assert_int_equal(ec_point_is_valid(text), mark == 4);
    }
    point[0] = 4;
    point[EC_POINT_BYTES - 1] ^= 1; /* off the curve */
    assert_false(ec_point_is_valid(text));
    assert_int_equal(ec_agree(text, own, secret), EC_KEY_BAD);
    memset(point + 1, 0xff, EC_POINT_BYTES - 1); /* coordinates above the field */
    assert_int_equal(ec_agree(text, own, secret), EC_KEY_BAD);
    ec_key_free(key);
}

/* A signature with a changed bit, another length, or numbers that fooled other implementations is
 * refused. */
TEST_WITH(test_ec_signature_tampering, setup, teardown)
{
    uint8_t sig[EC_SIGNATURE_BYTES + 1] = {0};
    struct ec_key *key = ec_key_generate();
    ec_sign_es256(key, STR("data"), sig);
    for (size_t i = 0; i < EC_SIGNATURE_BYTES; i++) {
        sig[i] ^= 0x10;
        assert_false(
            ec_verify_es256(key, STR("data"), (struct str){(const char *)sig, EC_SIGNATURE_BYTES}));
        sig[i] ^= 0x10;
    }
    for (size_t len = 0; len <= sizeof(sig); len++)
        assert_int_equal(ec_verify_es256(key, STR("data"), (struct str){(const char *)sig, len}),
                         len == EC_SIGNATURE_BYTES);
    assert_false(ec_verify_es256(key, STR("data"), repeat('\0', EC_SIGNATURE_BYTES)));
    assert_false(ec_verify_es256(key, STR("data"), repeat((char)0xff, EC_SIGNATURE_BYTES)));
    /* r = s = n, the group order */
    struct str order = unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
                             "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    assert_false(ec_verify_es256(key, STR("data"), order));
    ec_key_free(key);
}

TEST_WITH(test_rsa_key_limits, setup, teardown)
{
    struct str e = unhex("010001");
    assert_false(rsa_verify_rs256(STR_NONE, e, STR("data"), repeat('a', 256)));
    assert_false(rsa_verify_rs256(repeat((char)0xff, 128), e, STR("data"), repeat('a', 128)));
    assert_false(rsa_verify_rs256(repeat((char)0xff, 1025), e, STR("data"), repeat('a', 1025)));
    assert_false(rsa_verify_rs256(repeat((char)0xff, 5000), e, STR("data"), repeat('a', 256)));
    assert_false(rsa_verify_rs256(repeat((char)0xff, 256), e, STR("data"), STR_NONE));
    /* With e = 1 any padded hash would be its own signature. */
    assert_false(
        rsa_verify_rs256(repeat((char)0xff, 256), unhex("01"), STR("data"), repeat('a', 256)));
    assert_false(rsa_verify_rs256(repeat((char)0xff, 256), STR_NONE, STR("data"), STR_NONE));
}
