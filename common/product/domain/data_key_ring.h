#pragma once
/* Internal to domain/: data keys as they are stored, and the master keys that wrap them. */
#include "domain/data_key.h"
#include "domain/internal.h"

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
struct str data_key_wrap(struct arena *arena, const struct directory *directory, int64_t project,
                         const struct aead_key *key);
/* any: 0, or AEAD_BAD when no master key that we have opens it. */
int data_key_unwrap(struct arena *arena, const struct directory *directory, int64_t project, uint32_t id,
                    struct str wrapped, struct aead_key *ret_key) MUSTCHECK;

/* co: what earlier releases derived becomes the project's first stored key, if it has none. A db_result (DB_FAILED:
 * what the project has sealed opens with none of our master keys). */
AWAITS int data_key_adopt(struct task *task, const struct directory *directory, struct db *db) MUSTCHECK;
/* any: reads the columns key_ids and key_texts; keys that `known` has are copied. A key that cannot be unwrapped is
 * left out, but not the newest: 0, or AEAD_BAD (also when there are none). */
int key_ring_read(struct arena *arena, const struct directory *directory, int64_t project, const struct rows *rows,
                  const struct key_ring *known, struct key_ring *ret_ring) MUSTCHECK;
/* co: the keys of a project, adopted if need be. 0, or a db_result. *ret_unfinished (may be NULL): an older one is not
 * retired. */
AWAITS int key_ring_load(struct task *task, const struct directory *directory, struct db *db,
                         struct key_ring *ret_ring, bool *ret_unfinished) MUSTCHECK;

/* --- rotation: what both share (data_key_rotate.c) --- */

struct rotation {
    struct directory *directory;
    void (*say)(const char *text);
    int64_t settle_ms;
    size_t left; /* projects that could not be done */
};
struct rotated { /* one project */
    struct db db;
    struct str slug;
};
/* co: the active projects. A db_result. */
AWAITS int rotation_projects(struct task *task, struct rotation *rotation, struct rotated **ret_list,
                             size_t *ret_count) MUSTCHECK;
/* any: counts and tells. */
void rotation_failed(struct task *task, struct rotation *rotation, const struct rotated *project, int rc);
/* any: 0, or 1 with the reason. */
int rotation_end(struct task *task, const struct rotation *rotation, struct str *ret_reason);
/* co: runs fn with an arena of its own that ends with it: long runs hold no more than a batch. */
AWAITS int rotation_scope(struct task *task, int (*fn)(struct task *task, void *arg), void *arg) MUSTCHECK;
