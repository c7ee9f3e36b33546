/* RS256 verification by OpenSSL's EVP interface. */
#include "crypto/rsa_private.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>

#include "crypto/ossl_private.h"

enum {
    MODULUS_BITS_MIN = 2048,
    MODULUS_BITS_MAX = 8192,
    EXPONENT_BITS_MAX = 32,
    NUMBER_BYTES_MAX = MODULUS_BITS_MAX / 8 + 1, /* one leading zero is common */
};

static bool rsa_numbers_are_acceptable(const BIGNUM *n, const BIGNUM *e)
{
    int bits = BN_num_bits(n);
    return bits >= MODULUS_BITS_MIN && bits <= MODULUS_BITS_MAX && BN_is_odd(n) &&
           BN_num_bits(e) <= EXPONENT_BITS_MAX && BN_is_odd(e) && !BN_is_one(e);
}

static EVP_PKEY *pkey_from_numbers(const BIGNUM *n, const BIGNUM *e)
{
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    ossl_must(build != NULL, "parameters");
    ossl_must(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n), "modulus");
    ossl_must(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e), "exponent");
    return ossl_public_key("RSA", build);
}

static bool rsa_verify(EVP_PKEY *pkey, struct str data, struct str sig)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL, "digest context");
    /* PKCS #1 v1.5 is the default padding of an RSA key. */
    bool right = EVP_DigestVerifyInit(ctx, NULL, ossl_sha256(), NULL, pkey) == 1 &&
                 EVP_DigestVerify(ctx,
                                  (const unsigned char *)sig.ptr,
                                  sig.len,
                                  (const unsigned char *)data.ptr,
                                  data.len) == 1;
    EVP_MD_CTX_free(ctx);
    return right;
}

bool rsa_verify_rs256(struct str n, struct str e, struct str data, struct str sig)
{
    if (n.len == 0 || n.len > NUMBER_BYTES_MAX || e.len == 0 || e.len > NUMBER_BYTES_MAX)
        return false;
    ossl_errors_clear();
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    ossl_must(modulus != NULL && exponent != NULL, "number");
    EVP_PKEY *pkey =
        rsa_numbers_are_acceptable(modulus, exponent) ? pkey_from_numbers(modulus, exponent) : NULL;
    BN_free(modulus);
    BN_free(exponent);
    bool right = pkey && rsa_verify(pkey, data, sig);
    EVP_PKEY_free(pkey);
    return right;
}
