#pragma once
/*
 * P-256 keys, ES256 signatures (FIPS 186-4; RFC 7518 section 3.4: r and s, 32 bytes each, raw) and
 * key agreement (SP 800-56A).
 * A key is immutable once made and may be used by any thread; its owner frees it last.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define EC_SIGNATURE_BYTES  64
#define EC_COORDINATE_BYTES 32
#define EC_POINT_BYTES      65 /* uncompressed: 4, x, y (SEC 1 section 2.3.3) */

struct ec_key;

/* A new key pair; returns owned. */
struct ec_key *ec_key_generate(void);
/* From PKCS #8 DER (RFC 5208), private key. 0 with an owned key, or EC_KEY_BAD. */
int ec_key_from_pkcs8(struct str der, struct ec_key **ret_key) MUSTCHECK;
/* From the JWK members x and y (base64url, RFC 7518 section 6.2.1), public only. `scratch` is
 * borrowed for decoding. 0 with an owned key, or EC_KEY_BAD. */
int ec_key_from_jwk(struct arena *scratch, struct str x, struct str y, struct ec_key **ret_key)
    MUSTCHECK;
/* From SubjectPublicKeyInfo DER (RFC 5480), as certificates have it, public only. 0 with an owned
 * key, or EC_KEY_BAD. */
int ec_key_from_spki(struct str der, struct ec_key **ret_key) MUSTCHECK;
/* From an uncompressed point of exactly EC_POINT_BYTES, public only. 0 with an owned key, or
 * EC_KEY_BAD. */
int ec_key_from_point(struct str point, struct ec_key **ret_key) MUSTCHECK;
/* NULL is fine. */
void ec_key_free(struct ec_key *key);
/* For ec_key_free() with arena_defer(). */
void ec_key_free_deferred(void *key);

/* Private key as PKCS #8 DER, arena-owned and secret: seal it before it is stored. The arena wipes
 * it when it is reset. The key must have a private part. */
struct str ec_key_to_pkcs8(struct arena *arena, const struct ec_key *key);
bool ec_key_has_private(const struct ec_key *key);
/* The public JWK members (base64url), arena-owned. */
void ec_key_jwk(struct arena *arena,
                const struct ec_key *key,
                struct str *ret_x,
                struct str *ret_y);
/* The uncompressed point, borrowed from the key. */
struct str ec_key_point(const struct ec_key *key);

/* The x coordinate that both sides of an agreement (ECDH) arrive at. `own` must have a private
 * part. Secret: wipe it after use. */
void ec_shared_secret(const struct ec_key *own,
                      const struct ec_key *peer,
                      uint8_t ret_secret[EC_COORDINATE_BYTES]);

/* Raw r||s over SHA-256 of `data`. The key must have a private part. */
void ec_sign_es256(const struct ec_key *key, struct str data, uint8_t ret_sig[EC_SIGNATURE_BYTES]);
/* False for any signature that is not exactly 64 bytes and right. */
bool ec_verify_es256(const struct ec_key *key, struct str data, struct str sig);
