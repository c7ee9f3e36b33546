#pragma once
/*
 * RSA private keys, for the assertions of service accounts and the signatures of mail:
 * RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2). A key is immutable once made and may be
 * used by any thread; a signature takes about a millisecond with 2048 bits, six with 4096.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define RSA_SIGNATURE_MAX 512

struct rsa_key;

/* From PEM with a private key (PKCS #8 or PKCS #1, RFC 7468), of at most 16 KB. What it signs is
 * verified once, so a key whose parts do not belong together is refused. 0 with an owned key, or
 * RSA_KEY_BAD. */
int rsa_key_from_pem(struct str pem, struct rsa_key **ret_key) MUSTCHECK;
/* A new key pair of 2048 bits; returns owned. Takes a tenth of a second, sometimes a whole one: on
 * a thread (loop/work.h). */
struct rsa_key *rsa_key_generate(void);
/* From PKCS #8 DER (RFC 5208), checked like PEM. 0 with an owned key, or RSA_KEY_BAD. */
int rsa_key_from_pkcs8(struct str der, struct rsa_key **ret_key) MUSTCHECK;
/* The private key as PKCS #8 DER, arena-owned and secret: the arena wipes it when it is reset. */
struct str rsa_key_to_pkcs8(struct arena *arena, const struct rsa_key *key);
/* The public key as SubjectPublicKeyInfo DER (RFC 5280), arena-owned. */
struct str rsa_key_spki(struct arena *arena, const struct rsa_key *key);
/* NULL is fine. Wipes the private number. */
void rsa_key_free(struct rsa_key *key);
/* For rsa_key_free() with arena_defer(). */
void rsa_key_free_deferred(void *key);

/* The signature, arena-owned, as long as the modulus. */
struct str rsa_sign_rs256(struct arena *arena, const struct rsa_key *key, struct str data);
