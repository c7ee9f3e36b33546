/* Posting lists in memory: of each the varints of what an id is above the one before, in chunks
 * that double. */
#include "postings.h"

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

enum { CHUNK_FIRST = 8, CHUNK_MOST = 1024, LISTS_FIRST = 4096 };

struct chunk {
    struct chunk *next;
    uint16_t size, used;
    uint8_t bytes[];
};

struct list_of {
    struct chunk *first, *tail;
    int64_t last;
    int32_t term;
    int32_t n;
    int16_t field;
};

struct postings {
    struct arena *arena; /* of chunks */
    struct list_of *lists;
    size_t count, cap;
    uint32_t *slots; /* number of a list + 1 */
    size_t slot_count;
    size_t at; /* of postings_next() */
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
    postings->arena = arena_new((size_t)64 * 1024);
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
    arena_free(postings->arena);
    free(postings->lists);
    free(postings->slots);
    free(postings->ids);
    free(postings);
}

/* Ids of words are given by us, one after the other: nobody chooses them. */
static size_t postings_slot(const struct postings *postings, int32_t term, int16_t field)
{
    uint64_t key = ((uint64_t)(uint32_t)term << 16) ^ (uint16_t)field;
    size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (postings->slot_count - 1);

    for (;;) {
        uint32_t number = postings->slots[slot];
        if (number == 0)
            return slot;
        const struct list_of *list = &postings->lists[number - 1];
        if (list->term == term && list->field == field)
            return slot;
        slot = (slot + 1) & (postings->slot_count - 1);
    }
}

static void postings_widen(struct postings *postings)
{
    postings->cap *= 2;
    postings->lists = postings_alloc(postings->lists, postings->cap * sizeof(*postings->lists));
    free(postings->slots);
    postings->slot_count *= 2;
    postings->slots = calloc(postings->slot_count, sizeof(*postings->slots));
    MUST(postings->slots != NULL);
    for (size_t i = 0; i < postings->count; i++)
        postings
            ->slots[postings_slot(postings, postings->lists[i].term, postings->lists[i].field)] =
            (uint32_t)i + 1;
}

static struct list_of *list_get(struct postings *postings, int32_t term, int16_t field)
{
    size_t slot = postings_slot(postings, term, field);

    if (postings->slots[slot] != 0)
        return &postings->lists[postings->slots[slot] - 1];
    if (postings->count == postings->cap) {
        postings_widen(postings);
        slot = postings_slot(postings, term, field);
    }
    struct list_of *list = &postings->lists[postings->count++];
    *list = (struct list_of){.term = term, .field = field};
    postings->slots[slot] = (uint32_t)postings->count;
    return list;
}

static void put_byte(struct postings *postings, struct list_of *list, uint8_t byte)
{
    struct chunk *tail = list->tail;

    if (tail == NULL || tail->used == tail->size) {
        size_t size = tail == NULL                          ? CHUNK_FIRST
                      : (size_t)tail->size * 2 < CHUNK_MOST ? (size_t)tail->size * 2
                                                            : CHUNK_MOST;
        struct chunk *next = arena_alloc(postings->arena, sizeof(*next) + size);
        *next = (struct chunk){.size = (uint16_t)size};
        if (tail == NULL)
            list->first = next;
        else
            tail->next = next;
        list->tail = tail = next;
    }
    tail->bytes[tail->used++] = byte;
}

void postings_add(struct postings *postings, int64_t id, const struct forward_list *of)
{
    for (size_t i = 0; i < of->count; i++) {
        struct list_of *list = list_get(postings, of->items[i].term, of->items[i].field);
        MUST(id > list->last);
        uint64_t delta = (uint64_t)(id - list->last);
        for (; delta >= 0x80; delta >>= 7)
            put_byte(postings, list, (uint8_t)(delta | 0x80));
        put_byte(postings, list, (uint8_t)delta);
        list->last = id;
        list->n++;
    }
}

size_t postings_bytes(const struct postings *postings)
{
    return arena_held_bytes(postings->arena) + postings->cap * sizeof(*postings->lists) +
           postings->slot_count * sizeof(*postings->slots);
}

static int order_lists(const void *left, const void *right)
{
    const struct list_of *a = left;
    const struct list_of *b = right;

    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    return (a->field > b->field) - (a->field < b->field);
}

void postings_sort(struct postings *postings)
{
    if (postings->count > 1)
        qsort(postings->lists, postings->count, sizeof(*postings->lists), order_lists);
    postings->at = 0;
}

static void decode_list(struct postings *postings, const struct list_of *list)
{
    int64_t last = 0;
    uint64_t delta = 0;
    unsigned shift = 0;
    size_t count = 0;

    for (const struct chunk *chunk = list->first; chunk != NULL; chunk = chunk->next)
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
    MUST(count == (size_t)list->n);
}

bool postings_next(struct postings *postings, struct posting_list *ret_list)
{
    if (postings->at == postings->count)
        return false;
    const struct list_of *list = &postings->lists[postings->at++];
    if (postings->ids_cap < (size_t)list->n) {
        postings->ids_cap = (size_t)list->n;
        postings->ids = postings_alloc(postings->ids, postings->ids_cap * sizeof(*postings->ids));
    }
    decode_list(postings, list);
    *ret_list = (struct posting_list){list->term, list->field, list->n, postings->ids};
    return true;
}
