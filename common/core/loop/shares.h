#pragma once
/*
 * A resource that owners share: a counting semaphore, of slots or of bytes. Waiting owners take
 * turns, and one owner holds only a bounded amount. Within an owner tasks are served first come,
 * first served. However many tasks of one owner wait, another owner's next task gets the next
 * amount that is free. A struct shares is embedded in the code that uses it; loop thread only. All
 * queues, pools, slots and buffers that projects have in common are bounded by one of these (the
 * table in common/README.md).
 *
 * Two kinds:
 * - resources that are held for a moment (a thread, a script's process): turns are enough, and one
 *   owner alone may use all of them;
 * - resources that are held for as long as a third party takes (a call to a slow server, an answer
 *   to a slow reader): `leave_room`. An owner may then hold no more than is still free: the first
 *   alone half of the whole, the second owner half of what is left, and so on; some is always left
 *   for owners that hold nothing (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on
 *   Networking 6(2), 1998, with alpha = 1). If per_owner is set too, only many owners together can
 *   hold the whole.
 *
 * An amount is small compared to the limit; an amount above the limit is never granted.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/task.h"

#define SHARES_ANY UINT64_MAX /* no bound */

struct map;
struct share; /* an owner that holds or waits */

struct share_owner {
    int64_t project, part; /* part: of the project, 0 = all of it */
};

struct shares_config {
    const char *name;   /* name in /metrics, borrowed for ever; NULL = not shown */
    uint64_t limit;     /* slots or bytes, of all owners */
    uint64_t per_owner; /* amount of one owner; SHARES_ANY */
    uint64_t waiting;   /* tasks of one owner that wait; SHARES_ANY; 0 = no task may wait */
    bool leave_room;
};

struct shares {
    struct shares_config config;
    uint64_t held;
    unsigned waiting;
    uint64_t refused;           /* how often -EAGAIN was returned */
    struct map *owners;         /* struct share_owner -> struct share */
    struct list waiting_owners; /* owners that wait, in turn */
    struct list named;          /* in the list of shares with a name */
};

/* any: limit and per_owner must be above 0. */
void shares_init(struct shares *shares, const struct shares_config *config);
/* any: frees the memory; no owner may hold or wait. */
void shares_done(struct shares *shares);
/* any: the owner for a task: its project (task->project), 0 = the process itself. */
static inline struct share_owner share_owner_of(const struct task *task)
{
    return (struct share_owner){.project = task->project};
}
/* co: waits for `amount`. 0: the owner holds it until shares_release(); -EAGAIN: as many tasks of
 * the owner wait as may, or the amount is above limit or per_owner; -ECANCELED; -ETIMEDOUT (after
 * limit_ms, 0 = the task's deadline alone). */
AWAITS int shares_acquire(struct task *task,
                          struct shares *shares,
                          struct share_owner owner,
                          uint64_t amount,
                          int64_t limit_ms,
                          struct share **ret_share) MUSTCHECK;
/* co: shares_acquire() for work that must be done: a cancellation or a deadline does not end the
 * wait, and any number of the owner's tasks may wait. The amount must not be above `limit` or
 * `per_owner`. Every holder must release without waiting for the waiter, or both wait for ever.
 * Returns the share. */
AWAITS struct share *shares_acquire_uninterruptible(struct task *task,
                                                    struct shares *shares,
                                                    struct share_owner owner,
                                                    uint64_t amount);
/* any: takes `amount` without waiting: 0 or -EAGAIN. All that an owner takes is one share: each
 * call gives the same pointer, and the sum may be released at once. */
int shares_try(struct shares *shares,
               struct share_owner owner,
               uint64_t amount,
               struct share **ret_share) MUSTCHECK;
/* any: returns `amount`. The share is freed when its owner holds nothing and has no task that
 * waits. */
void shares_release(struct shares *shares, struct share *share, uint64_t amount);
/* any: visits all shares with a name, oldest first. */
void shares_each(void (*visit)(const struct shares *shares, void *arg), void *arg);
