/*
 * T5: signatures and tokens at the edges, modelled on the Wycheproof vectors (ECDSA in P1363 form,
 * RSASSA-PKCS1-v1_5, JSON Web Signature) and generated here. A signature that is valid at the
 * limits of its numbers must be accepted; one that is a step beyond them, or encoded differently,
 * must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/rsa.h>

#include "base/codec.h"
#include "crypto/digest.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "crypto/rsa_private.h"

static struct arena *arena;
static EC_GROUP *group;
static BIGNUM *order;
static BN_CTX *ctx;
static EVP_PKEY *rsa;
static struct str rsa_n, rsa_e;

enum { RSA_BYTES = 256, SIZE = EC_COORDINATE_BYTES };

static struct str bytes_of(const void *bytes, size_t count)
{
    return (struct str){bytes, count};
}

static struct str number(const BIGNUM *n, size_t count)
{
    unsigned char *bytes = arena_alloc(arena, count);
    assert_true(BN_bn2binpad(n, bytes, (int)count) > 0);
    return bytes_of(bytes, count);
}

static struct str join(struct str a, struct str b)
{
    char *both = arena_alloc(arena, a.len + b.len + 1);
    memcpy(both, a.ptr, a.len);
    memcpy(both + a.len, b.ptr, b.len);
    return bytes_of(both, a.len + b.len);
}

static BIGNUM *hex(const char *text)
{
    BIGNUM *n = NULL;
    assert_true(BN_hex2bn(&n, text) > 0);
    return n;
}

static int setup(void **state UNUSED)
{
    BIGNUM *n = NULL;
    BIGNUM *e = NULL;

    arena = arena_new(0);
    group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    order = BN_dup(EC_GROUP_get0_order(group));
    ctx = BN_CTX_new();
    rsa = EVP_RSA_gen(2048);
    if (!EVP_PKEY_get_bn_param(rsa, OSSL_PKEY_PARAM_RSA_N, &n) ||
        !EVP_PKEY_get_bn_param(rsa, OSSL_PKEY_PARAM_RSA_E, &e))
        return 1;
    rsa_n = number(n, RSA_BYTES);
    rsa_e = number(e, 3);
    BN_free(n);
    BN_free(e);
    return 0;
}

static int teardown(void **state UNUSED)
{
    EVP_PKEY_free(rsa);
    EC_GROUP_free(group);
    BN_free(order);
    BN_CTX_free(ctx);
    arena_free(arena);
    return 0;
}

/* --- ECDSA --- */

/* Computes x and y of k times the generator. */
static void multiple(const BIGNUM *k, BIGNUM *ret_x, BIGNUM *ret_y)
{
    EC_POINT *point = EC_POINT_new(group);
    assert_true(EC_POINT_mul(group, point, k, NULL, NULL, ctx) == 1);
    assert_true(EC_POINT_get_affine_coordinates(group, point, ret_x, ret_y, ctx) == 1);
    EC_POINT_free(point);
}

static int key_of(const BIGNUM *x, const BIGNUM *y, struct ec_key **ret_key)
{
    return ec_key_from_jwk(
        arena, codec_b64url(arena, number(x, SIZE)), codec_b64url(arena, number(y, SIZE)), ret_key);
}

static BIGNUM *hash_of(struct str data)
{
    uint8_t hash[DIGEST_SHA256_BYTES];
    digest_sha256(data, hash);
    return BN_bin2bn(hash, sizeof(hash), NULL);
}

/* Signatures with a chosen nonce k and part s. The key d = (s k - e) / r makes them valid, however
 * odd their numbers look. */
