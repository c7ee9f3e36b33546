#pragma once
/*
 * P-256 keys, ES256 signatures (FIPS 186-4; RFC 7518 section 3.4: r and s, 32 bytes each, raw) and
 * key agreement (SP 800-56A).
 * A key is immutable and may be used by any thread. Its owner frees it after the last use.
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

/* Makes a key pair, owned by the caller. */
struct ec_key *ec_key_generate(void);
/* Reads a private key from PKCS #8 DER (RFC 5208). This and the next three functions return 0 with
 * a key, owned by the caller, or EC_KEY_BAD. */
int ec_key_from_pkcs8(struct str der, struct ec_key **ret_key) MUSTCHECK;
/* Reads a public key from the JWK members x and y (base64url, RFC 7518 section 6.2.1). `scratch` is
 * borrowed for decoding. */
int ec_key_from_jwk(struct arena *scratch, struct str x, struct str y, struct ec_key **ret_key)
    MUSTCHECK;
/* Reads a public key from SubjectPublicKeyInfo DER (RFC 5480), as in certificates. */
int ec_key_from_spki(struct str der, struct ec_key **ret_key) MUSTCHECK;
/* Reads a public key from an uncompressed point of exactly EC_POINT_BYTES. */
int ec_key_from_point(struct str point, struct ec_key **ret_key) MUSTCHECK;
/* Frees the key and wipes the private number; NULL is allowed. */
void ec_key_free(struct ec_key *key);
/* ec_key_free() for arena_defer(). */
void ec_key_free_deferred(void *key);

/* Returns the private key as PKCS #8 DER, arena-owned and secret: seal it before it is stored. The
 * arena wipes the bytes when it is reset. The key must have a private part. */
struct str ec_key_to_pkcs8(struct arena *arena, const struct ec_key *key);
/* Returns whether the key has a private part. */
bool ec_key_has_private(const struct ec_key *key);
/* Returns the public JWK members (base64url), arena-owned. */
void ec_key_jwk(struct arena *arena,
                const struct ec_key *key,
                struct str *ret_x,
                struct str *ret_y);
/* Returns the uncompressed point, borrowed from the key. */
struct str ec_key_point(const struct ec_key *key);

/* Computes the x coordinate on which both sides of an agreement (ECDH) agree. `own` must have a
 * private part. The result is secret: wipe it after use. */
void ec_shared_secret(const struct ec_key *own,
                      const struct ec_key *peer,
                      uint8_t ret_secret[EC_COORDINATE_BYTES]);

/* Signs the SHA-256 hash of `data`, as raw r||s. The key must have a private part. */
void ec_sign_es256(const struct ec_key *key, struct str data, uint8_t ret_sig[EC_SIGNATURE_BYTES]);
/* Returns whether the signature has exactly 64 bytes and is right. */
bool ec_verify_es256(const struct ec_key *key, struct str data, struct str sig);
