#pragma once
/*
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and HKDF-SHA-256 (RFC 5869); MD5 (RFC 1321), by
 * which others name bytes, for nothing that has to be safe. Any thread. The functions cannot fail:
 * an OpenSSL failure is a broken installation and panics.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define DIGEST_SHA256_BYTES 32
#define DIGEST_MD5_BYTES    16

/* Of `data` in one go. */
void digest_sha256(struct str data, uint8_t ret[DIGEST_SHA256_BYTES]);
/* Same as 64 lower-case hex digits; arena-owned. For stored token hashes and log-safe names. */
struct str digest_sha256_hex(struct arena *arena, struct str data);

/* Incremental SHA-256 for streams, embedded in its owner. Life: init, update any number of times,
 * then final or done. done() is idempotent, accepts a zeroed struct, and is not needed after
 * final(). */
struct digest {
    void *ctx; /* EVP_MD_CTX */
};
void digest_init(struct digest *digest);
void digest_update(struct digest *digest, struct str data);
void digest_final(struct digest *digest, uint8_t ret[DIGEST_SHA256_BYTES]);
void digest_done(struct digest *digest);

void digest_md5(struct str data, uint8_t ret[DIGEST_MD5_BYTES]);
/* The same life, with digest_md5_final() at its end. */
void digest_md5_init(struct digest *digest);
void digest_md5_final(struct digest *digest, uint8_t ret[DIGEST_MD5_BYTES]);

/* Compare the result with ct_eq(), never with memcmp(). Key and data of any length, also empty. */
void digest_hmac_sha256(struct str key, struct str data, uint8_t ret[DIGEST_SHA256_BYTES]);
/* The same over several parts, one behind the other. */
void digest_hmac_sha256_parts(struct str key,
                              const struct str *parts,
                              size_t count,
                              uint8_t ret[DIGEST_SHA256_BYTES]);

/* HKDF extract and expand (RFC 5869 section 2) for at most one block of output; a shorter output is
 * a prefix of it. `salt` may be empty. `info` at most 255 bytes. */
void digest_hkdf_sha256(struct str key,
                        struct str salt,
                        struct str info,
                        uint8_t ret[DIGEST_SHA256_BYTES]);
