/* OpenSSL algorithms, fetched once. */
#include "crypto/ossl_private.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/x509.h>
#include <pthread.h>

#include "base/panic.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static EVP_CIPHER *aes256_gcm;
static EVP_CIPHER *aes128_gcm;
static EVP_MAC_CTX *hmac_template;

static void ossl_algorithms_fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    ossl_must(sha256 != NULL, "SHA2-256");
    aes256_gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    ossl_must(aes256_gcm != NULL, "AES-256-GCM");
    aes128_gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    ossl_must(aes128_gcm != NULL, "AES-128-GCM");

    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    ossl_must(mac != NULL, "HMAC");
    hmac_template = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    ossl_must(hmac_template != NULL, "HMAC context");
    char digest_name[] = "SHA2-256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest_name, 0),
        OSSL_PARAM_construct_end(),
    };
    /* A context without a key cannot be duplicated in OpenSSL 3.0. */
    ossl_must(EVP_MAC_init(hmac_template, (const unsigned char *)"", 1, params), "HMAC init");
}

static void ossl_algorithms_fetch_once(void)
{
    MUST(pthread_once(&once, ossl_algorithms_fetch) == 0);
}

const EVP_MD *ossl_sha256(void)
{
    ossl_algorithms_fetch_once();
    return sha256;
}

const EVP_CIPHER *ossl_aes256_gcm(void)
{
    ossl_algorithms_fetch_once();
    return aes256_gcm;
}

const EVP_CIPHER *ossl_aes128_gcm(void)
{
    ossl_algorithms_fetch_once();
    return aes128_gcm;
}

EVP_MAC_CTX *ossl_hmac_template(void)
{
    ossl_algorithms_fetch_once();
    return hmac_template;
}

EVP_PKEY *ossl_public_key(const char *type, OSSL_PARAM_BLD *build)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *pkey = NULL;

    ossl_must(params != NULL && ctx != NULL && EVP_PKEY_fromdata_init(ctx), "key from data");
    if (EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
        pkey = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    return pkey;
}

EVP_PKEY *ossl_from_pkcs8(struct str der)
{
    if (der.len == 0 || der.len > LONG_MAX)
        return NULL;
    ossl_errors_clear();
    const unsigned char *at = (const unsigned char *)der.ptr;
    PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der.len);
    if (!info)
        return NULL;
    bool whole = at == (const unsigned char *)der.ptr + der.len;
    EVP_PKEY *pkey = whole ? EVP_PKCS82PKEY(info) : NULL;
    PKCS8_PRIV_KEY_INFO_free(info);
    return pkey;
}

struct wipe {
    void *ptr;
    size_t bytes;
};

static void wipe_run(void *arg)
{
    struct wipe *wipe = arg;
    OPENSSL_cleanse(wipe->ptr, wipe->bytes);
}

struct str ossl_to_pkcs8(struct arena *arena, EVP_PKEY *pkey)
{
    ossl_errors_clear();
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(pkey);
    ossl_must(info != NULL, "PKCS #8");
    int der_bytes = i2d_PKCS8_PRIV_KEY_INFO(info, NULL);
    MUST(der_bytes > 0);

    struct wipe *wipe = ARENA_NEW(arena, wipe);
    *wipe = (struct wipe){arena_alloc(arena, (size_t)der_bytes), (size_t)der_bytes};
    arena_defer(arena, wipe_run, wipe);
    unsigned char *at = wipe->ptr;
    MUST(i2d_PKCS8_PRIV_KEY_INFO(info, &at) == der_bytes);
    PKCS8_PRIV_KEY_INFO_free(info);
    return (struct str){wipe->ptr, wipe->bytes};
}

void ossl_errors_clear(void)
{
    ERR_clear_error();
}

void ossl_must(int ok, const char *what)
{
    if (ok == 1)
        return;
    char reason[256];
    ERR_error_string_n(ERR_peek_last_error(), reason, sizeof(reason));
    PANIC("OpenSSL: %s: %s", what, reason);
}
