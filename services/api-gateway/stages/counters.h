#pragma once
/*
 * Counters per minute and project that all workers of this gateway share. No project can use up all
 * slots: callers of a project whose share is full are counted together.
 */
#include <stdbool.h>
#include <stdint.h>

#include "http/route.h"

#define COUNTERS_WINDOW_MS 60000

/* Group of a counter. A project has one quota of slots for anonymous callers and one for callers
 * with credentials. `class` separates the counters of callers without a slot. */
struct counters_group {
    int64_t project; /* 0 = none */
    bool anonymous;
    enum route_class class;
};

/* Maps the shared memory. Call it before fork. */
void counters_prepare(void);
/* any: counters_seed() returns the random seed of keys, so that no client can predict a key.
 * counters_mix() adds a value to the hash that becomes a key. */
uint64_t counters_seed(void);
uint64_t counters_mix(uint64_t hash, uint64_t value);
/* any: Adds `amount` to the key's count of this minute and returns the sum. */
uint32_t counters_add(const struct counters_group *group, uint64_t key, uint32_t amount);
/* any: counters_set_time() stores a time, in seconds since 1970, in the slot of a count until the
 * minute of that time is over; it stores nothing when no slot is free. counters_get_time() returns
 * that time; 0 = none. */
void counters_set_time(const struct counters_group *group, uint64_t key, int64_t until_s);
int64_t counters_get_time(uint64_t key);
