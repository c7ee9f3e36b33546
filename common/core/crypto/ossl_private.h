#pragma once
/*
 * OpenSSL for the files of crypto/. Algorithms are fetched once per process, because a fetch takes
 * a lock and a look-up by name. The error queue is cleared before each call, so that errors of
 * another library on this thread are not taken for ours.
 */
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/arena.h"
#include "base/str.h"

/* Return algorithms, borrowed and never freed. Any thread. */
const EVP_MD *ossl_sha256(void);
const EVP_CIPHER *ossl_aes256_gcm(void);
const EVP_CIPHER *ossl_aes128_gcm(void);
/* Returns a context for HMAC-SHA-256: callers duplicate it and set the key of the copy. */
EVP_MAC_CTX *ossl_hmac_template(void);

/* Makes a public key of the type ("EC", "RSA") from its parameters, and frees `build`. Returns the
 * key, owned by the caller, or NULL when the parameters are not valid. */
EVP_PKEY *ossl_public_key(const char *type, OSSL_PARAM_BLD *build);

/* Reads a key pair from PKCS #8 DER without trailing bytes. Returns the key, owned by the caller
 * and not validated, or NULL. */
EVP_PKEY *ossl_from_pkcs8(struct str der);
/* Returns a key pair as PKCS #8 DER, arena-owned; the arena wipes the bytes when it is reset. */
struct str ossl_to_pkcs8(struct arena *arena, EVP_PKEY *pkey);

/* Clears the error queue; call it before every sequence of OpenSSL calls. */
void ossl_errors_clear(void);
/* Panics unless `ok` is 1: for calls that fail only without memory or in a broken installation. */
void ossl_must(int ok, const char *what);
