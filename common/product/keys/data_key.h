#pragma once
/*
 * Envelope encryption: each project has data keys of its own (table data_keys), random, wrapped by
 * the master key (AES-256-GCM, crypto/aead.h; the place names project and key id). The newest
 * seals, all open, retired ones too: what a process that stood still writes late stays readable.
 * The master key seals nothing but data keys.
 *
 * Ids: key ids inside sealed values are ids of data_keys. 0 is the key that earlier releases
 * derived from the master key; it becomes an ordinary wrapped key when its project is first loaded.
 * Ids inside wrapped keys tell master keys apart and are derived from them.
 */
#include "crypto/aead.h"
#include "db/db.h"

#define MASTERS_MAX 4
struct master_keys {
    struct aead_key keys[MASTERS_MAX]; /* the first wraps, all unwrap */
    size_t count;
};

/* Unwrapped keys by rising id, in malloc'ed memory of their own. */
struct key_ring {
    struct aead_key *keys;
    size_t count;
};
/* any: wipes and frees; fine for an empty one. */
void key_ring_done(struct key_ring *ring);
const struct aead_key *key_ring_find(const struct key_ring *ring, uint32_t id);

/* any: derives the id by which wrapped keys name their master key. */
void master_key_prepare(struct aead_key *master);
/* any: a new random key with that id. */
void data_key_new(uint32_t id, struct aead_key *ret_key);
/* any: arena-owned, by the current master key. */
struct str data_key_wrap(struct arena *arena,
                         const struct master_keys *masters,
                         int64_t project,
                         const struct aead_key *key);
/* any: 0, or AEAD_BAD when no master key that we have opens it. */
int data_key_unwrap(struct arena *arena,
                    const struct master_keys *masters,
                    int64_t project,
                    uint32_t id,
                    struct str wrapped,
                    struct aead_key *ret_key) MUSTCHECK;

/* co: what earlier releases derived becomes the project's first stored key, if it has none. A DB_*
 * (DB_FAILED: what the project has sealed opens with none of our master keys). */
AWAITS int data_key_adopt(struct task *task, const struct master_keys *masters, struct db *db)
    MUSTCHECK;
/* any: opens the keys of these ids; those that `known` has are copied. A key that cannot
 * be unwrapped is left out, but not the newest: 0, or AEAD_BAD (also when there are none). */
int key_ring_read(struct arena *arena,
                  const struct master_keys *masters,
                  int64_t project,
                  struct sql_i64s ids,
                  struct sql_strs texts,
                  const struct key_ring *known,
                  struct key_ring *ret_ring) MUSTCHECK;
/* co: the keys of a project, adopted if need be. 0, or a DB_*. *ret_unfinished (may be NULL): an
 * older one is not retired. */
AWAITS int key_ring_load(struct task *task,
                         const struct master_keys *masters,
                         struct db *db,
                         struct key_ring *ret_ring,
                         bool *ret_unfinished) MUSTCHECK;
