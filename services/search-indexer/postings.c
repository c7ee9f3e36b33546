/*
 * Posting lists in memory. A list is a sequence of varints, each the distance of an id from the
 * previous id, in chunks that double in size. Most lists are short, and there are many of them: a
 * chunk is found by a number of four bytes instead of a pointer, and the last chunk of a list
 * points to its first, so that a list stores only the last.
 */
#include "postings.h"

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

enum {
    CHUNK_FIRST = 8,
    CHUNK_MAX = 1024,
    CHUNK_UNIT = 8, /* bytes: chunks begin at multiples of this */
    LISTS_FIRST = 4096,
    BLOCK_UNITS = 32768, /* units of a block, which chunks are cut from */
};

struct varint_chunk {
    uint32_t next; /* number of the next chunk; in the last chunk, of the first chunk */
    uint16_t size, used;
    uint8_t bytes[];
};

struct memory_list {
    int64_t last;
    uint32_t tail; /* last chunk; 0 = none */
    int32_t term;
    int32_t n;
    int16_t field;
};

struct postings {
    uint8_t **blocks; /* a chunk's number is its first unit, counted through all blocks */
    size_t block_count, block_cap;
    size_t used; /* units of the last block */
    struct memory_list *lists;
    size_t count, cap;
    uint32_t *slots; /* index of a list + 1; after postings_sort(), the indexes in order */
    size_t slot_count;
    size_t at; /* position of postings_next() */
    int64_t *ids;
    size_t ids_cap;
};

static void *postings_alloc(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    MUST(memory != NULL);
    return memory;
}

struct postings *postings_new(void)
{
    struct postings *postings = calloc(1, sizeof(*postings));

    MUST(postings != NULL);
    postings->used = BLOCK_UNITS;
    postings->cap = LISTS_FIRST;
    postings->lists = postings_alloc(NULL, postings->cap * sizeof(*postings->lists));
    postings->slot_count = (size_t)LISTS_FIRST * 2;
    postings->slots = calloc(postings->slot_count, sizeof(*postings->slots));
    MUST(postings->slots != NULL);
    return postings;
}

void postings_free(struct postings *postings)
{
    if (postings == NULL)
        return;
    for (size_t i = 0; i < postings->block_count; i++)
        free(postings->blocks[i]);
    free(postings->blocks);
    free(postings->lists);
    free(postings->slots);
    free(postings->ids);
    free(postings);
}

/* The first slot where a list may be. The hash needs no seed: ids of words come from a sequence, so
 * clients cannot make them collide. */
static size_t postings_first_slot(const struct postings *postings, int32_t term, int16_t field)
{
    uint64_t key = ((uint64_t)(uint32_t)term << 16) ^ (uint16_t)field;

    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (postings->slot_count - 1);
}

static size_t postings_slot(const struct postings *postings, int32_t term, int16_t field)
{
    size_t slot = postings_first_slot(postings, term, field);

    for (;;) {
        uint32_t number = postings->slots[slot];
        if (number == 0)
            return slot;
        const struct memory_list *list = &postings->lists[number - 1];
        if (list->term == term && list->field == field)
            return slot;
        slot = (slot + 1) & (postings->slot_count - 1);
    }
}

/* Grows by a quarter: there may be a million lists. */
static void postings_widen(struct postings *postings)
{
    postings->cap += postings->cap / 4;
    postings->lists = postings_alloc(postings->lists, postings->cap * sizeof(*postings->lists));
    if (postings->cap * 3 / 2 < postings->slot_count)
        return;
    free(postings->slots);
    postings->slot_count *= 2;
    postings->slots = calloc(postings->slot_count, sizeof(*postings->slots));
    MUST(postings->slots != NULL);
    for (size_t i = 0; i < postings->count; i++)
        postings
            ->slots[postings_slot(postings, postings->lists[i].term, postings->lists[i].field)] =
            (uint32_t)i + 1;
}

static struct memory_list *list_get(struct postings *postings, int32_t term, int16_t field)
{
    size_t slot = postings_slot(postings, term, field);

    if (postings->slots[slot] != 0)
        return &postings->lists[postings->slots[slot] - 1];
    if (postings->count == postings->cap) {
        postings_widen(postings);
        slot = postings_slot(postings, term, field);
    }
    struct memory_list *list = &postings->lists[postings->count++];
    *list = (struct memory_list){.term = term, .field = field};
    postings->slots[slot] = (uint32_t)postings->count;
    return list;
}

/* --- chunks --- */

static struct varint_chunk *chunk_at(const struct postings *postings, uint32_t number)
{
    uint8_t *block = postings->blocks[number / BLOCK_UNITS];

    return (struct varint_chunk *)(void *)(block + (size_t)(number % BLOCK_UNITS) * CHUNK_UNIT);
}

