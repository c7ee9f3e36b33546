#pragma once
/*
 * Who is dialled: the addresses that a name was resolved to once, all of them public unless the
 * operator allows the host, and looked at again when the socket is opened and before each request.
 * Loop thread.
 */
#include <curl/curl.h>

#include "fetch/fetch_resolve_private.h"
#include "fetch/fetch_url_private.h"

/* Lives as long as its easy handle. */
struct fetch_guard {
    struct fetch_url url;
    struct fetch_addresses addresses; /* of a host that is a name */
    bool refused;                     /* an address turned out not to be allowed */
    unsigned sent;                    /* requests that left */
};

/* co: resolves the name, which is none yet. FETCH_REFUSED, FETCH_UNREACHABLE, FETCH_BUSY,
 * -ECANCELED, -ETIMEDOUT. */
AWAITS int fetch_guard_resolve(struct task *task,
                               struct fetch_guard *guard,
                               struct share_owner owner,
                               int64_t limit_ms) MUSTCHECK;
/* any: the handle dials nobody else. Owned: what curl_slist_free_all() takes once the handle is
 * gone; NULL when there is nothing to name. */
struct curl_slist *fetch_guard_set(CURL *easy, struct arena *arena, struct fetch_guard *guard);
