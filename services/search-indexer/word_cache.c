/* A cache has two spaces. Words go into the young space. When the young space is full it becomes
 * the old space, and the previous old space is freed: words that were not used while a space filled
 * up are forgotten. */
#include "word_cache.h"

#include "base/clock.h"
#include "base/panic.h"

#define WORD_CACHES        4
#define WORD_CACHE_IDLE_MS 5000                       /* without a run; then the cache is freed */
#define WORD_CACHE_BYTES   ((size_t)16 * 1024 * 1024) /* about, of all projects that run */

struct word_space {
    struct arena *arena; /* NULL: the space is empty */
    struct index_terms terms;
};

struct word_cache {
    int64_t number, token; /* project and token of its lease; 0 = free slot */
    bool running;
    int64_t ended_ms; /* end of the last run, monotonic */
    size_t batch;
    size_t space_bytes; /* of a full space: the run's share */
    struct word_space young, old;
};

static struct word_cache caches[WORD_CACHES];

static void word_space_free(struct word_space *space)
{
    if (space->arena != NULL)
        arena_free(space->arena);
    *space = (struct word_space){0};
}

void word_cache_clear(struct word_cache *cache)
{
    if (cache == NULL)
        return;
    word_space_free(&cache->young);
    word_space_free(&cache->old);
}

static void word_cache_free(struct word_cache *cache)
{
    word_cache_clear(cache);
    *cache = (struct word_cache){0};
}

/* The project's own slot, or a free slot, or the slot of a project that has no run now. NULL: every
 * slot is in use. */
static struct word_cache *word_cache_slot(int64_t number)
{
    struct word_cache *entry = NULL;

    for (size_t i = 0; i < WORD_CACHES; i++) {
        struct word_cache *cache = &caches[i];
        if (cache->number == number)
            return cache->running ? NULL : cache;
        if (!cache->running && (entry == NULL || cache->number == 0))
            entry = cache;
    }
    return entry;
}

struct word_cache *word_cache_acquire(int64_t number, int64_t token)
{
    struct word_cache *cache = word_cache_slot(number);

    if (cache == NULL)
        return NULL;
    if (cache->number != number || cache->token + 1 != token)
        word_cache_free(cache);
    cache->number = number;
    cache->token = token;
    cache->running = true;
    size_t running = 0;
    for (size_t i = 0; i < WORD_CACHES; i++)
        running += caches[i].running;
    cache->space_bytes = WORD_CACHE_BYTES / 2 / running;
    return cache;
}

void word_cache_release(struct word_cache *cache, bool more, size_t batch)
{
    if (cache == NULL)
        return;
    MUST(cache->running);
    cache->running = false;
    cache->batch = batch;
    cache->ended_ms = clock_mono_ms();
    if (!more)
        word_cache_free(cache);
}

void word_cache_sweep(void)
{
    for (size_t i = 0; i < WORD_CACHES; i++)
        if (!caches[i].running && caches[i].number != 0 &&
            clock_mono_ms() - caches[i].ended_ms > WORD_CACHE_IDLE_MS)
            word_cache_free(&caches[i]);
}

size_t word_cache_batch_size(const struct word_cache *cache)
{
    return cache != NULL ? cache->batch : 0;
}

static void word_cache_put(struct word_cache *cache, const struct word *word)
{
    if (cache->young.arena != NULL && arena_held_bytes(cache->young.arena) >= cache->space_bytes) {
        word_space_free(&cache->old);
        cache->old = cache->young;
        cache->young = (struct word_space){0};
    }
    if (cache->young.arena == NULL) {
        cache->young.arena = arena_new((size_t)64 * 1024);
        terms_init(&cache->young.terms, cache->young.arena);
    }
    uint32_t number = terms_put(&cache->young.terms, word->term);
    struct word *own = &cache->young.terms.items[number];
    own->id = word->id;
    own->df = word->df;
    own->part = word->part;
}

void word_cache_fill(struct word_cache *cache, struct index_terms *terms)
{
    for (size_t i = terms->stored; cache != NULL && i < terms->count; i++) {
        struct word *word = &terms->items[i];
        const struct word *known = NULL;
        if (word->id != 0)
            continue;
        if (cache->young.arena != NULL)
            known = terms_find(&cache->young.terms, word->term);
        if (known == NULL && cache->old.arena != NULL)
            known = terms_find(&cache->old.terms, word->term);
        if (known == NULL)
            continue;
        word->id = known->id;
        word->df = known->df;
        word->part = known->part;
    }
}

void word_cache_store(struct word_cache *cache, const struct index_terms *terms)
{
    for (size_t i = 0; cache != NULL && i < terms->count; i++)
        if (terms->items[i].id != 0)
            word_cache_put(cache, &terms->items[i]);
}
