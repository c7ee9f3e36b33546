/* Resources that owners share: slots or bytes. */
#include "loop/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/panic.h"

struct share {
    struct share_owner owner;
    struct list ring_link; /* while a task of the owner waits */
    struct list waiters;   /* oldest first */
    unsigned waiting;
    uint64_t held;
};

struct waiter {
    struct await await;
    struct list link;
    struct shares *shares;
    struct share *share;
    uint64_t amount;
};

static struct list named = {&named, &named}; /* all shares with a name */

void shares_init(struct shares *shares, const struct shares_config *config)
{
    MUST(config->limit > 0 && config->per_owner > 0);
    *shares = (struct shares){.config = *config, .owners = map_new()};
    list_init(&shares->waiting_owners);
    list_init(&shares->named);
    if (config->name != NULL)
        list_append(&named, &shares->named);
}

void shares_done(struct shares *shares)
{
    MUST(shares->held == 0 && shares->waiting == 0);
    list_remove(&shares->named);
    map_free(shares->owners);
    shares->owners = NULL;
}

static struct str shares_key_of(const struct share_owner *owner)
{
    return (struct str){(const char *)owner, sizeof(*owner)};
}

static struct share *shares_find(struct shares *shares, const struct share_owner *owner)
{
    struct share *share = map_get(shares->owners, shares_key_of(owner));

    if (share != NULL)
        return share;
    share = calloc(1, sizeof(*share));
    MUST(share != NULL);
    share->owner = *owner;
    list_init(&share->ring_link);
    list_init(&share->waiters);
    (void)map_put(shares->owners, shares_key_of(owner), share);
    return share;
}

static void share_free_if_idle(struct shares *shares, struct share *share)
{
    if (share->held > 0 || !list_empty(&share->waiters))
        return;
    (void)map_remove(shares->owners, shares_key_of(&share->owner));
    free(share);
}

static void shares_take(struct shares *shares, struct share *share, uint64_t amount)
{
    shares->held += amount;
    share->held += amount;
}

static bool shares_may_take(const struct shares *shares, const struct share *share, uint64_t amount)
{
    const struct shares_config *config = &shares->config;
    uint64_t free_now = config->limit - shares->held;

    if (amount > free_now || amount > config->per_owner || share->held > config->per_owner - amount)
        return false;
    return !config->leave_room || share->held == 0 || share->held <= free_now - amount;
}

static void shares_leave_queue(struct waiter *waiter)
{
    list_remove(&waiter->link);
    waiter->share->waiting--;
    waiter->shares->waiting--;
    if (list_empty(&waiter->share->waiters))
        list_remove(&waiter->share->ring_link);
}

static struct waiter *share_first_waiter(const struct share *share)
{
    return LIST_ITEM(share->waiters.next, struct waiter, link);
}

/* The first owner in turn that may take what its first task waits for. NULL when there is none. */
static struct share *shares_next_owner(const struct shares *shares)
{
    for (struct list *it = shares->waiting_owners.next; it != &shares->waiting_owners;
         it = it->next) {
        struct share *share = LIST_ITEM(it, struct share, ring_link);
        if (shares_may_take(shares, share, share_first_waiter(share)->amount))
            return share;
    }
    return NULL;
}

static void shares_serve(struct shares *shares)
{
    struct share *share;

    while ((share = shares_next_owner(shares)) != NULL) {
        struct waiter *waiter = share_first_waiter(share);
        shares_leave_queue(waiter);
        shares_take(shares, share, waiter->amount);
        if (!list_empty(&share->waiters)) {
            list_remove(&share->ring_link);
            list_append(&shares->waiting_owners, &share->ring_link);
        }
        await_done(&waiter->await, 0);
    }
}

static void shares_abandon(struct await *await)
{
    struct waiter *waiter = CONTAINER_OF(await, struct waiter, await);
    struct shares *shares = waiter->shares;

    shares_leave_queue(waiter);
    share_free_if_idle(shares, waiter->share);
    shares_serve(shares); /* the owner's next task may want less */
}

/* Takes an amount that is free, unless another task of the owner waits. */
static bool shares_take_now(struct shares *shares, struct share *share, uint64_t amount)
{
    if (!list_empty(&share->waiters) || !shares_may_take(shares, share, amount))
        return false;
    shares_take(shares, share, amount);
    return true;
}

static int shares_refuse(struct shares *shares, struct share *share)
{
    shares->refused++;
    share_free_if_idle(shares, share);
    return -EAGAIN;
}

static void shares_enter_queue(struct waiter *waiter)
{
    struct shares *shares = waiter->shares;
    struct share *share = waiter->share;

    await_init(&waiter->await);
    list_append(&share->waiters, &waiter->link);
    share->waiting++;
    if (list_empty(&share->ring_link))
        list_append(&shares->waiting_owners, &share->ring_link);
    shares->waiting++;
}

static int shares_wait_in_queue(struct task *task,
                                struct waiter *waiter,
                                struct shares *shares,
                                int64_t limit_ms)
{
    shares_enter_queue(waiter);
    waiter->await.abandon = shares_abandon;
    int rc = await_wait(task, &waiter->await, limit_ms);
    if (rc != 0 && waiter->await.done) /* granted together with the cancellation */
        shares_release(shares, waiter->share, waiter->amount);
    return rc;
}

int shares_acquire(struct task *task,
                   struct shares *shares,
                   struct share_owner owner,
                   uint64_t amount,
                   int64_t limit_ms,
                   struct share **ret_share)
{
    if (task->cancelled)
        return -ECANCELED;
    struct share *share = shares_find(shares, &owner);
    struct waiter waiter = {.shares = shares, .share = share, .amount = amount};
    if (!shares_take_now(shares, share, amount)) {
        if (amount > shares->config.limit || amount > shares->config.per_owner ||
            share->waiting >= shares->config.waiting)
            return shares_refuse(shares, share);
        TRY(shares_wait_in_queue(task, &waiter, shares, limit_ms));
    }
    *ret_share = share;
    return 0;
}

struct share *shares_acquire_uninterruptible(struct task *task,
                                             struct shares *shares,
                                             struct share_owner owner,
                                             uint64_t amount)
{
    MUST(amount <= shares->config.limit && amount <= shares->config.per_owner);
    struct share *share = shares_find(shares, &owner);
    struct waiter waiter = {.shares = shares, .share = share, .amount = amount};
    if (!shares_take_now(shares, share, amount)) {
        shares_enter_queue(&waiter);
        MUST(await_wait(task, &waiter.await, 0) == 0 || waiter.await.done);
    }
    return share;
}

int shares_try(struct shares *shares,
               struct share_owner owner,
               uint64_t amount,
               struct share **ret_share)
{
    struct share *share = shares_find(shares, &owner);

    if (!shares_take_now(shares, share, amount))
        return shares_refuse(shares, share);
    *ret_share = share;
    return 0;
}

void shares_release(struct shares *shares, struct share *share, uint64_t amount)
{
    MUST(shares->held >= amount && share->held >= amount);
    shares->held -= amount;
    share->held -= amount;
    shares_serve(shares);
    share_free_if_idle(shares, share);
}

void shares_each(void (*visit)(const struct shares *shares, void *arg), void *arg)
{
    for (struct list *it = named.next; it != &named; it = it->next)
        visit(LIST_ITEM(it, struct shares, named), arg);
}
