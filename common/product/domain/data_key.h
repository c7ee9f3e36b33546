#pragma once
/*
 * Envelope encryption: each project has data keys of its own (table data_keys), random, wrapped by the master key
 * (AES-256-GCM, crypto/aead.h; the place names project and key id). The newest seals, all open, retired ones too: what
 * a process that stood still writes late stays readable. The master key seals nothing but data keys.
 *
 * Ids: key ids inside sealed values are ids of data_keys. 0 is the key that earlier releases derived from the master
 * key; it becomes an ordinary wrapped key when its project is first loaded. Ids inside wrapped keys tell master keys
 * apart and are derived from them.
 *
 * A value is sealed for its place, so that it opens nowhere else. Whatever is sealed is found by the rotation: a new
 * column of sealed values gets a line in data_key_rotate.c and a place here; rows of settings have their place by kind
 * and key without further ado.
 */
#include "crypto/aead.h"
#include "domain/project.h"

/* --- places: arena-owned texts --- */

/* settings.sealed of (kind, key). */
struct str place_setting(struct arena *arena, int64_t project, struct str kind, struct str key);
/* secrets.sealed */
struct str place_secret(struct arena *arena, int64_t project, struct str name);
/* auth_flows.sealed, by the hash's bytes */
struct str place_flow(struct arena *arena, int64_t project, struct str state_hash);
/* refresh_tokens.successor */
struct str place_successor(struct arena *arena, int64_t project, int64_t token_id);
/* idempotency_keys.response, by "<principal>:<key>" */
struct str place_answer(struct arena *arena, int64_t project, struct str request);
/* secret fields of an entity */
struct str place_field(struct arena *arena, int64_t project, int64_t entity_id, int64_t field_id);

/* --- use --- */

/* co: opens what the project sealed. Values of a key that this process does not know (another one has begun to use
 * it) make it read the keys again. 0 with the arena-owned plain text, AEAD_BAD, or a negative. To seal:
 * aead_seal(arena, &project->data_key, plain, place). */
AWAITS int data_key_open(struct task *task, struct project *project, struct str sealed, struct str place,
                         struct str *ret_plain) MUSTCHECK;

/* --- rotation --- */

/* Both may be ended at any moment and be run again, beside daemons at work and beside each other; progress goes to
 * say(). 0, or a positive with *ret_reason (some projects are not done: run again). */

/* co: wraps all data keys of all projects with the current master key. Afterwards no old one is needed. */
AWAITS int data_keys_rewrap(struct task *task, struct directory *directory, void (*say)(const char *text),
                            struct str *ret_reason) MUSTCHECK;
/* co: gives every project a new data key and seals all its values with it; the old ones are retired when nothing is
 * sealed with them. A project whose last rotation did not end gets no further key: that rotation is ended.
 * `settle_ms`: when writers are taken to have learned of the new key (DATA_KEY_SETTLE_MS). */
AWAITS int data_keys_rotate(struct task *task, struct directory *directory, int64_t settle_ms,
                            void (*say)(const char *text), struct str *ret_reason) MUSTCHECK;
/* A process that has not heard of an epoch for five seconds serves nothing (project.h); statements under way then
 * have five more. */
#define DATA_KEY_SETTLE_MS 10000
