#pragma once
/*
 * Envelope encryption. Each project has random data keys of its own (table data_keys), wrapped by
 * the master key (AES-256-GCM, crypto/aead.h; the AAD names the project and the key id). The newest
 * key seals. All keys open, retired ones included: a stalled process may have sealed a value with
 * an old key after its rotation. The master key seals data keys only.
 *
 * Ids: sealed values contain the id of their data key. Id 0 is the key that earlier releases
 * derived from the master key; it is stored as a wrapped key when its project is first loaded.
 * Wrapped keys contain the id of their master key, which is derived from the master key.
 */
#include "crypto/aead.h"
#include "db/db.h"

#define MASTERS_MAX 4
struct master_keys {
    struct aead_key keys[MASTERS_MAX]; /* the first wraps, all unwrap */
    size_t count;
};

/* Unwrapped data keys in ascending order of their ids, in memory from malloc(). */
struct key_ring {
    struct aead_key *keys;
    size_t count;
};
/* any: key_ring_free() wipes and frees the keys; an empty ring is allowed. key_ring_find() returns
 * a borrowed key, NULL when the ring lacks the id. */
void key_ring_free(struct key_ring *keys);
const struct aead_key *key_ring_find(const struct key_ring *keys, uint32_t id);

/* any: Derives the id of a master key, by which wrapped keys refer to it, and sets it. */
void master_key_prepare(struct aead_key *master);
/* any: Makes a new random key with this id. */
void data_key_new(uint32_t id, struct aead_key *ret_key);
/* any: Wraps the key with the current master key. Arena-owned. */
struct str data_key_wrap(struct arena *arena,
                         const struct master_keys *masters,
                         int64_t project,
                         const struct aead_key *key);
/* any: Unwraps a key. Returns 0, or AEAD_BAD when none of our master keys opens it. */
int data_key_unwrap(struct arena *arena,
                    const struct master_keys *masters,
                    int64_t project,
                    uint32_t id,
                    struct str wrapped,
                    struct aead_key *ret_key) MUSTCHECK;

/* co: Stores the key that earlier releases derived as the project's first data key, unless it has
 * that key already. Returns 0 or a DB_* (DB_FAILED: none of our master keys opens the project's
 * sealed values). */
AWAITS int data_key_store_legacy(struct task *task,
                                 const struct master_keys *masters,
                                 struct db *db) MUSTCHECK;
/* any: Unwraps the keys with these ids; keys found in `known` (may be NULL) are copied. A key that
 * cannot be unwrapped is logged and left out, but the newest must open. Returns 0 with a ring that
 * key_ring_free() frees, or AEAD_BAD (also when `ids` is empty). */
int key_ring_read(struct arena *arena,
                  const struct master_keys *masters,
                  int64_t project,
                  struct sql_i64s ids,
                  struct sql_strs texts,
                  const struct key_ring *known,
                  struct key_ring *ret_keys) MUSTCHECK;
/* co: Loads the keys of a project, and stores the first one if there is none. Returns 0 or a DB_*.
 * *ret_unfinished (may be NULL): an older key is not retired yet. */
AWAITS int key_ring_load(struct task *task,
                         const struct master_keys *masters,
                         struct db *db,
                         struct key_ring *ret_keys,
                         bool *ret_unfinished) MUSTCHECK;
