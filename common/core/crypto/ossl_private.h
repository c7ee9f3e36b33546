#pragma once
/*
 * What the files of crypto/ share of OpenSSL: algorithms fetched once per process (a fetch per call
 * takes a lock and a name lookup) and a clean error queue before each call (errors left behind by
 * another library's call on this thread must not be taken for ours).
 */
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/arena.h"
#include "base/str.h"

/* Borrowed, never freed, any thread. */
const EVP_MD *ossl_sha256(void);
const EVP_CIPHER *ossl_aes256_gcm(void);
const EVP_CIPHER *ossl_aes128_gcm(void);
/* An HMAC-SHA-256 context to duplicate and key; never used itself. */
EVP_MAC_CTX *ossl_hmac_template(void);

/* A public key of the type ("EC", "RSA") from its parameters, which are freed. Returns owned, NULL
 * when they make no such key. */
EVP_PKEY *ossl_public_key(const char *type, OSSL_PARAM_BLD *build);

/* A key pair from PKCS #8 DER, all of it; returns owned, NULL when it is none. Not checked. */
EVP_PKEY *ossl_from_pkcs8(struct str der);
/* The other way, arena-owned: the arena wipes it when it is reset. */
struct str ossl_to_pkcs8(struct arena *arena, EVP_PKEY *pkey);

/* Before every OpenSSL call sequence. */
void ossl_begin(void);
/* For results that only a broken installation or lack of memory can fail: panics unless `ok`. */
void ossl_must(int ok, const char *what);