TEST(test_es256_extreme_and_valid)
{
    const struct str data = STR("header.payload");
    const char *const chosen[] = {"1", "2", "3", "-1", "-2", "half", "A5A5", "80000000"};
    BIGNUM *e = hash_of(data);

    for (size_t i = 0; i < ARRAY_LEN(chosen) * ARRAY_LEN(chosen); i++) {
        BIGNUM *pick[2]; /* k, s */
        BIGNUM *d = BN_new(), *r = BN_new(), *x = BN_new(), *y = BN_new();
        struct ec_key *key = NULL;
        for (size_t j = 0; j < 2; j++) {
            const char *text = chosen[j == 0 ? i / ARRAY_LEN(chosen) : i % ARRAY_LEN(chosen)];
            pick[j] = hex(strcmp(text, "half") == 0 ? "0" : text);
            if (strcmp(text, "half") == 0)
                assert_true(BN_rshift1(pick[j], order) == 1);
            assert_true(BN_nnmod(pick[j], pick[j], order, ctx) == 1);
        }
        multiple(pick[0], x, y);
        assert_true(BN_nnmod(r, x, order, ctx) == 1);
        assert_true(BN_mod_mul(d, pick[0], pick[1], order, ctx) == 1);
        assert_true(BN_mod_sub(d, d, e, order, ctx) == 1);
        BIGNUM *inverse = BN_mod_inverse(NULL, r, order, ctx);
        assert_true(BN_mod_mul(d, d, inverse, order, ctx) == 1);
        multiple(d, x, y);
        assert_int_equal(key_of(x, y, &key), 0);
        struct str good = join(number(r, SIZE), number(pick[1], SIZE));
        if (!ec_verify_es256(key, data, good))
            fail_msg("k and s number %zu are valid and were refused", i);
        assert_false(ec_verify_es256(key, STR("header.payloae"), good));
        ec_key_free(key);
        /* The key with the negated y is another key. */
        assert_true(BN_sub(y, EC_GROUP_get0_field(group), y) == 1);
        assert_int_equal(key_of(x, y, &key), 0);
        assert_false(ec_verify_es256(key, data, good));
        ec_key_free(key);
        BN_free(pick[0]);
        BN_free(pick[1]);
        BN_free(d);
        BN_free(r);
        BN_free(x);
        BN_free(y);
        BN_free(inverse);
    }
    BN_free(e);
}

/* Every pair of numbers at the limits; for a random key no pair is a valid signature. */
TEST(test_es256_numbers_out_of_range)
{
    const char *const texts[] = {
        "0",
        "1",
        "2",
        "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632550", /* n - 1 */
        "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551", /* n */
        "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632552",
        "7FFFFFFF800000007FFFFFFFFFFFFFFFDE737D56D38BCF4279DCE5617E3192A8", /* n / 2 */
        "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFE", /* p - 1 */
        "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF", /* p */
        "FFFFFFFF00000001000000000000000000000000000000000000000000000000", /* p's upper half */
        "8000000000000000000000000000000000000000000000000000000000000000",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
        "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296", /* x of the generator */
    };
    struct ec_key *key = ec_key_generate();
    uint8_t right[EC_SIGNATURE_BYTES];

    ec_sign_es256(key, STR("data"), right);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        BIGNUM *a = hex(texts[i]);
        struct str odd = number(a, SIZE);
        for (size_t j = 0; j < ARRAY_LEN(texts); j++) {
            BIGNUM *b = hex(texts[j]);
            if (ec_verify_es256(key, STR("data"), join(odd, number(b, SIZE))))
                fail_msg("%s, %s was taken", texts[i], texts[j]);
            BN_free(b);
        }
        assert_false(ec_verify_es256(key, STR("data"), join(odd, bytes_of(right + SIZE, SIZE))));
        assert_false(ec_verify_es256(key, STR("data"), join(bytes_of(right, SIZE), odd)));
        BN_free(a);
    }
    ec_key_free(key);
}

/* Returns the DER form of r and s, which other standards use for signatures. */
static struct str der_of(struct str sig)
{
    ECDSA_SIG *parts = ECDSA_SIG_new();
    unsigned char *der = arena_alloc(arena, 80);
    unsigned char *at = der;
    assert_true(ECDSA_SIG_set0(parts,
                               BN_bin2bn((const unsigned char *)sig.ptr, SIZE, NULL),
                               BN_bin2bn((const unsigned char *)sig.ptr + SIZE, SIZE, NULL)));
    int len = i2d_ECDSA_SIG(parts, &at);
    assert_true(len > 0);
    ECDSA_SIG_free(parts);
    return bytes_of(der, (size_t)len);
}

