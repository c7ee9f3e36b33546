/* RSA private keys and RS256 signing by OpenSSL's EVP interface. */
#include "crypto/rsa_key.h"

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "base/panic.h"
#include "crypto/ossl_private.h"

enum {
    PEM_BYTES_MAX = 16384,
    GENERATED_BITS = 2048,
    MODULUS_BITS_MIN = 2048,
    MODULUS_BITS_MAX = 8 * RSA_SIGNATURE_MAX
};

struct rsa_key {
    EVP_PKEY *pkey;
};

/* Returns no password. Without this function OpenSSL asks for a password at the terminal. */
static int rsa_password_refuse(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static EVP_PKEY *pem_read(struct str pem)
{
    if (pem.len == 0 || pem.len > PEM_BYTES_MAX)
        return NULL;
    BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    ossl_must(bio != NULL, "memory BIO");
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(bio, NULL, rsa_password_refuse, NULL);
    BIO_free(bio);
    return pkey;
}

/* Writes a signature of at most RSA_SIGNATURE_MAX bytes. Returns its length, 0 when the key cannot
 * sign. */
static size_t rsa_key_sign(EVP_PKEY *pkey, struct str data, uint8_t ret_sig[RSA_SIGNATURE_MAX])
{
    size_t sig_bytes = RSA_SIGNATURE_MAX;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL, "digest context");
    /* PKCS #1 v1.5 is the default padding of an RSA key. */
    bool done = EVP_DigestSignInit(ctx, NULL, ossl_sha256(), NULL, pkey) == 1 &&
                EVP_DigestSign(ctx, ret_sig, &sig_bytes, (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(ctx);
    return done ? sig_bytes : 0;
}

static bool rsa_key_verify(EVP_PKEY *pkey, struct str data, const uint8_t *sig, size_t sig_bytes)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL, "digest context");
    bool right = EVP_DigestVerifyInit(ctx, NULL, ossl_sha256(), NULL, pkey) == 1 &&
                 EVP_DigestVerify(ctx, sig, sig_bytes, (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(ctx);
    return right;
}

static bool rsa_key_is_usable(EVP_PKEY *pkey)
{
    uint8_t sig[RSA_SIGNATURE_MAX];
    const struct str probe = STR("probe");

    if (EVP_PKEY_is_a(pkey, "RSA") != 1 || EVP_PKEY_get_bits(pkey) < MODULUS_BITS_MIN ||
        EVP_PKEY_get_bits(pkey) > MODULUS_BITS_MAX)
        return false;
    size_t sig_bytes = rsa_key_sign(pkey, probe, sig);
    return sig_bytes > 0 && rsa_key_verify(pkey, probe, sig, sig_bytes);
}

/* Takes ownership of pkey. */
static struct rsa_key *rsa_key_new(EVP_PKEY *pkey)
{
    struct rsa_key *key = calloc(1, sizeof(*key));

    MUST(key != NULL);
    key->pkey = pkey;
    return key;
}

/* Takes ownership of pkey, which may be NULL, and checks it. */
static int rsa_key_take(EVP_PKEY *pkey, struct rsa_key **ret_key)
{
    if (!pkey)
        return RSA_KEY_BAD;
    if (!rsa_key_is_usable(pkey)) {
        EVP_PKEY_free(pkey);
        return RSA_KEY_BAD;
    }
    *ret_key = rsa_key_new(pkey);
    return 0;
}

int rsa_key_from_pem(struct str pem, struct rsa_key **ret_key)
{
    ossl_errors_clear();
    return rsa_key_take(pem_read(pem), ret_key);
}

int rsa_key_from_pkcs8(struct str der, struct rsa_key **ret_key)
{
    return rsa_key_take(ossl_from_pkcs8(der), ret_key);
}

struct rsa_key *rsa_key_generate(void)
{
    ossl_errors_clear();
    EVP_PKEY *pkey = EVP_RSA_gen(GENERATED_BITS);
    ossl_must(pkey != NULL, "RSA key");
    return rsa_key_new(pkey);
}

struct str rsa_key_to_pkcs8(struct arena *arena, const struct rsa_key *key)
{
    return ossl_to_pkcs8(arena, key->pkey);
}

struct str rsa_key_spki(struct arena *arena, const struct rsa_key *key)
{
    ossl_errors_clear();
    int der_bytes = i2d_PUBKEY(key->pkey, NULL);
    MUST(der_bytes > 0);
    unsigned char *der = arena_alloc(arena, (size_t)der_bytes);
    unsigned char *at = der;
    MUST(i2d_PUBKEY(key->pkey, &at) == der_bytes);
    return (struct str){(const char *)der, (size_t)der_bytes};
}

void rsa_key_free(struct rsa_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pkey);
    free(key);
}

void rsa_key_free_deferred(void *key)
{
    rsa_key_free(key);
}

struct str rsa_sign_rs256(struct arena *arena, const struct rsa_key *key, struct str data)
{
    uint8_t *sig = arena_alloc(arena, RSA_SIGNATURE_MAX);

    ossl_errors_clear();
    size_t sig_bytes = rsa_key_sign(key->pkey, data, sig);
    ossl_must(sig_bytes > 0, "RSA signature");
    return (struct str){(const char *)sig, sig_bytes};
}
