#pragma once
/*
 * What owners share: a counting semaphore, of slots or of bytes, where those who wait take turns by
 * owner, and one owner holds so much at most. Within an owner first come, first served. However
 * many of one owner's wait, another's next comes with the next that is free. Embedded in whoever
 * has it; loop thread only. All queues, pools, slots and buffers that projects have in common are
 * bounded by one of these (the table in common/README.md).
 *
 * Two kinds:
 *  - what is held for a moment (a thread, a script's process): turns are enough, and one owner
 *    alone may use all of it;
 *  - what is held for as long as somebody outside pleases (a call to a slow server, an answer to a
 *    slow reader): `leave_room`. An owner may then hold no more than is still free: alone half of
 *    the whole, who comes next half of what is left, and so on; room for one more is always left to
 *    those who hold nothing (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on
 *    Networking 6(2), 1998, with alpha = 1). With per_owner beside it, it takes many to fill it.
 *
 * An amount is small beside the limit; one above it is never given.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/task.h"

#define SHARES_ANY UINT64_MAX /* no bound */

struct map;
struct share; /* an owner that holds or waits */

struct share_owner {
    int64_t project, part; /* part: of the project's own, 0 = all of it */
};

struct shares_config {
    const char *name;   /* under which /metrics shows it, borrowed for ever; NULL = it does not */
    uint64_t limit;     /* slots or bytes, of all owners */
    uint64_t per_owner; /* of one; SHARES_ANY */
    uint64_t waiting;   /* tasks of one owner that wait; SHARES_ANY; 0 = nobody waits */
    bool leave_room;
};

struct shares {
    struct shares_config config;
    uint64_t held;
    unsigned waiting;
    uint64_t refused;   /* so often -EAGAIN was said */
    struct map *owners; /* struct share_owner -> struct share */
    struct list ring;   /* those that wait, in turn */
    struct list named;  /* while it has a name */
};

/* any: limit and per_owner above 0. */
void shares_init(struct shares *shares, const struct shares_config *config);
/* any: nobody holds or waits any more. */
void shares_done(struct shares *shares);
/* The owner of what a task does: its project (task->tenant), 0 = the process itself. */
static inline struct share_owner share_owner_of(const struct task *task)
{
    return (struct share_owner){.project = task->tenant};
}
/* co: 0 with `amount`, to be given back by shares_release(); -EAGAIN: as many of the owner's wait
 * as may; -ECANCELED, -ETIMEDOUT (after limit_ms, 0 = the task's deadline alone). */
AWAITS int shares_acquire(struct task *task,
                          struct shares *shares,
                          struct share_owner owner,
                          uint64_t amount,
                          int64_t limit_ms,
                          struct share **ret_share) MUSTCHECK;
/* co: the same for what has to be done whatever happens: neither a cancel nor a deadline ends the
 * wait, and any number of the owner's may wait. The amount is not above limit and per_owner. Every
 * holder must give back without a wait for the waiter, or both wait for ever. Returns the share. */
AWAITS struct share *shares_acquire_surely(struct task *task,
                                           struct shares *shares,
                                           struct share_owner owner,
                                           uint64_t amount);
/* any: without waiting: 0, or -EAGAIN. What an owner takes bit by bit is one share: the same
 * pointer comes each time, and the sum may be given back at once. */
int shares_try(struct shares *shares,
               struct share_owner owner,
               uint64_t amount,
               struct share **ret_share) MUSTCHECK;
/* any: the share is gone with the last that its owner holds. */
void shares_release(struct shares *shares, struct share *share, uint64_t amount);
/* any: those that have a name, oldest first. */
void shares_each(void (*visit)(const struct shares *shares, void *arg), void *arg);
