/* Data keys: wrapping, unwrapping, and keys of earlier releases. */
#include "keys/data_key.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/panic.h"
#include "base/rand.h"
#include "data_key_sql.h"
#include "keys/sealed_aad.h"
#include "log/log.h"

#define LEGACY_ID 0

static struct str aad_data_key(struct arena *arena, int64_t project, uint32_t id)
{
    return arena_printf(arena, "p%lld:data_key:%u", (long long)project, id);
}

/* --- wrapping --- */

void master_key_prepare(struct aead_key *master)
{
    struct aead_key name;

    aead_derive(master, STR("id of this master key"), &name);
    master->id = (uint32_t)name.bytes[0] << 24 | (uint32_t)name.bytes[1] << 16 |
                 (uint32_t)name.bytes[2] << 8 | name.bytes[3];
    aead_key_wipe(&name);
}

void data_key_new(uint32_t id, struct aead_key *ret_key)
{
    rand_bytes(ret_key->bytes, sizeof(ret_key->bytes));
    ret_key->id = id;
}

struct str data_key_wrap(struct arena *arena,
                         const struct master_keys *masters,
                         int64_t project,
                         const struct aead_key *key)
{
    return aead_seal(arena,
                     &masters->keys[0],
                     (struct str){(const char *)key->bytes, sizeof(key->bytes)},
                     aad_data_key(arena, project, key->id));
}

int data_key_unwrap(struct arena *arena,
                    const struct master_keys *masters,
                    int64_t project,
                    uint32_t id,
                    struct str wrapped,
                    struct aead_key *ret_key)
{
    struct str plain;

    if (aead_open(arena,
                  masters->keys,
                  masters->count,
                  wrapped,
                  aad_data_key(arena, project, id),
                  &plain) != 0)
        return AEAD_BAD;
    bool fits = plain.len == sizeof(ret_key->bytes);
    if (fits) {
        memcpy(ret_key->bytes, plain.ptr, plain.len);
        ret_key->id = id;
    }
    explicit_bzero((char *)plain.ptr, plain.len);
    return fits ? 0 : AEAD_BAD;
}

/* --- keys of earlier releases --- */

static void derive_legacy(struct arena *arena,
                          const struct aead_key *master,
                          int64_t project,
                          struct aead_key *ret_key)
{
    aead_derive(master, arena_printf(arena, "project:%lld", (long long)project), ret_key);
    ret_key->id = LEGACY_ID;
}

/* The master key may have been replaced since: sealed values show which one the key derives
 * from. */
static int find_legacy(struct task *task,
                       const struct master_keys *masters,
                       struct db *db,
                       struct aead_key *ret_key)
{
    struct rows rows;
    struct str plain;

    TRY(db_query(task, db, SQL_DATA_KEY_LEGACY(), &rows));
    if (rows.count == 0) {
        derive_legacy(task->arena, &masters->keys[0], db->schema, ret_key);
        return 0;
    }
    const struct sql_data_key_legacy_row row = sql_data_key_legacy_row(task->arena, &rows, 0);
    struct str place = aad_setting(task->arena, db->schema, row.kind, row.key);
    for (size_t i = 0; i < masters->count; i++) {
        derive_legacy(task->arena, &masters->keys[i], db->schema, ret_key);
        if (aead_open(task->arena, ret_key, 1, row.sealed, place, &plain) == 0) {
            explicit_bzero((char *)plain.ptr, plain.len);
            return 0;
        }
    }
    aead_key_wipe(ret_key);
    log_error("project.keys_unreadable", L_I64("number", db->schema));
    return ERROR(DB_FAILED);
}

int data_key_store_legacy(struct task *task, const struct master_keys *masters, struct db *db)
{
    struct aead_key key;

    TRY(find_legacy(task, masters, db, &key));
    /* Processes that load the project concurrently derive the same key; any of them may store
     * it. */
    struct str wrapped = data_key_wrap(task->arena, masters, db->schema, &key);
    aead_key_wipe(&key);
    return db_query(task, db, SQL_DATA_KEY_ADD(.id = LEGACY_ID, .wrapped = wrapped), NULL);
}

/* --- key rings --- */

void key_ring_free(struct key_ring *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        aead_key_wipe(&keys->keys[i]);
    free(keys->keys);
    *keys = (struct key_ring){0};
}

const struct aead_key *key_ring_find(const struct key_ring *keys, uint32_t id)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->keys[i].id == id)
            return &keys->keys[i];
    }
    return NULL;
}

static int data_key_read(struct arena *arena,
                         const struct master_keys *masters,
                         int64_t project,
                         uint32_t id,
                         struct str hex,
                         struct aead_key *ret_key)
{
    struct str wrapped;

    if (!codec_hex_decode(arena, hex, &wrapped))
        return AEAD_BAD;
    return data_key_unwrap(arena, masters, project, id, wrapped, ret_key);
}

int key_ring_read(struct arena *arena,
                  const struct master_keys *masters,
                  int64_t project,
                  struct sql_i64s ids,
                  struct sql_strs texts,
                  const struct key_ring *known,
                  struct key_ring *ret_keys)
{
    struct key_ring keys = {0};
    int rc = AEAD_BAD;

    keys.keys = calloc(ids.count + 1, sizeof(*keys.keys));
    if (keys.keys == NULL)
        PANIC("out of memory");
    for (size_t i = 0; i < ids.count; i++) {
        const uint32_t id = (uint32_t)ids.items[i];
        const struct aead_key *old = known ? key_ring_find(known, id) : NULL;
        struct aead_key *key = &keys.keys[keys.count];
        rc = 0;
        if (old)
            *key = *old;
        else
            rc = data_key_read(arena, masters, project, id, texts.items[i], key);
        if (rc == 0)
            keys.count++;
        else
            log_error("project.data_key_unreadable", L_I64("number", project), L_I64("key", id));
    }
    if (rc != 0) {
        key_ring_free(&keys);
        return rc;
    }
    *ret_keys = keys;
    return 0;
}

int key_ring_load(struct task *task,
                  const struct master_keys *masters,
                  struct db *db,
                  struct key_ring *ret_keys,
                  bool *ret_unfinished)
{
    struct sql_data_keys_list_row row;
    struct rows rows;

    TRY(db_query(task, db, SQL_DATA_KEYS_LIST(), &rows));
    row = sql_data_keys_list_row(task->arena, &rows, 0);
    if (row.key_ids.count == 0) {
        TRY(data_key_store_legacy(task, masters, db));
        TRY(db_query(task, db, SQL_DATA_KEYS_LIST(), &rows));
        row = sql_data_keys_list_row(task->arena, &rows, 0);
    }
    if (key_ring_read(
            task->arena, masters, db->schema, row.key_ids, row.key_texts, NULL, ret_keys) != 0)
        return ERROR(DB_FAILED);
    if (ret_unfinished)
        *ret_unfinished = row.unfinished;
    return 0;
}
