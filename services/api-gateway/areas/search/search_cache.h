#pragma once
/*
 * The process's cache of the projects' live indexes and search settings, which saves each search a
 * query. Cached values may be outdated: the statement that reads the lists verifies them
 * (search_plain.c). A project's number selects the slot; projects with the same slot evict each
 * other.
 */
#include "app.h"

/* A live index. Field number n of its lists, from 1, is field_ids.items[n - 1]. */
struct search_index {
    int64_t id, entity_id;
    struct sql_i64s field_ids;
};

struct search_cached {
    struct str version; /* of the settings; ptr NULL = no settings are stored */
    struct str doc;
    struct search_index *indexes;
    size_t count;
};

/* any: Copies the project's cached values to the arena. Returns false if none are cached. */
bool search_cache_get(struct arena *arena, int64_t project, struct search_cached *ret_known);
/* any: Caches a copy for the project, unless it is too large for a slot. */
void search_cache_put(int64_t project, const struct search_cached *known);
/* any: Removes the project from the cache. */
void search_cache_drop(int64_t project);