/* A valid signature in other encodings, and with numbers that are congruent to its own. */
TEST(test_es256_forms)
{
    struct ec_key *key = ec_key_generate();
    bool zero_r = false, zero_s = false;

    for (int i = 0; i < 20000 && !(zero_r && zero_s); i++) {
        uint8_t sig[EC_SIGNATURE_BYTES];
        struct str data = bytes_of(&i, sizeof(i));
        ec_sign_es256(key, data, sig);
        struct str raw = bytes_of(sig, sizeof(sig));
        struct str r = bytes_of(sig, SIZE), s = bytes_of(sig + SIZE, SIZE);
        if (sig[0] != 0 && sig[SIZE] != 0 && i > 8)
            continue;
        zero_r = zero_r || sig[0] == 0;
        zero_s = zero_s || sig[SIZE] == 0;
        assert_true(ec_verify_es256(key, data, raw));
        const struct str wrong[] = {
            der_of(raw),
            bytes_of(der_of(raw).ptr, EC_SIGNATURE_BYTES),
            bytes_of(sig + 1, sizeof(sig) - 1),
            bytes_of(sig, sizeof(sig) - 1),
            bytes_of(sig, SIZE),
            STR_NONE,
            join(r, bytes_of(sig + SIZE + 1, SIZE - 1)), /* s without its first byte */
            join(bytes_of(sig + 1, SIZE - 1), s),        /* r without its first byte */
            join(STR("\0"), raw),
            join(raw, STR("\0")),
            join(join(STR("\0"), r), join(STR("\0"), s)), /* padded to 33 bytes each */
            join(s, r),
            join(r, r),
            join(raw, raw),
        };
        for (size_t j = 0; j < ARRAY_LEN(wrong); j++)
            if (ec_verify_es256(key, data, wrong[j]))
                fail_msg("form %zu of signature %d was taken", j, i);
        /* n - s is valid too, by the standard, and none of our code identifies a token by its
         * signature. r + n and s + n must be refused: they are out of range or do not fit. */
        BIGNUM *n_s = BN_bin2bn(sig + SIZE, SIZE, NULL);
        assert_true(BN_sub(n_s, order, n_s) == 1);
        assert_true(ec_verify_es256(key, data, join(r, number(n_s, SIZE))));
        BN_free(n_s);
        for (size_t j = 0; j < 2; j++) {
            BIGNUM *sum = BN_bin2bn(sig + j * SIZE, SIZE, NULL);
            assert_true(BN_add(sum, sum, order) == 1);
            if (BN_num_bytes(sum) <= SIZE)
                assert_false(ec_verify_es256(
                    key, data, j == 0 ? join(number(sum, SIZE), s) : join(r, number(sum, SIZE))));
            BN_free(sum);
        }
    }
    assert_true(zero_r && zero_s);
    ec_key_free(key);
}

