#pragma once
/*
 * Authenticated encryption of stored secrets: AES-256-GCM (NIST SP 800-38D) under a random 96-bit
 * nonce, so at most 2^32 values per key. The associated data (aad) names the place of the value
 * (project, table, id, column): a value that was copied to another place cannot be opened. Any
 * thread.
 *
 * Sealed form: version (1 byte, 1), key id (4, big-endian), nonce (12), ciphertext, tag (16).
 * Version and key id are authenticated as well.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define AEAD_KEY_BYTES 32
/* A sealed value is this much longer than its plain text. */
#define AEAD_OVERHEAD_BYTES 33

struct aead_key {
    uint8_t bytes[AEAD_KEY_BYTES];
    uint32_t id; /* distinguishes the keys of a rotation; not secret */
};

/* Encrypts `plain`. Returns the sealed bytes, arena-owned; they differ each time. */
struct str
aead_seal(struct arena *arena, const struct aead_key *key, struct str plain, struct str aad);
/* Decrypts `sealed` with the key that has the id in `sealed`. Returns 0 with the plain text,
 * arena-owned and with a NUL after it that is not counted, or AEAD_BAD. */
int aead_open(struct arena *arena,
              const struct aead_key *keys,
              size_t nkeys,
              struct str sealed,
              struct str aad,
              struct str *ret_plain) MUSTCHECK;
/* Reads the key id of a sealed value, to find the values that a rotation has still to convert.
 * Returns 0 or AEAD_BAD. */
int aead_key_id(struct str sealed, uint32_t *ret_id) MUSTCHECK;
/* Derives a key for one purpose by HKDF-SHA-256. `label` is the info, up to 255 bytes. The key has
 * the id of the master key. */
void aead_derive(const struct aead_key *master, struct str label, struct aead_key *ret_key);
/* Overwrites the bytes of a key; the compiler cannot remove this. */
void aead_key_wipe(struct aead_key *key);
