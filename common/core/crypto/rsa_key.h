#pragma once
/*
 * RSA private keys, for the assertions of service accounts and the signatures of mail:
 * RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2). A key is immutable and may be used by any
 * thread. A signature takes about a millisecond with 2048 bits, and six with 4096 bits.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define RSA_SIGNATURE_MAX 512

struct rsa_key;

/* Reads a private key from PEM (PKCS #8 or PKCS #1, RFC 7468) of at most 16 KB. A test signature is
 * made and verified, so a key whose parts do not belong together is refused. Returns 0 with a key,
 * owned by the caller, or RSA_KEY_BAD. */
int rsa_key_from_pem(struct str pem, struct rsa_key **ret_key) MUSTCHECK;
/* Makes a key pair of 2048 bits, owned by the caller. Takes a tenth of a second, sometimes a whole
 * second: call it on a worker thread (loop/work.h). */
struct rsa_key *rsa_key_generate(void);
/* Reads a private key from PKCS #8 DER (RFC 5208), with the checks and results of
 * rsa_key_from_pem(). */
int rsa_key_from_pkcs8(struct str der, struct rsa_key **ret_key) MUSTCHECK;
/* Returns the private key as PKCS #8 DER, arena-owned and secret; the arena wipes the bytes when it
 * is reset. */
struct str rsa_key_to_pkcs8(struct arena *arena, const struct rsa_key *key);
/* Returns the public key as SubjectPublicKeyInfo DER (RFC 5280), arena-owned. */
struct str rsa_key_spki(struct arena *arena, const struct rsa_key *key);
/* Frees the key and wipes the private number; NULL is allowed. */
void rsa_key_free(struct rsa_key *key);
/* rsa_key_free() for arena_defer(). */
void rsa_key_free_deferred(void *key);

/* Returns the signature of `data`, arena-owned, as long as the modulus. */
struct str rsa_sign_rs256(struct arena *arena, const struct rsa_key *key, struct str data);
