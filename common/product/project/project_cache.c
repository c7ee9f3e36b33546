/*
 * Rights and verified credentials of a project. Both caches are bounded, drop the least recently
 * used entry first, and are cleared when the project's epoch moves.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "project/project_private.h"

#define RIGHTS_MAX      10000
#define CREDENTIALS_MAX 10000
#define RIGHTS_FRESH_MS 5000

struct rights_key {
    uint64_t generation; /* of loads only: a load from before the epoch moved is not joined */
    int64_t user_id;
    int64_t key_id;
};

struct rights_entry {
    struct list link;
    struct rights_key key;
    struct rights *rights; /* one reference */
};

struct credential_entry {
    struct list link;
    uint8_t hash[DIGEST_SHA256_BYTES];
    struct credential credential;
};

static struct str project_cache_key_text(const struct rights_key *key)
{
    return (struct str){(const char *)key, sizeof(*key)};
}

static struct str hash_key_text(const uint8_t *hash)
{
    return (struct str){(const char *)hash, DIGEST_SHA256_BYTES};
}

void project_cache_init(struct project *project)
{
    struct project_cache *cache = project->cache;

    cache->rights = map_new();
    cache->rights_loads = map_new();
    cache->credentials = map_new();
    list_init(&cache->rights_order);
    list_init(&cache->credentials_order);
    cache->dropped_ms = clock_mono_ms();
}

/* --- rights --- */

static void rights_drop(struct project_cache *cache, struct rights_entry *entry)
{
    (void)map_remove(cache->rights, project_cache_key_text(&entry->key));
    list_remove(&entry->link);
    rights_unref(entry->rights);
    free(entry);
}

static void
rights_store(struct project_cache *cache, const struct rights_key *key, struct rights *rights)
{
    struct rights_entry *entry = map_get(cache->rights, project_cache_key_text(key));

    if (entry != NULL)
        rights_drop(cache, entry);
    if (map_size(cache->rights) >= RIGHTS_MAX)
        rights_drop(cache, LIST_ITEM(cache->rights_order.next, struct rights_entry, link));
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        PANIC("out of memory");
    entry->key = *key;
    entry->rights = rights;
    (void)map_put(cache->rights, project_cache_key_text(key), entry);
    list_append(&cache->rights_order, &entry->link);
}

struct rights_read {
    struct project *project; /* one reference */
    struct rights_key key;
};

static int project_cache_load_run(struct task *task, void *arg)
{
    const struct rights_read *load = arg;
    struct project_cache *cache = load->project->cache;
    const struct rights_key key = {.user_id = load->key.user_id, .key_id = load->key.key_id};
    struct rights *rights;

    int rc = rights_load(task, &load->project->db, key.user_id, key.key_id, &rights);
    struct rights_entry *entry = map_get(cache->rights, project_cache_key_text(&key));
    if (rc == RIGHTS_NOT_FOUND && entry != NULL && load->key.generation == cache->generation)
        rights_drop(cache, entry);
    /* A process may have died between a change of the model and its notification. Rights are read
     * again every five seconds, so they reveal the change. */
    if (rc == 0 && rights->model_version > load->project->model->version)
        project_sync_start(load->project);
    if (rc == 0 && load->key.generation == cache->generation)
        rights_store(cache, &key, rights);
    else if (rc == 0)
        rights_unref(rights); /* outdated during the read: the waiters load again */
    return rc == 0 || rc == RIGHTS_NOT_FOUND ? rc : PROJECT_UNAVAILABLE;
}

static void project_cache_load_end(void *arg)
{
    struct rights_read *load = arg;

    (void)map_remove(load->project->cache->rights_loads, project_cache_key_text(&load->key));
    project_unref(load->project);
}

static int
project_cache_load_join(struct task *task, struct project *project, const struct rights_key *wanted)
{
    struct project_cache *cache = project->cache;
    struct rights_key key = *wanted;

    key.generation = cache->generation;
    struct singleflight *singleflight = map_get(cache->rights_loads, project_cache_key_text(&key));
    if (singleflight == NULL) {
        singleflight = singleflight_new(cache->directory, RIGHTS_FRESH_MS);
        struct rights_read *load = ARENA_NEW(singleflight->task.arena, load);
        *load = (struct rights_read){.project = project_ref(project), .key = key};
        (void)map_put(cache->rights_loads, project_cache_key_text(&key), singleflight);
        singleflight_run(singleflight, project_cache_load_run, project_cache_load_end, load);
    }
    return singleflight_join(task, singleflight);
}

