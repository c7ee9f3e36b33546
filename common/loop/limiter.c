/* Counting semaphore. A released slot passes straight to the first waiter, so nobody can
 * overtake. */
#include "loop/limiter.h"

#include <errno.h>

#include "base/panic.h"

struct waiter {
    struct await await;
    struct list link;
    struct limiter *limiter;
};

void limiter_init(struct limiter *limiter, unsigned limit, unsigned max_waiting)
{
    *limiter = (struct limiter){.limit = limit, .max_waiting = max_waiting};
    list_init(&limiter->queue);
}

static void waiter_abandon(struct await *await)
{
    struct waiter *waiter = CONTAINER_OF(await, struct waiter, await);

    list_remove(&waiter->link);
    waiter->limiter->waiting--;
}

int limiter_acquire(struct task *task, struct limiter *limiter, int64_t limit_ms)
{
    if (task->cancelled)
        return -ECANCELED;
    if (limiter->held < limiter->limit && list_empty(&limiter->queue)) {
        limiter->held++;
        return 0;
    }
    if (limiter->waiting >= limiter->max_waiting)
        return -EAGAIN;

    struct waiter waiter = {.limiter = limiter};
    await_init(&waiter.await);
    waiter.await.abandon = waiter_abandon;
    list_append(&limiter->queue, &waiter.link);
    limiter->waiting++;
    int rc = await_wait(task, &waiter.await, limit_ms);
    if (rc != 0 && waiter.await.done) /* the slot came together with the cancel */
        limiter_release(limiter);
    return rc;
}

void limiter_release(struct limiter *limiter)
{
    MUST(limiter->held > 0);
    struct list *first;

    limiter->held--;
    while (limiter->held < limiter->limit && (first = list_shift(&limiter->queue)) != NULL) {
        limiter->held++;
        limiter->waiting--;
        await_done(&LIST_ITEM(first, struct waiter, link)->await, 0);
    }
}
