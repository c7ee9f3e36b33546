#pragma once
/*
 * Counters of a minute that all workers of this gateway share, by project. None can crowd them: a
 * project that has taken its share of slots counts callers together that come then.
 */
#include <stdbool.h>
#include <stdint.h>

#include "http/route.h"

#define COUNTERS_WINDOW_MS 60000

/* Whom a counter shares slots with: anonymous callers take none from those with credentials. */
struct counters_group {
    int64_t project; /* 0 = none */
    bool anonymous;
    enum route_class class;
};

/* Before fork. */
void counters_prepare(void);
/* any: for keys: what nobody outside can foresee. */
uint64_t counters_seed(void);
uint64_t counters_mix(uint64_t hash, uint64_t value);
/* any: adds to what this minute has seen of the key; returns the sum. */
uint32_t counters_add(const struct counters_group *group, uint64_t key, uint32_t amount);
/* any: a time, in seconds since 1970, that is kept in the place of a count till its minute is over,
 * if there is a place; 0 = none is. */
void counters_note(const struct counters_group *group, uint64_t key, int64_t until_s);
int64_t counters_noted(uint64_t key);
