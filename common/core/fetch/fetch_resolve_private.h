#pragma once
/*
 * Names to addresses, all of them at once, off the loop. Each lookup has a thread of its own: a
 * name server that answers late (anybody can run one) must not hold up other lookups, files or
 * hashing. Whoever asks for a name that the project is asking for waits for that answer, and it is
 * kept for a few seconds: a broadcast has hundreds of requests to one host. What is kept is the
 * whole answer with the judgement of its addresses, which callers look at each time.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "loop/shares.h"

#define FETCH_MAX_ADDRESSES 16
#define FETCH_HOST_BYTES    256
#define FETCH_KEPT_MS       5000

struct fetch_addresses {
    bool all_public;
    /* "a,b,c" in the resolver's order, IPv6 in brackets; the first FETCH_MAX_ADDRESSES. */
    char list[FETCH_MAX_ADDRESSES * (INET6_ADDRSTRLEN + 3)];
};

/* loop: `max_threads` bounds lookups at once, also those whose caller has left; one owner's are a
 * quarter at most and leave room for the others'. */
void fetch_resolve_init(unsigned max_threads);
/* loop: waiting callers get FETCH_UNREACHABLE; late threads clean up after themselves. */
void fetch_resolve_done(void);

/* co: 0, FETCH_UNREACHABLE (no such name, name server failed), FETCH_BUSY (too many of the owner's
 * wait), -ECANCELED, -ETIMEDOUT. */
AWAITS int fetch_resolve(struct task *task,
                         const char *host,
                         struct share_owner owner,
                         int64_t limit_ms,
                         struct fetch_addresses *ret_addresses) MUSTCHECK;

/* --- fetch_resolve_cache.c; loop thread --- */

/* any: what was kept of the name less than FETCH_KEPT_MS ago. */
bool fetch_resolve_cached(int64_t project,
                          const char *host,
                          int64_t now_ms,
                          struct fetch_addresses *ret_addresses);
/* any: names of one project push out no more than a few of others. */
void fetch_resolve_keep(int64_t project,
                        const char *host,
                        int64_t now_ms,
                        const struct fetch_addresses *addresses);
/* any: nothing is kept. */
void fetch_resolve_forget(void);