TEST(test_es256_keys)
{
    struct ec_key *key = ec_key_generate();
    struct ec_key *none = NULL;
    struct str x, y, x_bytes, y_bytes;

    ec_key_jwk(arena, key, &x, &y);
    assert_true(codec_b64url_decode(arena, x, &x_bytes) && codec_b64url_decode(arena, y, &y_bytes));
    const struct str zero = STR("\0");
    const struct str zeroes = bytes_of((char[SIZE]){0}, SIZE);
    /* a point of secp256k1 is valid on its own curve and must be refused here */
    const BIGNUM *p = EC_GROUP_get0_field(group);
    BIGNUM *koblitz_x = hex("79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798");
    BIGNUM *koblitz_y = hex("483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8");
    const struct {
        struct str x, y;
    } wrong[] = {
        {join(zero, x_bytes), y_bytes},
        {x_bytes, join(zero, y_bytes)},
        {join(zero, x_bytes), join(zero, y_bytes)},
        {bytes_of(x_bytes.ptr, SIZE - 1), y_bytes},
        {x_bytes, bytes_of(y_bytes.ptr, SIZE - 1)},
        {x_bytes, STR_NONE},
        {join(x_bytes, y_bytes), STR_NONE},
        {join(x_bytes, y_bytes), join(x_bytes, y_bytes)},
        {zeroes, zeroes},
        {x_bytes, zeroes},
        {zeroes, y_bytes},
        {x_bytes, x_bytes},
        {number(p, SIZE), y_bytes},
        {x_bytes, number(p, SIZE)},
        {number(koblitz_x, SIZE), number(koblitz_y, SIZE)},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int rc = ec_key_from_jwk(
            arena, codec_b64url(arena, wrong[i].x), codec_b64url(arena, wrong[i].y), &none);
        if (rc != EC_KEY_BAD)
            fail_msg("key %zu was taken", i);
    }
    assert_null(none);
    BN_free(koblitz_x);
    BN_free(koblitz_y);
    ec_key_free(key);
}

/* --- RSA --- */

/* Applies the private exponent to em: a signature with any padding. */
static struct str rsa_raw(const uint8_t em[RSA_BYTES])
{
    uint8_t *sig = arena_alloc(arena, RSA_BYTES);
    size_t len = RSA_BYTES;
    EVP_PKEY_CTX *sign = EVP_PKEY_CTX_new(rsa, NULL);
    assert_true(EVP_PKEY_sign_init(sign) == 1);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(sign, RSA_NO_PADDING) == 1);
    assert_true(EVP_PKEY_sign(sign, sig, &len, em, RSA_BYTES) == 1 && len == RSA_BYTES);
    EVP_PKEY_CTX_free(sign);
    return bytes_of(sig, RSA_BYTES);
}

static bool rsa_takes(struct str sig)
{
    return rsa_verify_rs256(rsa_n, rsa_e, STR("data"), sig);
}

/* Writes 00 01 FF..FF 00 info hash into `len` bytes; `info` is copied unchanged. */
static void pad(uint8_t *em, size_t len, struct str info, struct str hash)
{
    size_t tail = info.len + hash.len;
    em[0] = 0;
    em[1] = 1;
    memset(em + 2, 0xff, len - tail - 3);
    em[len - tail - 1] = 0;
    memcpy(em + len - tail, info.ptr, info.len);
    memcpy(em + len - hash.len, hash.ptr, hash.len);
}

#define SHA256_INFO "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"

