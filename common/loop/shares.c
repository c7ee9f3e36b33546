/* Slots that owners share. */
#include "loop/shares.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/panic.h"

struct share {
    struct share_owner owner;
    struct list ring;    /* while somebody waits */
    struct list waiters; /* oldest first */
    unsigned held;
};

struct waiter {
    struct await await;
    struct list link;
    struct shares *shares;
    struct share *share;
};

void shares_init(struct shares *shares, unsigned limit, unsigned per_owner)
{
    MUST(limit > 0 && per_owner > 0);
    *shares = (struct shares){.limit = limit, .per_owner = per_owner, .owners = map_new()};
    list_init(&shares->ring);
}

static struct str key_of(const struct share_owner *owner)
{
    return (struct str){(const char *)owner, sizeof(*owner)};
}

static struct share *find(struct shares *shares, const struct share_owner *owner)
{
    struct share *share = map_get(shares->owners, key_of(owner));

    if (share != NULL)
        return share;
    share = calloc(1, sizeof(*share));
    MUST(share != NULL);
    share->owner = *owner;
    list_init(&share->ring);
    list_init(&share->waiters);
    (void)map_put(shares->owners, key_of(owner), share);
    return share;
}

static void forget_idle(struct shares *shares, struct share *share)
{
    if (share->held > 0 || !list_empty(&share->waiters))
        return;
    (void)map_remove(shares->owners, key_of(&share->owner));
    free(share);
}

static void take(struct shares *shares, struct share *share)
{
    shares->held++;
    share->held++;
}

static void leave_queue(struct waiter *waiter)
{
    list_remove(&waiter->link);
    waiter->shares->waiting--;
    if (list_empty(&waiter->share->waiters))
        list_remove(&waiter->share->ring);
}

/* Who is next: the first owner in turn that may hold one more. NULL when there is none. */
static struct share *next_in_turn(const struct shares *shares)
{
    for (struct list *it = shares->ring.next; it != &shares->ring; it = it->next) {
        struct share *share = LIST_ITEM(it, struct share, ring);
        if (share->held < shares->per_owner)
            return share;
    }
    return NULL;
}

static void serve(struct shares *shares)
{
    struct share *share;

    while (shares->held < shares->limit && (share = next_in_turn(shares)) != NULL) {
        struct waiter *waiter = LIST_ITEM(share->waiters.next, struct waiter, link);
        leave_queue(waiter);
        take(shares, share);
        if (!list_empty(&share->waiters)) {
            list_remove(&share->ring);
            list_append(&shares->ring, &share->ring);
        }
        await_done(&waiter->await, 0);
    }
}

static void abandon(struct await *await)
{
    struct waiter *waiter = CONTAINER_OF(await, struct waiter, await);

    leave_queue(waiter);
    forget_idle(waiter->shares, waiter->share);
}

int shares_acquire(struct task *task,
                   struct shares *shares,
                   struct share_owner owner,
                   struct share **ret_share)
{
    if (task->cancelled)
        return -ECANCELED;
    struct share *share = find(shares, &owner);
    *ret_share = share;
    /* Of those who wait while a slot is free all hold what they may. */
    if (shares->held < shares->limit && share->held < shares->per_owner) {
        take(shares, share);
        return 0;
    }
    struct waiter waiter = {.shares = shares, .share = share};
    await_init(&waiter.await);
    waiter.await.abandon = abandon;
    list_append(&share->waiters, &waiter.link);
    if (list_empty(&share->ring))
        list_append(&shares->ring, &share->ring);
    shares->waiting++;
    int rc = await_wait(task, &waiter.await, 0);
    if (rc != 0 && waiter.await.done) /* the slot came together with the cancel */
        shares_release(shares, share);
    return rc;
}

void shares_release(struct shares *shares, struct share *share)
{
    MUST(shares->held > 0 && share->held > 0);
    shares->held--;
    share->held--;
    serve(shares);
    forget_idle(shares, share);
}