static void cached_rights_unref(void *rights)
{
    rights_unref(rights);
}

/* co: reads the rights for this task alone. The result is as new as this call, even if the epoch
 * moves during the read. */
AWAITS static int rights_load_alone(struct task *task,
                                    struct project *project,
                                    const struct rights_key *key,
                                    const struct rights **ret_rights)
{
    struct rights *rights;
    int rc = rights_load(task, &project->db, key->user_id, key->key_id, &rights);

    if (rc != 0)
        return rc < 0 || rc == RIGHTS_NOT_FOUND ? rc : PROJECT_UNAVAILABLE;
    arena_defer(task->arena, cached_rights_unref, rights);
    *ret_rights = rights;
    return 0;
}

int project_rights(struct task *task,
                   struct project *project,
                   int64_t user_id,
                   int64_t key_id,
                   const struct rights **ret_rights)
{
    struct project_cache *cache = project->cache;
    const struct rights_key key = {.user_id = user_id, .key_id = key_id};

    /* The epoch may move before the waiters of a load run. After two attempts rights_load_alone()
     * ends the loop: an epoch that moves constantly must neither block nor refuse the caller. */
    for (int attempt = 0; attempt < 2; attempt++) {
        struct rights_entry *entry = map_get(cache->rights, project_cache_key_text(&key));
        if (entry != NULL && clock_mono_ms() - entry->rights->loaded_ms < RIGHTS_FRESH_MS) {
            if (attempt == 0)
                cache->directory->stats.rights_hits++;
            list_remove(&entry->link);
            list_append(&cache->rights_order, &entry->link);
            arena_defer(task->arena, cached_rights_unref, rights_ref(entry->rights));
            *ret_rights = entry->rights;
            return 0;
        }
        if (attempt == 0)
            cache->directory->stats.rights_misses++;
        TRY(project_cache_load_join(task, project, &key));
    }
    return rights_load_alone(task, project, &key, ret_rights);
}

/* --- credentials --- */

static void credential_drop(struct project_cache *cache, struct credential_entry *entry)
{
    (void)map_remove(cache->credentials, hash_key_text(entry->hash));
    list_remove(&entry->link);
    free(entry);
}

const struct credential *project_credential_get(struct project *project, struct str token)
{
    struct project_cache *cache = project->cache;
    uint8_t hash[DIGEST_SHA256_BYTES];

    digest_sha256(token, hash);
    struct credential_entry *entry = map_get(cache->credentials, hash_key_text(hash));
    if (entry != NULL && entry->credential.expires_ms <= clock_wall_ms()) {
        credential_drop(cache, entry);
        entry = NULL;
    }
    if (entry == NULL) {
        cache->directory->stats.token_misses++;
        return NULL;
    }
    cache->directory->stats.token_hits++;
    list_remove(&entry->link);
    list_append(&cache->credentials_order, &entry->link);
    return &entry->credential;
}

void project_credential_put(struct project *project,
                            struct str token,
                            const struct credential *credential)
{
    struct project_cache *cache = project->cache;
    uint8_t hash[DIGEST_SHA256_BYTES];

    if (credential->checked_ms <= cache->dropped_ms)
        return;
    digest_sha256(token, hash);
    struct credential_entry *entry = map_get(cache->credentials, hash_key_text(hash));
    if (entry != NULL)
        credential_drop(cache, entry);
    if (map_size(cache->credentials) >= CREDENTIALS_MAX)
        credential_drop(cache,
                        LIST_ITEM(cache->credentials_order.next, struct credential_entry, link));
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        PANIC("out of memory");
    memcpy(entry->hash, hash, sizeof(hash));
    entry->credential = *credential;
    (void)map_put(cache->credentials, hash_key_text(entry->hash), entry);
    list_append(&cache->credentials_order, &entry->link);
}

/* --- all --- */

void project_cache_drop(struct project *project)
{
    struct project_cache *cache = project->cache;

    cache->generation++;
    cache->dropped_ms = clock_mono_ms();
    LIST_FOR (node, &cache->rights_order)
        rights_drop(cache, LIST_ITEM(node, struct rights_entry, link));
    LIST_FOR (node, &cache->credentials_order)
        credential_drop(cache, LIST_ITEM(node, struct credential_entry, link));
}

void project_cache_free(struct project *project)
{
    struct project_cache *cache = project->cache;

    project_cache_drop(project);
    map_free(cache->rights);
    map_free(cache->rights_loads);
    map_free(cache->credentials);
}
