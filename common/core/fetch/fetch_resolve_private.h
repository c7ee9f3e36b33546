#pragma once
/*
 * Resolves names to addresses, concurrently and off the loop. Each lookup has a thread of its own:
 * a slow name server, which any user can run, must not hold up other lookups, files or hashing. A
 * caller that needs a name that the same project is already resolving waits for that lookup.
 * Results are cached for a few seconds, because a broadcast sends hundreds of requests to one host.
 * The cache holds the whole result with `all_public`, which callers check each time.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "loop/shares.h"

#define FETCH_MAX_ADDRESSES    16
#define FETCH_HOST_BYTES       256
#define FETCH_RESOLVE_CACHE_MS 5000

struct fetch_addresses {
    bool all_public;
    /* "a,b,c" in the resolver's order, IPv6 in brackets; the first FETCH_MAX_ADDRESSES. */
    char list[FETCH_MAX_ADDRESSES * (INET6_ADDRSTRLEN + 3)];
};

/* loop: Starts the module. `max_threads` limits the concurrent lookups, including lookups whose
 * callers have left. One owner may use at most a quarter of the threads and must leave threads to
 * other owners. */
void fetch_resolve_init(unsigned max_threads);
/* loop: Waiting callers get FETCH_UNREACHABLE. Threads that end later clean up after themselves. */
void fetch_resolve_done(void);

/* co: Resolves `host`. Returns 0, FETCH_UNREACHABLE (no such name, or the name server failed),
 * FETCH_BUSY (too many lookups of the owner wait, or no thread can be created), -ECANCELED or
 * -ETIMEDOUT. */
AWAITS int fetch_resolve(struct task *task,
                         const char *host,
                         struct share_owner owner,
                         int64_t limit_ms,
                         struct fetch_addresses *ret_addresses) MUSTCHECK;

/* --- fetch_resolve_cache.c; loop thread --- */

/* any: Returns whether the name is in the cache, with its addresses. */
bool fetch_resolve_cache_get(int64_t project,
                             const char *host,
                             int64_t now_ms,
                             struct fetch_addresses *ret_addresses);
/* any: Caches the addresses of a name for FETCH_RESOLVE_CACHE_MS. Evicts at most one name. */
void fetch_resolve_cache_put(int64_t project,
                             const char *host,
                             int64_t now_ms,
                             const struct fetch_addresses *addresses);
/* any: Empties the cache. */
void fetch_resolve_cache_clear(void);