TEST(test_rs256_padding)
{
    uint8_t em[RSA_BYTES], digest[DIGEST_SHA256_BYTES], reversed[DIGEST_SHA256_BYTES];
    const struct str info = STR(SHA256_INFO);

    digest_sha256(STR("data"), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        reversed[i] = digest[sizeof(digest) - 1 - i];
    const struct str hash = bytes_of(digest, sizeof(digest));
    pad(em, sizeof(em), info, hash);
    struct str right = rsa_raw(em);
    assert_true(rsa_takes(right));

    /* One bit of each byte of the padded text is changed. */
    for (size_t i = 1; i < sizeof(em); i++) {
        em[i] ^= 1;
        if (rsa_takes(rsa_raw(em)))
            fail_msg("changed at %zu, was taken", i);
        em[i] ^= 1;
    }
    /* The algorithm's name and its hash in other encodings: without or with other parameters, with
     * lengths in more bytes than needed, with extra bytes inside or at the end, of other hashes. */
    const struct {
        struct str info, hash;
    } others[] = {
        {STR(""), hash},
        {STR("\x04\x20"), hash},
        {STR("\x30\x2f\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x04\x20"), hash},
        {STR("\x30\x81\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"),
         hash},
        {STR("\x30\x32\x30\x81\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"),
         hash},
        {STR("\x30\x32\x30\x0e\x06\x81\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"),
         hash},
        {STR("\x30\x32\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x81\x20"),
         hash},
        {STR("\x30\x80\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"), hash},
        {STR("\x30\x33\x30\x0f\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x02\x00\x00\x04"
             "\x20"),
         hash},
        {STR("\x30\x33\x30\x0f\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x30\x00\x05\x00\x04"
             "\x20"),
         hash},
        {STR("\x31\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"), hash},
        {STR("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x24\x20"), hash},
        {STR("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x04\x05\x00\x04\x20"), hash},
        {STR("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x20"), hash},
        {STR("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x20"), hash},
        {STR("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x08\x05\x00\x04\x20"), hash},
        {STR("\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14"), bytes_of(digest, 20)},
        {info, bytes_of(digest, 31)},
        {info, bytes_of(digest, 0)},
        {info, bytes_of(reversed, 32)},
        {STR("\x30\x32\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x21"),
         join(hash, STR("\0"))},
        {info, join(hash, STR("\0"))},
        {info, join(hash, STR("\x05\x00"))},
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        pad(em, sizeof(em), others[i].info, others[i].hash);
        if (rsa_takes(rsa_raw(em)))
            fail_msg("other form %zu was taken", i);
    }
    /* Padding that ends early with arbitrary bytes after the hash (the forgery for small
     * exponents), or that has no beginning or a different one. */
    for (size_t whole = 3 + info.len + hash.len; whole < sizeof(em); whole += 17) {
        memset(em, 0xa5, sizeof(em));
        pad(em, whole, info, hash);
        if (rsa_takes(rsa_raw(em)))
            fail_msg("padding of %zu bytes was taken", whole);
        memset(em, 0, sizeof(em) - whole);
        pad(em + sizeof(em) - whole, whole, info, hash); /* zeroes before it */
        assert_false(rsa_takes(rsa_raw(em)));
    }
    static const uint8_t types[] = {0, 2, 3, 0x10, 0x81, 0xff};
    for (size_t i = 0; i < sizeof(types); i++) {
        pad(em, sizeof(em), info, hash);
        em[1] = types[i];
        assert_false(rsa_takes(rsa_raw(em)));
        memset(em + 2, 0, sizeof(em) - 2 - info.len - hash.len);
        assert_false(rsa_takes(rsa_raw(em)));
    }
    pad(em, sizeof(em), info, hash);
    em[100] = 0; /* two ends of the padding */
    assert_false(rsa_takes(rsa_raw(em)));
}

/* A valid signature in other lengths, and numbers at the limits. */
TEST(test_rs256_numbers)
{
    uint8_t em[RSA_BYTES], digest[DIGEST_SHA256_BYTES];
    BIGNUM *n = BN_bin2bn((const unsigned char *)rsa_n.ptr, RSA_BYTES, NULL);
    BIGNUM *odd = BN_new();

    digest_sha256(STR("data"), digest);
    pad(em, sizeof(em), STR(SHA256_INFO), bytes_of(digest, sizeof(digest)));
    struct str right = rsa_raw(em);
    assert_true(rsa_takes(right));
    assert_true(
        rsa_verify_rs256(join(STR("\0"), rsa_n), join(STR("\0"), rsa_e), STR("data"), right));
    assert_false(rsa_takes(join(STR("\0"), right)));
    assert_false(rsa_takes(join(right, STR("\0"))));
    assert_false(rsa_takes(bytes_of(right.ptr, RSA_BYTES - 1)));
    assert_false(rsa_takes(bytes_of(right.ptr + 1, RSA_BYTES - 1)));
    assert_false(rsa_takes(STR_NONE));
    assert_false(rsa_takes(bytes_of(em, sizeof(em)))); /* the padded text itself */
    /* right + n is congruent to `right`; where it fits it is refused, and otherwise it needs one
     * more byte */
    assert_true(BN_bin2bn((const unsigned char *)right.ptr, RSA_BYTES, odd) != NULL);
    assert_true(BN_add(odd, odd, n) == 1);
    assert_false(rsa_takes(number(odd, BN_num_bytes(odd) > RSA_BYTES ? RSA_BYTES + 1 : RSA_BYTES)));
    for (int i = -2; i <= 2; i++) {
        assert_true(BN_set_word(odd, (BN_ULONG)(i < 0 ? -i : i)) == 1);
        assert_false(rsa_takes(number(odd, RSA_BYTES)));
        if (i < 0)
            assert_true(BN_sub(odd, n, odd) == 1);
        else
            assert_true(BN_add(odd, n, odd) == 1);
        assert_false(rsa_takes(number(odd, RSA_BYTES)));
    }
    BN_free(odd);
    BN_free(n);
}

/* RSASSA-PSS with the same key is another algorithm. */
TEST(test_rs256_pss)
{
    uint8_t sig[RSA_BYTES];
    size_t len = sizeof(sig);
    EVP_PKEY_CTX *padding = NULL;
    EVP_MD_CTX *sign = EVP_MD_CTX_new();

    assert_true(EVP_DigestSignInit(sign, &padding, EVP_sha256(), NULL, rsa) == 1);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1);
    assert_true(EVP_DigestSign(sign, sig, &len, (const uint8_t *)"data", 4) == 1);
    EVP_MD_CTX_free(sign);
    assert_false(rsa_takes(bytes_of(sig, len)));
    for (int nid = 0; nid < 3; nid++) { /* correct padding, other hashes */
        const EVP_MD *hashes[] = {EVP_sha1(), EVP_sha384(), EVP_sha512()};
        sign = EVP_MD_CTX_new();
        len = sizeof(sig);
        assert_true(EVP_DigestSignInit(sign, NULL, hashes[nid], NULL, rsa) == 1);
        assert_true(EVP_DigestSign(sign, sig, &len, (const uint8_t *)"data", 4) == 1);
        EVP_MD_CTX_free(sign);
        assert_false(rsa_takes(bytes_of(sig, len)));
    }
}

