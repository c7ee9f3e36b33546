#pragma once
/*
 * Authenticated encryption of stored secrets: AES-256-GCM (NIST SP 800-38D) under a random 96-bit
 * nonce, so at most 2^32 values per key. The associated data says where the value belongs (project,
 * table, id, column): a value copied elsewhere does not open. Any thread.
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
    uint32_t id; /* tells the keys of a rotation apart; not secret */
};

/* Arena-owned sealed bytes. The same input gives different bytes each time. */
struct str
aead_seal(struct arena *arena, const struct aead_key *key, struct str plain, struct str aad);
/* Picks the key by the id inside `sealed`. 0 with the arena-owned plain text (NUL-terminated as
 * well, the NUL not counted), or AEAD_BAD. */
int aead_open(struct arena *arena,
              const struct aead_key *keys,
              size_t nkeys,
              struct str sealed,
              struct str aad,
              struct str *ret_plain) MUSTCHECK;
/* The key id of a sealed value, to find what a rotation has still to do; or AEAD_BAD. */
int aead_key_id(struct str sealed, uint32_t *ret_id) MUSTCHECK;
/* A key for one purpose (HKDF-SHA-256, `label` is the info, up to 255 bytes); the master's id. */
void aead_derive(const struct aead_key *master, struct str label, struct aead_key *ret_key);
/* Overwrites key bytes so that the compiler cannot drop it. */
void aead_key_wipe(struct aead_key *key);
