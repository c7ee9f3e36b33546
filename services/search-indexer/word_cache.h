#pragma once
/*
 * The word cache of a project. It keeps, from one batch and one run to the next, words with their
 * ids, so that they need not be read again, and the size of the last batch.
 *
 * The cache is valid as long as no other process has had the lease. A claim raises the lease's
 * token by one: when a run's token is one above the cached token, no other process had the lease. A
 * process has caches for a few projects, some megabytes each, and none for a project without work.
 */
#include "terms.h"

struct word_cache;

/* any: The project's cache for a run under `token`, emptied if its words are no longer valid;
 * borrowed until word_cache_release(). NULL: every slot is in use. */
struct word_cache *word_cache_acquire(int64_t number, int64_t token);
/* any: Ends the run. `more`: work is left, so the cache stays; otherwise it is freed. `batch`: size
 * of the last batch. `cache` may be NULL. */
void word_cache_release(struct word_cache *cache, bool more, size_t batch);
/* any: Frees the caches of projects that have had no run here for five seconds: another process may
 * have the lease. */
void word_cache_sweep(void);
/* any: Size of the last batch, in records; 0: unknown. */
size_t word_cache_batch_size(const struct word_cache *cache);
/* any thread: Fills the words of `terms` that have no id yet and are in the cache. */
void word_cache_fill(struct word_cache *cache, struct index_terms *terms);
/* any thread: Stores words as they are in the tables, after the commit. */
void word_cache_store(struct word_cache *cache, const struct index_terms *terms);
/* any: Empties the cache, because the tables may have changed without it. */
void word_cache_clear(struct word_cache *cache);
