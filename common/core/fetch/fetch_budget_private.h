#pragma once
/*
 * The memory budget for responses that arrive. The first 64 KB of a response need no budget,
 * because the number of slots limits them. A response that grows further must acquire budget for
 * its largest possible size in one step. Until enough is free its transfer is paused, and the
 * unread data stays with the sender. A paused response holds no part of the budget, so two
 * responses never wait for each other. Each project has a share (loop/shares.h). Loop thread.
 */
#include <curl/curl.h>

#include "base/list.h"
#include "fetch/fetch.h"
#include "loop/shares.h"

#define FETCH_BUDGET_FREE_BYTES ((size_t)64 << 10)

/* The budget of one transfer, zeroed before it begins. Must not move until
 * fetch_budget_stop_waiting(). */
struct fetch_budget_wait {
    struct fetch_budget budget; /* held when it has a share */
    struct share_owner owner;
    CURL *easy; /* the paused transfer; NULL while it is not paused */
    struct list link;
};

/* loop: fetch_budget_init() starts the module with a budget of `limit` bytes, fetch_budget_done()
 * stops it. */
void fetch_budget_init(uint64_t limit);
void fetch_budget_done(void);
/* loop: For libcurl's write callback. Acquires `bytes` of the budget, which stay held. False: too
 * little is free, and the callback must return CURL_WRITEFUNC_PAUSE. libcurl delivers the same data
 * again when enough is free. */
bool fetch_budget_acquire(struct fetch_budget_wait *wait, uint64_t bytes, CURL *easy);
/* loop: The transfer has ended and no longer waits. It keeps the budget that it holds. */
void fetch_budget_stop_waiting(struct fetch_budget_wait *wait);
