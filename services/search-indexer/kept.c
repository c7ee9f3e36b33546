/* A cache has two spaces. Words go into the young space. When it is full it becomes the old space,
 * and the previous old space is freed: words that were not used while a space filled up are
 * forgotten. */
#include "kept.h"

#include "base/clock.h"
#include "base/panic.h"

#define KEPT_MOST  4
#define KEPT_MS    5000                       /* without a run */
#define KEPT_BYTES ((size_t)16 * 1024 * 1024) /* about, of all projects that run */

struct space {
    struct arena *arena; /* NULL: the space is empty */
    struct index_terms terms;
};

struct kept {
    int64_t number, token; /* project and token of its lease; 0 = free slot */
    bool running;
    int64_t ended_ms; /* end of the last run, monotonic */
    size_t batch;
    size_t space_bytes; /* of a full space: the run's share */
    struct space young, old;
};

static struct kept all_kept[KEPT_MOST];

static void space_free(struct space *space)
{
    if (space->arena != NULL)
        arena_free(space->arena);
    *space = (struct space){0};
}

void kept_forget(struct kept *kept)
{
    if (kept == NULL)
        return;
    space_free(&kept->young);
    space_free(&kept->old);
}

static void kept_free(struct kept *kept)
{
    kept_forget(kept);
    *kept = (struct kept){0};
}

/* The project's own slot, or a free slot, or the slot of a project that has no run now. NULL: every
 * slot is in use. */
static struct kept *kept_place(int64_t number)
{
    struct kept *place = NULL;

    for (size_t i = 0; i < KEPT_MOST; i++) {
        struct kept *kept = &all_kept[i];
        if (kept->number == number)
            return kept->running ? NULL : kept;
        if (!kept->running && (place == NULL || kept->number == 0))
            place = kept;
    }
    return place;
}

struct kept *kept_take(int64_t number, int64_t token)
{
    struct kept *kept = kept_place(number);

    if (kept == NULL)
        return NULL;
    if (kept->number != number || kept->token + 1 != token)
        kept_free(kept);
    kept->number = number;
    kept->token = token;
    kept->running = true;
    size_t running = 0;
    for (size_t i = 0; i < KEPT_MOST; i++)
        running += all_kept[i].running;
    kept->space_bytes = KEPT_BYTES / 2 / running;
    return kept;
}

void kept_end(struct kept *kept, bool more, size_t batch)
{
    if (kept == NULL)
        return;
    MUST(kept->running);
    kept->running = false;
    kept->batch = batch;
    kept->ended_ms = clock_mono_ms();
    if (!more)
        kept_free(kept);
}

void kept_sweep(void)
{
    for (size_t i = 0; i < KEPT_MOST; i++)
        if (!all_kept[i].running && all_kept[i].number != 0 &&
            clock_mono_ms() - all_kept[i].ended_ms > KEPT_MS)
            kept_free(&all_kept[i]);
}

size_t kept_batch(const struct kept *kept)
{
    return kept != NULL ? kept->batch : 0;
}

static void keep_word(struct kept *kept, const struct word *word)
{
    if (kept->young.arena != NULL && arena_held_bytes(kept->young.arena) >= kept->space_bytes) {
        space_free(&kept->old);
        kept->old = kept->young;
        kept->young = (struct space){0};
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

void kept_find(struct kept *kept, struct index_terms *terms)
{
    for (size_t i = terms->settled; kept != NULL && i < terms->count; i++) {
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

void kept_store(struct kept *kept, const struct index_terms *terms)
{
    for (size_t i = 0; kept != NULL && i < terms->count; i++)
        if (terms->items[i].id != 0)
            keep_word(kept, &terms->items[i]);
}
