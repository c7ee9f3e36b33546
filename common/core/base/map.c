/*
 * Hash map: linear probing over a power of two of slots, at most three quarters in use. The hash is
 * SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF") under a random secret,
 * because clients of the service choose many of the map's keys.
 */
#include "base/map.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/panic.h"
#include "base/rand.h"

#define SLOTS_FIRST 8U

/* A free slot has no key and no value. A grave is the slot of a removed key: it has a value but no
 * key, and probing continues past it. */
struct slot {
    char *key; /* owned */
    size_t len;
    uint64_t hash;
    void *value;
};

struct map {
    struct slot *slots;
    size_t mask; /* number of slots - 1 */
    size_t size;
    size_t tombstones; /* number of graves */
};

static char grave_mark;
static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void seed_draw(void)
{
    rand_bytes(seed, sizeof(seed));
}

static uint64_t map_rotate(uint64_t word, unsigned bits)
{
    return (word << bits) | (word >> (64U - bits));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = map_rotate(v[1], 13) ^ v[0];
    v[0] = map_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = map_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = map_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = map_rotate(v[1], 17) ^ v[2];
    v[2] = map_rotate(v[2], 32);
}

static uint64_t sip_hash(struct str text)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575ULL,
                     seed[1] ^ 0x646f72616e646f6dULL,
                     seed[0] ^ 0x6c7967656e657261ULL,
                     seed[1] ^ 0x7465646279746573ULL};
    uint64_t last = (uint64_t)text.len << 56U;
    size_t whole = text.len & ~(size_t)7;
    uint64_t word;

    for (size_t i = 0; i < whole; i += 8) {
        memcpy(&word, text.ptr + i, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = whole; i < text.len; i++)
        last |= (uint64_t)(unsigned char)text.ptr[i] << (8U * (i - whole));
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static struct slot *slots_new(size_t count)
{
    struct slot *slots = calloc(count, sizeof(*slots));
    if (!slots)
        PANIC("out of memory (%zu map slots)", count);
    return slots;
}

struct map *map_new(void)
{
    struct map *map = calloc(1, sizeof(*map));
    if (!map)
        PANIC("out of memory (map)");
    (void)pthread_once(&seed_once, seed_draw);
    map->slots = slots_new(SLOTS_FIRST);
    map->mask = SLOTS_FIRST - 1;
    return map;
}

void map_free(struct map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i <= map->mask; i++)
        free(map->slots[i].key);
    free(map->slots);
    free(map);
}

static bool slot_holds(const struct slot *slot, struct str key, uint64_t hash)
{
    return slot->hash == hash && slot->key && str_eq((struct str){slot->key, slot->len}, key);
}

static struct slot *slot_find(const struct map *map, struct str key, uint64_t hash)
{
    for (size_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        struct slot *slot = &map->slots[i];
        if (slot_holds(slot, key, hash))
            return slot;
        if (!slot->key && !slot->value)
            return NULL;
    }
}

/* Makes room: doubles the slots when keys fill half of them, else only removes the graves. */
static void map_rebuild(struct map *map)
{
    size_t old_count = map->mask + 1;
    size_t count = map->size >= old_count / 2 ? old_count * 2 : old_count;
    struct slot *old = map->slots;

    map->slots = slots_new(count);
    map->mask = count - 1;
    map->tombstones = 0;
    for (size_t i = 0; i < old_count; i++) {
        size_t to = old[i].hash & map->mask;
        if (!old[i].key)
            continue;
        while (map->slots[to].key)
            to = (to + 1) & map->mask;
        map->slots[to] = old[i];
    }
    free(old);
}

void *map_get(const struct map *map, struct str key)
{
    const struct slot *slot = slot_find(map, key, sip_hash(key));
    return slot ? slot->value : NULL;
}

void *map_put(struct map *map, struct str key, void *value)
{
    uint64_t hash = sip_hash(key);
    struct slot *slot = slot_find(map, key, hash);
    size_t i;

    MUST(value);
    if (slot) {
        void *before = slot->value;
        slot->value = value;
        return before;
    }
    if ((map->size + map->tombstones + 1) * 4 > (map->mask + 1) * 3)
        map_rebuild(map);
    i = hash & map->mask;
    while (map->slots[i].key)
        i = (i + 1) & map->mask;
    slot = &map->slots[i];
    if (slot->value)
        map->tombstones--;
    *slot = (struct slot){.key = malloc(key.len + 1), .len = key.len, .hash = hash, .value = value};
    if (!slot->key)
        PANIC("out of memory (map key)");
    if (key.len > 0)
        memcpy(slot->key, key.ptr, key.len);
    slot->key[key.len] = '\0';
    map->size++;
    return NULL;
}

void *map_remove(struct map *map, struct str key)
{
    struct slot *slot = slot_find(map, key, sip_hash(key));
    const struct slot *next;
    void *value;

    if (!slot)
        return NULL;
    value = slot->value;
    free(slot->key);
    *slot = (struct slot){0};
    map->size--;
    /* Probing stops anyway when the next slot is free. Otherwise it must reach the keys that
     * follow: leave a grave. */
    next = &map->slots[((size_t)(slot - map->slots) + 1) & map->mask];
    if (next->key || next->value) {
        slot->value = &grave_mark;
        map->tombstones++;
    }
    return value;
}

size_t map_size(const struct map *map)
{
    return map->size;
}

bool map_next(const struct map *map, size_t *cursor, struct str *ret_key, void **ret_value)
{
    while (*cursor <= map->mask) {
        const struct slot *slot = &map->slots[(*cursor)++];
        if (!slot->key)
            continue;
        *ret_key = (struct str){slot->key, slot->len};
        *ret_value = slot->value;
        return true;
    }
    return false;
}