/* No chunk has the number 0. */
static uint32_t chunk_new(struct postings *postings, size_t size)
{
    size_t units = (sizeof(struct varint_chunk) + size) / CHUNK_UNIT;

    if (postings->used + units > BLOCK_UNITS) {
        if (postings->block_count == postings->block_cap) {
            postings->block_cap = postings->block_cap * 2 + 16;
            postings->blocks =
                postings_alloc(postings->blocks, postings->block_cap * sizeof(*postings->blocks));
        }
        postings->blocks[postings->block_count++] =
            postings_alloc(NULL, (size_t)BLOCK_UNITS * CHUNK_UNIT);
        postings->used = postings->block_count == 1;
    }
    MUST(postings->block_count <= UINT32_MAX / BLOCK_UNITS);
    uint32_t number = (uint32_t)((postings->block_count - 1) * BLOCK_UNITS + postings->used);
    postings->used += units;
    *chunk_at(postings, number) = (struct varint_chunk){.size = (uint16_t)size};
    return number;
}

static void list_put_byte(struct postings *postings, struct memory_list *list, uint8_t byte)
{
    struct varint_chunk *tail = list->tail != 0 ? chunk_at(postings, list->tail) : NULL;

    if (tail == NULL || tail->used == tail->size) {
        size_t size = tail == NULL                         ? CHUNK_FIRST
                      : (size_t)tail->size * 2 < CHUNK_MAX ? (size_t)tail->size * 2
                                                           : CHUNK_MAX;
        uint32_t number = chunk_new(postings, size);
        struct varint_chunk *next = chunk_at(postings, number);
        next->next = tail == NULL ? number : tail->next;
        if (tail != NULL)
            tail->next = number;
        list->tail = number;
        tail = next;
    }
    tail->bytes[tail->used++] = byte;
}

/* Slots, lists and chunks are spread over many megabytes. Prefetching those of a whole record into
 * the CPU's cache halves the time. */
static void lists_prefetch(const struct postings *postings, const struct forward_list *of)
{
    for (size_t i = 0; i < of->count; i++)
        __builtin_prefetch(
            &postings->slots[postings_first_slot(postings, of->items[i].term, of->items[i].field)]);
    for (int step = 0; step < 2; step++)
        for (size_t i = 0; i < of->count; i++) {
            size_t home = postings_first_slot(postings, of->items[i].term, of->items[i].field);
            if (postings->slots[home] == 0)
                continue;
            const struct memory_list *list = &postings->lists[postings->slots[home] - 1];
            __builtin_prefetch(step == 0 ? (const void *)list : chunk_at(postings, list->tail));
        }
}

void postings_add(struct postings *postings, int64_t id, const struct forward_list *of)
{
    lists_prefetch(postings, of);
    for (size_t i = 0; i < of->count; i++) {
        struct memory_list *list = list_get(postings, of->items[i].term, of->items[i].field);
        MUST(id > list->last);
        uint64_t delta = (uint64_t)(id - list->last);
        for (; delta >= 0x80; delta >>= 7)
            list_put_byte(postings, list, (uint8_t)(delta | 0x80));
        list_put_byte(postings, list, (uint8_t)delta);
        list->last = id;
        list->n++;
    }
}

size_t postings_bytes(const struct postings *postings)
{
    return postings->block_count * BLOCK_UNITS * CHUNK_UNIT +
           postings->cap * sizeof(*postings->lists) +
           postings->slot_count * sizeof(*postings->slots);
}

static int order_lists(const void *left, const void *right, void *arg)
{
    const struct postings *postings = arg;
    const struct memory_list *a = &postings->lists[*(const uint32_t *)left];
    const struct memory_list *b = &postings->lists[*(const uint32_t *)right];

    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    return (a->field > b->field) - (a->field < b->field);
}

/* Sorts indexes of lists in place of the slots: no list is found by its key from now on. */
void postings_sort(struct postings *postings)
{
    for (size_t i = 0; i < postings->count; i++)
        postings->slots[i] = (uint32_t)i;
    if (postings->count > 1)
        qsort_r(postings->slots, postings->count, sizeof(*postings->slots), order_lists, postings);
    postings->at = 0;
}

static void list_decode(struct postings *postings, const struct memory_list *list)
{
    int64_t last = 0;
    uint64_t delta = 0;
    unsigned shift = 0;
    size_t count = 0;
    uint32_t number = list->tail;

    do {
        number = chunk_at(postings, number)->next;
        const struct varint_chunk *chunk = chunk_at(postings, number);
        for (size_t i = 0; i < chunk->used; i++) {
            delta |= (uint64_t)(chunk->bytes[i] & 0x7f) << shift;
            shift += 7;
            if (chunk->bytes[i] & 0x80)
                continue;
            last += (int64_t)delta;
            postings->ids[count++] = last;
            delta = 0;
            shift = 0;
        }
    } while (number != list->tail);
    MUST(count == (size_t)list->n);
}

bool postings_next(struct postings *postings, struct posting_list *ret_list)
{
    if (postings->at == postings->count)
        return false;
    const struct memory_list *list = &postings->lists[postings->slots[postings->at++]];
    if (postings->ids_cap < (size_t)list->n) {
        postings->ids_cap = (size_t)list->n;
        postings->ids = postings_alloc(postings->ids, postings->ids_cap * sizeof(*postings->ids));
    }
    list_decode(postings, list);
    *ret_list = (struct posting_list){list->term, list->field, list->n, postings->ids};
    return true;
}
