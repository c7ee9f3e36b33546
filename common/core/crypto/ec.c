/* P-256 keys and ES256 by OpenSSL's EVP interface. */
#include "crypto/ec.h"

#include <limits.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/panic.h"
#include "crypto/ossl_private.h"

enum { POINT_BYTES = EC_POINT_BYTES, POINT_UNCOMPRESSED = 4, DER_SIGNATURE_MAX = 80 };

struct ec_key {
    EVP_PKEY *pkey;
    bool has_private;
    uint8_t point[POINT_BYTES]; /* 4, x, y */
};

/* Takes ownership of pkey. */
static struct ec_key *key_new(EVP_PKEY *pkey, bool has_private)
{
    size_t point_bytes = 0;
    struct ec_key *key = calloc(1, sizeof(*key));
    MUST(key != NULL);
    key->pkey = pkey;
    key->has_private = has_private;
    ossl_must(EVP_PKEY_get_octet_string_param(
                  pkey, OSSL_PKEY_PARAM_PUB_KEY, key->point, sizeof(key->point), &point_bytes),
              "public point");
    MUST(point_bytes == POINT_BYTES && key->point[0] == POINT_UNCOMPRESSED);
    return key;
}

struct ec_key *ec_key_generate(void)
{
    ossl_errors_clear();
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    ossl_must(pkey != NULL, "P-256 key");
    return key_new(pkey, true);
}

static bool is_p256(EVP_PKEY *pkey)
{
    char group[64];
    size_t group_bytes = 0;
    return EVP_PKEY_is_a(pkey, "EC") == 1 &&
           EVP_PKEY_get_group_name(pkey, group, sizeof(group), &group_bytes) == 1 &&
           OBJ_txt2nid(group) == NID_X9_62_prime256v1;
}

/* Returns whether the private number is in range, the point on the curve, and both match. */
static bool ec_pair_is_valid(EVP_PKEY *pkey)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
    ossl_must(ctx != NULL, "key context");
    bool sound = EVP_PKEY_check(ctx) == 1;
    EVP_PKEY_CTX_free(ctx);
    return sound;
}

/* Selects the uncompressed form for output; the key may have been read from the compressed form. */
static void point_uncompress(EVP_PKEY *pkey)
{
    ossl_must(EVP_PKEY_set_utf8_string_param(pkey,
                                             OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                             OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED),
              "point format");
}

int ec_key_from_pkcs8(struct str der, struct ec_key **ret_key)
{
    EVP_PKEY *pkey = ossl_from_pkcs8(der);
    if (!pkey)
        return EC_KEY_BAD;
    if (!is_p256(pkey) || !ec_pair_is_valid(pkey)) {
        EVP_PKEY_free(pkey);
        return EC_KEY_BAD;
    }
    point_uncompress(pkey);
    *ret_key = key_new(pkey, true);
    return 0;
}

/* Returns whether the point is on the curve and not the point at infinity. */
static bool ec_pkey_point_is_valid(EVP_PKEY *pkey)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
    ossl_must(ctx != NULL, "key context");
    bool sound = EVP_PKEY_public_check(ctx) == 1;
    EVP_PKEY_CTX_free(ctx);
    return sound;
}

int ec_key_from_spki(struct str der, struct ec_key **ret_key)
{
    if (der.len == 0 || der.len > LONG_MAX)
        return EC_KEY_BAD;
    ossl_errors_clear();
    const unsigned char *at = (const unsigned char *)der.ptr;
    EVP_PKEY *pkey = d2i_PUBKEY(NULL, &at, (long)der.len);
    if (!pkey)
        return EC_KEY_BAD;
    bool whole = at == (const unsigned char *)der.ptr + der.len;
    if (!whole || !is_p256(pkey) || !ec_pkey_point_is_valid(pkey)) {
        EVP_PKEY_free(pkey);
        return EC_KEY_BAD;
    }
    point_uncompress(pkey);
    *ret_key = key_new(pkey, false);
    return 0;
}

static EVP_PKEY *pkey_from_point(const uint8_t point[POINT_BYTES])
{
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    ossl_must(build != NULL, "parameters");
    ossl_must(OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0),
              "group");
    ossl_must(OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, POINT_BYTES),
              "point");
    return ossl_public_key("EC", build); /* NULL when the point is not on the curve */
}

int ec_key_from_jwk(struct arena *scratch, struct str x, struct str y, struct ec_key **ret_key)
{
    struct str x_bytes;
    struct str y_bytes;
    char point[POINT_BYTES] = {POINT_UNCOMPRESSED};

    if (!codec_b64url_decode(scratch, x, &x_bytes) || x_bytes.len != EC_COORDINATE_BYTES)
        return EC_KEY_BAD;
    if (!codec_b64url_decode(scratch, y, &y_bytes) || y_bytes.len != EC_COORDINATE_BYTES)
        return EC_KEY_BAD;
    memcpy(point + 1, x_bytes.ptr, EC_COORDINATE_BYTES);
    memcpy(point + 1 + EC_COORDINATE_BYTES, y_bytes.ptr, EC_COORDINATE_BYTES);
    return ec_key_from_point((struct str){point, sizeof(point)}, ret_key);
}

