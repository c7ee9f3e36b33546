/* The memory budget for responses that arrive. */
#include "fetch/fetch_room_private.h"

#include "loop/loop.h"

static struct shares arriving;
static struct list resting; /* struct fetch_room_wait of paused transfers, oldest first */
static struct loop_timer timer;
static bool running; /* false after fetch_room_done(): paused transfers are not continued */

/* Continues paused transfers that fit into the budget now. Runs from a timer: continuing a transfer
 * calls libcurl's callbacks, and libcurl must not be called from one of them. */
static void fetch_room_go_on(void *arg)
{
    (void)arg;
    LIST_FOR (node, &resting) {
        struct fetch_room_wait *wait = LIST_ITEM(node, struct fetch_room_wait, link);
        CURL *easy = wait->easy;
        if (shares_try(&arriving, wait->owner, wait->room.bytes, &wait->room.share) != 0)
            continue;
        fetch_room_stop(wait);
        (void)curl_easy_pause(easy, CURLPAUSE_CONT);
    }
}

/* Initialises the shares once per process. A later call only changes the limit. */
void fetch_room_init(uint64_t limit)
{
    const struct shares_config config = {
        .name = "fetch_bytes",
        .limit = limit,
        .per_owner = SHARES_ANY,
        .leave_room = true,
    };

    if (arriving.owners == NULL)
        shares_init(&arriving, &config);
    arriving.config = config;
    list_init(&resting);
    loop_timer_init(&timer, fetch_room_go_on, NULL);
    running = true;
}

void fetch_room_done(void)
{
    running = false;
    loop_timer_stop(&timer);
}

bool fetch_room_take(struct fetch_room_wait *wait, uint64_t bytes, CURL *easy)
{
    if (wait->room.share != NULL)
        return true;
    wait->room.bytes = bytes;
    if (shares_try(&arriving, wait->owner, bytes, &wait->room.share) == 0)
        return true;
    wait->room.share = NULL;
    wait->easy = easy;
    list_append(&resting, &wait->link);
    return false;
}

void fetch_room_stop(struct fetch_room_wait *wait)
{
    if (wait->easy == NULL)
        return;
    list_remove(&wait->link);
    wait->easy = NULL;
}

void fetch_room_leave(struct fetch_room *room)
{
    if (room->share == NULL)
        return;
    shares_release(&arriving, room->share, room->bytes);
    room->share = NULL;
    if (running && !list_empty(&resting))
        loop_timer_start(&timer, 0);
}
