#pragma once
/*
 * Hash map from text to pointer: open addressing, keys copied into the map. One thread. The map
 * owns its keys, never its values. Seeded at process start, so that callers cannot choose
 * collisions.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct map;

/* Returns owned. */
struct map *map_new(void);
void map_free(struct map *map);
/* Borrowed value or NULL. */
void *map_get(const struct map *map, struct str key);
/* Sets; returns the value that was there before, or NULL. `value` is not NULL. */
void *map_put(struct map *map, struct str key, void *value);
/* Removes; returns the value that was there, or NULL. */
void *map_remove(struct map *map, struct str key);
size_t map_size(const struct map *map);
/* Iterates: *cursor starts at 0; false at the end. Removing the current key is allowed. */
bool map_next(const struct map *map, size_t *cursor, struct str *ret_key, void **ret_value);