int ec_key_from_point(struct str point, struct ec_key **ret_key)
{
    if (point.len != POINT_BYTES || point.ptr[0] != POINT_UNCOMPRESSED)
        return EC_KEY_BAD;
    ossl_errors_clear();
    EVP_PKEY *pkey = pkey_from_point((const uint8_t *)point.ptr);
    if (!pkey)
        return EC_KEY_BAD;
    *ret_key = key_new(pkey, false);
    return 0;
}

void ec_key_free(struct ec_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pkey); /* wipes the private number */
    free(key);
}

void ec_key_free_deferred(void *key)
{
    ec_key_free(key);
}

bool ec_key_has_private(const struct ec_key *key)
{
    return key->has_private;
}

struct str ec_key_to_pkcs8(struct arena *arena, const struct ec_key *key)
{
    MUST(key->has_private);
    return ossl_to_pkcs8(arena, key->pkey);
}

void ec_key_jwk(struct arena *arena, const struct ec_key *key, struct str *ret_x, struct str *ret_y)
{
    const char *x = (const char *)key->point + 1;
    *ret_x = codec_b64url(arena, (struct str){x, EC_COORDINATE_BYTES});
    *ret_y = codec_b64url(arena, (struct str){x + EC_COORDINATE_BYTES, EC_COORDINATE_BYTES});
}

struct str ec_key_point(const struct ec_key *key)
{
    return (struct str){(const char *)key->point, sizeof(key->point)};
}

void ec_shared_secret(const struct ec_key *own,
                      const struct ec_key *peer,
                      uint8_t ret_secret[EC_COORDINATE_BYTES])
{
    size_t secret_bytes = EC_COORDINATE_BYTES;

    MUST(own->has_private);
    ossl_errors_clear();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, own->pkey, NULL);
    ossl_must(ctx != NULL && EVP_PKEY_derive_init(ctx), "agreement");
    /* No further check of the peer: the point of every ec_key is on the curve, and the cofactor
     * is 1. */
    ossl_must(EVP_PKEY_derive_set_peer_ex(ctx, peer->pkey, 0), "agreement peer");
    ossl_must(EVP_PKEY_derive(ctx, ret_secret, &secret_bytes), "agreement");
    MUST(secret_bytes == EC_COORDINATE_BYTES);
    EVP_PKEY_CTX_free(ctx);
}

void ec_sign_es256(const struct ec_key *key, struct str data, uint8_t ret_sig[EC_SIGNATURE_BYTES])
{
    uint8_t der[DER_SIGNATURE_MAX];
    size_t der_bytes = sizeof(der);

    MUST(key->has_private);
    ossl_errors_clear();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL && EVP_DigestSignInit(ctx, NULL, ossl_sha256(), NULL, key->pkey),
              "sign init");
    ossl_must(EVP_DigestSign(ctx, der, &der_bytes, (const uint8_t *)data.ptr, data.len), "sign");
    EVP_MD_CTX_free(ctx);

    const unsigned char *at = der;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)der_bytes);
    ossl_must(sig != NULL, "signature");
    MUST(BN_bn2binpad(ECDSA_SIG_get0_r(sig), ret_sig, EC_COORDINATE_BYTES) > 0);
    MUST(BN_bn2binpad(ECDSA_SIG_get0_s(sig), ret_sig + EC_COORDINATE_BYTES, EC_COORDINATE_BYTES) >
         0);
    ECDSA_SIG_free(sig);
}

/* Converts r||s to the DER that OpenSSL expects. Returns the length of the DER. */
static size_t signature_to_der(const uint8_t *raw, uint8_t ret_der[DER_SIGNATURE_MAX])
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, EC_COORDINATE_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(raw + EC_COORDINATE_BYTES, EC_COORDINATE_BYTES, NULL);
    ossl_must(sig != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(sig, r, s), "signature");
    int der_bytes = i2d_ECDSA_SIG(sig, NULL);
    MUST(der_bytes > 0 && der_bytes <= DER_SIGNATURE_MAX);
    unsigned char *at = ret_der;
    MUST(i2d_ECDSA_SIG(sig, &at) == der_bytes);
    ECDSA_SIG_free(sig);
    return (size_t)der_bytes;
}

bool ec_verify_es256(const struct ec_key *key, struct str data, struct str sig)
{
    uint8_t der[DER_SIGNATURE_MAX];

    if (sig.len != EC_SIGNATURE_BYTES)
        return false;
    ossl_errors_clear();
    size_t der_bytes = signature_to_der((const uint8_t *)sig.ptr, der);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, ossl_sha256(), NULL, key->pkey),
              "verify init");
    bool right = EVP_DigestVerify(ctx, der, der_bytes, (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(ctx);
    return right;
}
