#pragma once
/* Counting semaphore for tasks, first come first served. Embedded in its owner; loop thread only. */
#include "base/list.h"
#include "loop/task.h"

struct limiter {
    unsigned limit;
    unsigned held;
    unsigned max_waiting;
    unsigned waiting;
    struct list queue;
};

void limiter_init(struct limiter *limiter, unsigned limit, unsigned max_waiting);
/* co: 0 when a slot is held (give it back with limiter_release), -EAGAIN when the queue is full,
 * -ETIMEDOUT after limit_ms (0 = task's deadline only), -ECANCELED. */
AWAITS int limiter_acquire(struct task *task, struct limiter *limiter, int64_t limit_ms) MUSTCHECK;
void limiter_release(struct limiter *limiter);
