#pragma once
/*
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and HKDF-SHA-256 (RFC 5869). MD5 (RFC 1321) is only
 * for protocols that identify bytes by it, never for security. Any thread. The functions cannot
 * fail: an OpenSSL failure means a broken installation and panics.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define DIGEST_SHA256_BYTES 32
#define DIGEST_MD5_BYTES    16

/* Computes the SHA-256 hash of `data`. */
void digest_sha256(struct str data, uint8_t ret[DIGEST_SHA256_BYTES]);
/* Returns the SHA-256 hash of `data` as 64 lower-case hexadecimal digits, arena-owned: for stored
 * hashes of tokens, and for names in logs. */
struct str digest_sha256_hex(struct arena *arena, struct str data);

/* An incremental SHA-256 hash for streams, embedded in its owner. Call digest_init(),
 * digest_update() any number of times, then digest_final() or digest_done(). digest_done() may be
 * called again, accepts a zeroed struct, and is not needed after digest_final(). */
struct digest {
    void *ctx; /* EVP_MD_CTX */
};
/* Start a hash, add data, and finish or abandon the hash. */
void digest_init(struct digest *digest);
void digest_update(struct digest *digest, struct str data);
void digest_final(struct digest *digest, uint8_t ret[DIGEST_SHA256_BYTES]);
void digest_done(struct digest *digest);

/* Computes the MD5 hash of `data`. */
void digest_md5(struct str data, uint8_t ret[DIGEST_MD5_BYTES]);
/* Start and finish an incremental MD5 hash, with digest_update() and digest_done() as above. */
void digest_md5_init(struct digest *digest);
void digest_md5_final(struct digest *digest, uint8_t ret[DIGEST_MD5_BYTES]);

/* Computes the HMAC of `data`. Key and data may have any length, also 0. Compare the result with
 * ct_eq(), never with memcmp(). */
void digest_hmac_sha256(struct str key, struct str data, uint8_t ret[DIGEST_SHA256_BYTES]);
/* Computes the HMAC of the concatenation of several parts. */
void digest_hmac_sha256_parts(struct str key,
                              const struct str *parts,
                              size_t count,
                              uint8_t ret[DIGEST_SHA256_BYTES]);

/* Computes one block of HKDF output, by extract and expand (RFC 5869 section 2); a shorter output
 * is a prefix of the block. `salt` may be empty. `info` has at most 255 bytes. */
void digest_hkdf_sha256(struct str key,
                        struct str salt,
                        struct str info,
                        uint8_t ret[DIGEST_SHA256_BYTES]);
