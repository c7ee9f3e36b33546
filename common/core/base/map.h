#pragma once
/*
 * Hash map from text to pointer. A map copies and owns its keys, never its values. It is used by
 * one thread at a time, or by several threads that only read. Hashes depend on a random secret, so
 * clients cannot choose keys that collide.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct map;

/* Returns an empty map, owned by the caller. */
struct map *map_new(void);
/* Frees the map and its keys; NULL is allowed. */
void map_free(struct map *map);
/* Returns the value of a key, or NULL. */
void *map_get(const struct map *map, struct str key);
/* Sets the value of a key and returns the previous value, or NULL. `value` is not NULL. */
void *map_put(struct map *map, struct str key, void *value);
/* Removes a key and returns its value, or NULL. */
void *map_remove(struct map *map, struct str key);
/* Returns the number of keys. */
size_t map_size(const struct map *map);
/* Iterates over the keys, borrowed from the map: *cursor starts at 0. Returns false at the end.
 * During the iteration the current key may be removed, but no key may be added. */
bool map_next(const struct map *map, size_t *cursor, struct str *ret_key, void **ret_value);
