#pragma once
/*
 * Memory for answers that arrive. The first bytes of each need none: slots bound them. One that
 * grows beyond holds all that it may become, or its transfer rests, and what was sent stays with
 * its sender, until others have given back theirs: nobody rests with a part of it, so that no two
 * wait for one another. A share for each project (loop/shares). Loop thread.
 */
#include <curl/curl.h>

#include "base/list.h"
#include "fetch/fetch.h"
#include "loop/shares.h"

#define FETCH_ROOM_FIRST_BYTES ((size_t)64 << 10)

/* A transfer's, zeroed before it begins; it stays where it is until fetch_room_leave(). */
struct fetch_room_wait {
    struct fetch_room room; /* held when it has a share */
    struct share_owner owner;
    CURL *easy; /* continued when there is room; NULL while nothing waits */
    struct list link;
};

/* loop: as fetch_init() and fetch_done(); `limit` in bytes. */
void fetch_room_init(uint64_t limit);
void fetch_room_done(void);
/* loop, from libcurl's write callback: true with room for `bytes`, which stay held; false: the
 * callback answers CURL_WRITEFUNC_PAUSE, and is called again with the same data when they are. */
bool fetch_room_take(struct fetch_room_wait *wait, uint64_t bytes, CURL *easy);
/* loop: the transfer has ended and no longer waits; what it holds, it keeps. */
void fetch_room_stop(struct fetch_room_wait *wait);
