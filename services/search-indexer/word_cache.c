/* A cache has two spaces. Words go into the young space. When it is full it becomes the old space,
 * and the previous old space is freed: words that were not used while a space filled up are
 * forgotten. */
#include "word_cache.h"

#include "base/clock.h"
#include "base/panic.h"

#define WORD_CACHES        4
#define WORD_CACHE_IDLE_MS 5000                       /* without a run */
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

static struct word_cache all_kept[WORD_CACHES];

static void word_space_free(struct word_space *space)
{
    if (space->arena != NULL)
        arena_free(space->arena);
    *space = (struct word_space){0};
}

void word_cache_clear(struct word_cache *kept)
{
    if (kept == NULL)
        return;
    word_space_free(&kept->young);
    word_space_free(&kept->old);
}

static void word_cache_free(struct word_cache *kept)
{
    word_cache_clear(kept);
    *kept = (struct word_cache){0};
}

/* The project's own slot, or a free slot, or the slot of a project that has no run now. NULL: every
 * slot is in use. */
static struct word_cache *word_cache_slot(int64_t number)
{
    struct word_cache *place = NULL;

    for (size_t i = 0; i < WORD_CACHES; i++) {
        struct word_cache *kept = &all_kept[i];
        if (kept->number == number)
            return kept->running ? NULL : kept;
        if (!kept->running && (place == NULL || kept->number == 0))
            place = kept;
    }
    return place;
}

struct word_cache *word_cache_acquire(int64_t number, int64_t token)
{
    struct word_cache *kept = word_cache_slot(number);

    if (kept == NULL)
        return NULL;
    if (kept->number != number || kept->token + 1 != token)
        word_cache_free(kept);
    kept->number = number;
    kept->token = token;
    kept->running = true;
    size_t running = 0;
    for (size_t i = 0; i < WORD_CACHES; i++)
        running += all_kept[i].running;
    kept->space_bytes = WORD_CACHE_BYTES / 2 / running;
    return kept;
}

void word_cache_release(struct word_cache *kept, bool more, size_t batch)
{
    if (kept == NULL)
        return;
    MUST(kept->running);
    kept->running = false;
    kept->batch = batch;
    kept->ended_ms = clock_mono_ms();
    if (!more)
        word_cache_free(kept);
}

void word_cache_sweep(void)
{
    for (size_t i = 0; i < WORD_CACHES; i++)
        if (!all_kept[i].running && all_kept[i].number != 0 &&
            clock_mono_ms() - all_kept[i].ended_ms > WORD_CACHE_IDLE_MS)
            word_cache_free(&all_kept[i]);
}

size_t word_cache_batch_size(const struct word_cache *kept)
{
    return kept != NULL ? kept->batch : 0;
}

static void word_cache_put(struct word_cache *kept, const struct word *word)
{
    if (kept->young.arena != NULL && arena_held_bytes(kept->young.arena) >= kept->space_bytes) {
        word_space_free(&kept->old);
        kept->old = kept->young;
        kept->young = (struct word_space){0};
    }
    if (kept->young.arena == NULL) {
        kept->young.arena = arena_new((size_t)64 * 1024);
        terms_init(&kept->young.terms, kept->young.arena);
    }
    uint32_t number = terms_put(&kept->young.terms, word->term);
    struct word *own = &kept->young.terms.items[number];
    own->id = word->id;
    own->df = word->df;
    own->part = word->part;
}

void word_cache_fill(struct word_cache *kept, struct index_terms *terms)
{
    for (size_t i = terms->stored; kept != NULL && i < terms->count; i++) {
        struct word *word = &terms->items[i];
        const struct word *known = NULL;
        if (word->id != 0)
            continue;
        if (kept->young.arena != NULL)
            known = terms_find(&kept->young.terms, word->term);
        if (known == NULL && kept->old.arena != NULL)
            known = terms_find(&kept->old.terms, word->term);
        if (known == NULL)
            continue;
        word->id = known->id;
        word->df = known->df;
        word->part = known->part;
    }
}

void word_cache_store(struct word_cache *kept, const struct index_terms *terms)
{
    for (size_t i = 0; kept != NULL && i < terms->count; i++)
        if (terms->items[i].id != 0)
            word_cache_put(kept, &terms->items[i]);
}
