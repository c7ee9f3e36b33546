/* The memory budget for responses that arrive. */
#include "fetch/fetch_budget_private.h"

#include "loop/loop.h"

static struct shares arriving;
static struct list
    paused_transfers; /* struct fetch_budget_wait of paused transfers, oldest first */
static struct loop_timer timer;
static bool running; /* false after fetch_budget_done(): paused transfers are not continued */

/* Continues paused transfers that fit into the budget now. Runs from a timer: continuing a transfer
 * calls libcurl's callbacks, and libcurl must not be called from one of them. */
static void fetch_budget_resume(void *arg)
{
    (void)arg;
    LIST_FOR (node, &paused_transfers) {
        struct fetch_budget_wait *wait = LIST_ITEM(node, struct fetch_budget_wait, link);
        CURL *easy = wait->easy;
        if (shares_try(&arriving, wait->owner, wait->budget.bytes, &wait->budget.share) != 0)
            continue;
        fetch_budget_stop_waiting(wait);
        (void)curl_easy_pause(easy, CURLPAUSE_CONT);
    }
}

/* Initialises the shares once per process. A later call only changes the limit. */
void fetch_budget_init(uint64_t limit)
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
    list_init(&paused_transfers);
    loop_timer_init(&timer, fetch_budget_resume, NULL);
    running = true;
}

void fetch_budget_done(void)
{
    running = false;
    loop_timer_stop(&timer);
}

bool fetch_budget_acquire(struct fetch_budget_wait *wait, uint64_t bytes, CURL *easy)
{
    if (wait->budget.share != NULL)
        return true;
    wait->budget.bytes = bytes;
    if (shares_try(&arriving, wait->owner, bytes, &wait->budget.share) == 0)
        return true;
    wait->budget.share = NULL;
    wait->easy = easy;
    list_append(&paused_transfers, &wait->link);
    return false;
}

void fetch_budget_stop_waiting(struct fetch_budget_wait *wait)
{
    if (wait->easy == NULL)
        return;
    list_remove(&wait->link);
    wait->easy = NULL;
}

void fetch_budget_release(struct fetch_budget *budget)
{
    if (budget->share == NULL)
        return;
    shares_release(&arriving, budget->share, budget->bytes);
    budget->share = NULL;
    if (running && !list_empty(&paused_transfers))
        loop_timer_start(&timer, 0);
}