/* --- tokens --- */

static int take(struct str token, const struct ec_key *key)
{
    struct jws jws;
    int rc = jws_parse(arena, token, &jws);
    return rc ? rc : jws_verify_es256(&jws, key);
}

static struct str replaced(struct str text, const char *what, const char *by)
{
    const char *whole = arena_cstr(arena, text);
    const char *at = strstr(whole, what);
    assert_non_null(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - whole), whole, by, at + strlen(what));
}

/* Parts that are left out, doubled, exchanged or encoded differently. */
TEST(test_token_parts)
{
    struct ec_key *key = ec_key_generate();
    struct ec_key *other = ec_key_generate();
    struct str good = jws_sign_es256(arena, key, STR("k"), STR("{\"sub\":\"7\"}"));
    struct str rest = good;
    const char *h = arena_cstr(arena, str_split(&rest, '.'));
    const char *p = arena_cstr(arena, str_split(&rest, '.'));
    const char *s = arena_cstr(arena, rest);
    const char *foreign =
        arena_cstr(arena, jws_sign_es256(arena, other, STR("k"), STR("{\"sub\":\"7\"}")));

    assert_int_equal(take(good, key), 0);
    assert_int_equal(take(good, other), JWS_BAD_SIGNATURE);
    const struct str wrong[] = {
        arena_printf(arena, "%s.%s.", h, p),
        arena_printf(arena, "%s.%s", h, p),
        arena_printf(arena, "%s..%s", h, s),
        arena_printf(arena, "%s.%s", h, s),
        arena_printf(arena, ".%s.%s", p, s),
        arena_printf(arena, "%s.%s", p, s),
        arena_printf(arena, ".%s.", p),
        arena_printf(arena, "%s", p),
        arena_printf(arena, "%s..", h),
        arena_printf(arena, "..%s", s),
        arena_printf(arena, "%s.%s.%s.", h, p, s),
        arena_printf(arena, ".%s.%s.%s", h, p, s),
        arena_printf(arena, "%s.%s.%s.foo", h, p, s),
        arena_printf(arena, "%s.%s.%s.%s", h, p, s, s),
        arena_printf(arena, "%s.%s.%s.%s.%s", h, h, p, s, s), /* five parts: an encrypted token */
        arena_printf(arena, "%s.%s.%s", p, h, s),
        arena_printf(arena, "%s.%s.%s", h, h, s),
        arena_printf(arena, "%s,%s,%s", h, p, s),
        arena_printf(arena, "%s.%s.%s", h, p, strrchr(foreign, '.') + 1),
        arena_printf(arena, "%s.%s.%s==", h, p, s),
        arena_printf(arena, "%s=.%s.%s", h, p, s),
        arena_printf(arena, "%s.%s.%s\r\n", h, p, s),
        arena_printf(arena, "%s.%s.%s ", h, p, s),
        arena_printf(arena, "%s.%s.%sA", h, p, s),
        arena_printf(arena, "%s.%s.%s\xc3\xa9", h, p, s),
        arena_printf(arena, "%s\n.%s.%s", h, p, s),
        arena_printf(arena, "%s.%s .%s", h, p, s),
        arena_printf(arena, "Bearer %s.%s.%s", h, p, s),
        arena_printf(arena, "\"%s.%s.%s\"", h, p, s),
        join(good, STR("\0")),
        /* the JSON forms (RFC 7515 section 7.2) */
        arena_printf(
            arena, "{\"payload\":\"%s\",\"protected\":\"%s\",\"signature\":\"%s\"}", p, h, s),
        arena_printf(
            arena,
            "{\"payload\":\"%s\",\"signatures\":[{\"protected\":\"%s\",\"signature\":\"%s\"}]}",
            p,
            h,
            s),
        /* alg none, with any of the other parts */
        arena_printf(arena, "eyJhbGciOiJub25lIn0.%s.", p),
        arena_printf(arena, "eyJhbGciOiJub25lIn0.%s.%s", p, s),
        arena_printf(arena, "eyJhbGciOiIifQ.%s.%s", p, s),
        /* the alphabet of plain base64 */
        replaced(arena_printf(arena, "%s.%s.%s", h, p, s), s, "++//"),
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (take(wrong[i], key) == 0)
            fail_msg("%.*s was taken", STR_ARG(wrong[i]));
    /* Every character is changed once, and left out once. */
    for (size_t i = 0; i < good.len; i++) {
        char *changed = arena_cstr(arena, good);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_int_not_equal(take(bytes_of(changed, good.len), key), 0);
        memmove(changed + i, good.ptr + i + 1, good.len - i - 1);
        assert_int_not_equal(take(bytes_of(changed, good.len - 1), key), 0);
    }
    ec_key_free(key);
    ec_key_free(other);
}

/* The key in the header of a token is not used. */
TEST(test_token_brings_its_key)
{
    struct ec_key *ours = ec_key_generate();
    struct ec_key *theirs = ec_key_generate();
    uint8_t sig[EC_SIGNATURE_BYTES];
    struct str x, y;

    ec_key_jwk(arena, theirs, &x, &y);
    struct str header =
        arena_printf(arena,
                     "{\"alg\":\"ES256\",\"kid\":\"k\",\"jwk\":{\"kty\":\"EC\",\"crv\":"
                     "\"P-256\",\"kid\":\"k\",\"x\":\"%.*s\",\"y\":\"%.*s\"}}",
                     STR_ARG(x),
                     STR_ARG(y));
    struct str input = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(codec_b64url(arena, header)),
                                    STR_ARG(codec_b64url(arena, STR("{}"))));
    ec_sign_es256(theirs, input, sig);
    struct str token = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(input),
                                    STR_ARG(codec_b64url(arena, bytes_of(sig, sizeof(sig)))));
    assert_int_equal(take(token, ours), JWS_BAD_SIGNATURE);
    assert_int_equal(take(token, theirs), 0);
    ec_key_free(ours);
    ec_key_free(theirs);
}

GROUP(setup, teardown)
