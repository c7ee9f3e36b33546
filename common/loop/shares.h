#pragma once
/*
 * Slots that owners share: a counting semaphore for tasks where those who wait take turns by owner,
 * and one owner holds so many at most. Within an owner first come, first served. However many of
 * one owner's wait, another's next comes with the next slot that is free. Embedded in whoever has
 * it; loop thread only.
 */
#include <stdint.h>

#include "base/list.h"
#include "loop/task.h"

struct map;
struct share; /* an owner that holds or waits */

struct share_owner {
    int64_t project, part; /* part: of the project's own, 0 = all of it */
};

struct shares {
    unsigned limit;
    unsigned per_owner;
    unsigned held;
    unsigned waiting;
    struct map *owners; /* struct share_owner -> struct share */
    struct list ring;   /* those that wait, in turn */
};

/* any: what is not given is not bounded: UINT_MAX. */
void shares_init(struct shares *shares, unsigned limit, unsigned per_owner);
/* co: 0 with a slot, to be given back by shares_release(); -ECANCELED, -ETIMEDOUT (the task's
 * deadline). */
AWAITS int shares_acquire(struct task *task,
                          struct shares *shares,
                          struct share_owner owner,
                          struct share **ret_share) MUSTCHECK;
void shares_release(struct shares *shares, struct share *share);
