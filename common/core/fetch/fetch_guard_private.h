#pragma once
/*
 * Restricts which addresses a request may connect to. The host name is resolved once and all its
 * addresses must be public, unless the operator allows the host. The address is checked again when
 * the socket is opened and before each request. Loop thread.
 */
#include <curl/curl.h>

#include "fetch/fetch_resolve_private.h"
#include "fetch/fetch_url_private.h"

/* Must live as long as its easy handle. */
struct fetch_guard {
    struct fetch_url url;
    struct fetch_addresses addresses; /* only when the host is a name */
    bool refused;                     /* an address was not allowed */
    unsigned sent_count;              /* requests sent, including repetitions */
};

/* co: Resolves the host of guard->url unless it is an IP address. Returns 0, FETCH_REFUSED,
 * FETCH_UNREACHABLE, FETCH_BUSY, -ECANCELED or -ETIMEDOUT. */
AWAITS int fetch_guard_resolve(struct task *task,
                               struct fetch_guard *guard,
                               struct share_owner owner,
                               int64_t limit_ms) MUSTCHECK;
/* any: Restricts the easy handle to the guard's addresses. Returns a list that the caller frees
 * with curl_slist_free_all() after the handle; NULL when the host is an IP address. */
struct curl_slist *fetch_guard_apply(CURL *easy, struct arena *arena, struct fetch_guard *guard);
