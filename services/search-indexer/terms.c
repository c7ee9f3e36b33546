/* A set of words as a hash table with open addressing, at most half full. */
#include "terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"

#define SLOTS_FIRST 1024

void terms_init(struct index_terms *terms, struct arena *arena)
{
    *terms = (struct index_terms){.arena = arena, .slot_count = SLOTS_FIRST};
    terms->slots = ARENA_ARRAY(arena, terms->slots, terms->slot_count);
    rand_bytes(&terms->seed, sizeof(terms->seed));
}

/* Mixes eight bytes at a time by multiplication. The seed is random, so that clients cannot choose
 * words that collide. */
static uint64_t terms_hash(const struct index_terms *terms, struct str term)
{
    uint64_t hash = terms->seed ^ (term.len * UINT64_C(0x9e3779b97f4a7c15));

    for (size_t at = 0; at < term.len; at += sizeof(uint64_t)) {
        uint64_t part = 0;
        size_t left = term.len - at;
        memcpy(&part, term.ptr + at, left < sizeof(part) ? left : sizeof(part));
        unsigned __int128 wide = (unsigned __int128)(hash ^ part) * UINT64_C(0xd6e8feb86659fd93);
        hash = (uint64_t)wide ^ (uint64_t)(wide >> 64);
    }
    return hash;
}

/* Returns the letters of a short word as one number, so that words compare as numbers. Returns 0
 * for a word whose text must be compared: an empty one, a long one, or one that ends with a zero
 * byte, which would look like the padding. */
static uint64_t terms_letters(struct str term)
{
    uint64_t letters = 0;

    if (term.len == 0 || term.len > sizeof(letters) || term.ptr[term.len - 1] == 0)
        return 0;
    memcpy(&letters, term.ptr, term.len);
    return letters;
}

static struct term_slot terms_key(const struct index_terms *terms, struct str term, size_t *ret_at)
{
    uint64_t hash = terms_hash(terms, term);

    *ret_at = hash & (terms->slot_count - 1);
    return (struct term_slot){.hash = (uint32_t)(hash >> 32), .letters = terms_letters(term)};
}

static bool is_slot_of(const struct index_terms *terms,
                       const struct term_slot *slot,
                       const struct term_slot *key,
                       struct str term)
{
    return slot->hash == key->hash && slot->letters == key->letters &&
           (key->letters != 0 || str_eq(terms->items[slot->number - 1].term, term));
}

/* The slot of a word, or the free slot where it belongs. Sets the hash and letters that this slot
 * is to hold in *ret_key. */
static struct term_slot *
terms_slot(const struct index_terms *terms, struct str term, struct term_slot *ret_key)
{
    size_t at;

    *ret_key = terms_key(terms, term, &at);
    while (terms->slots[at].number != 0 && !is_slot_of(terms, &terms->slots[at], ret_key, term))
        at = (at + 1) & (terms->slot_count - 1);
    return &terms->slots[at];
}

static void slot_fill(struct term_slot *slot, struct term_slot key, size_t item)
{
    key.number = (uint32_t)item + 1;
    *slot = key;
}

static void terms_widen(struct index_terms *terms)
{
    terms->slot_count *= 2;
    terms->slots = ARENA_ARRAY(terms->arena, terms->slots, terms->slot_count);
    for (size_t i = 0; i < terms->count; i++) {
        struct term_slot key;
        struct term_slot *slot = terms_slot(terms, terms->items[i].term, &key);
        slot_fill(slot, key, i);
    }
}

uint32_t terms_put(struct index_terms *terms, struct str term)
{
    struct term_slot key;
    struct term_slot *slot = terms_slot(terms, term, &key);

    if (slot->number != 0)
        return slot->number - 1;
    if (terms->count * 2 >= terms->slot_count) {
        terms_widen(terms);
        slot = terms_slot(terms, term, &key);
    }
    ARENA_PUSH(terms->arena,
               terms->items,
               terms->count,
               terms->cap,
               (struct word){.term = arena_dup(terms->arena, term)});
    slot_fill(slot, key, terms->count - 1);
    return (uint32_t)terms->count - 1;
}

struct word *terms_find(const struct index_terms *terms, struct str term)
{
    struct term_slot key;
    uint32_t number = terms_slot(terms, term, &key)->number;

    return number != 0 ? &terms->items[number - 1] : NULL;
}

static int order_refs(const void *left, const void *right)
{
    int32_t a = ((const struct word_ref *)left)->id;
    int32_t b = ((const struct word_ref *)right)->id;

    return (a > b) - (a < b);
}

void terms_index(struct index_terms *terms)
{
    terms->by_id = ARENA_ARRAY(terms->arena, terms->by_id, terms->count);
    terms->by_id_count = 0;
    for (size_t i = 0; i < terms->count; i++)
        if (terms->items[i].id != 0)
            terms->by_id[terms->by_id_count++] = (struct word_ref){terms->items[i].id, (uint32_t)i};
    if (terms->by_id_count > 1)
        qsort(terms->by_id, terms->by_id_count, sizeof(*terms->by_id), order_refs);
}

struct word *terms_by_id(const struct index_terms *terms, int32_t id)
{
    const struct word_ref wanted = {.id = id};
    const struct word_ref *found =
        terms->by_id_count > 0
            ? bsearch(&wanted, terms->by_id, terms->by_id_count, sizeof(*terms->by_id), order_refs)
            : NULL;

    return found != NULL ? &terms->items[found->number] : NULL;
}
