#pragma once
/*
 * Stackful coroutines and their ready queue. A coroutine is resumed only from the loop's own stack,
 * by co_drain(), and runs until it suspends, yields or its function returns; it never changes
 * thread. Its struct is at the top of its own stack mapping.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "loop/task.h"

struct co {
    /* In the ready queue, the yielded queue or the pool; in none while running or suspended. */
    struct list link;
    void *sp;  /* saved while it does not run */
    char *low; /* lowest usable byte; the stack is [low, this struct) */
    struct task *task;
    task_fn fn;
    void *arg;
    void *fake_stack; /* AddressSanitizer's, while suspended */
    unsigned valgrind_id;
    bool finished;
};

/* Stack pool (co_pool.c). Returns a coroutine with link, low and valgrind_id set; panics when the
 * kernel gives no memory. */
struct co *co_pool_get(void);
void co_pool_put(struct co *co);
/* Unmaps all idle stacks. */
void co_pool_free(void);
/* Stacks mapped, idle or in use. */
size_t co_pool_count(void);

/* any: makes a coroutine for the task and appends it to the ready queue. */
void co_start(struct task *task, task_fn fn, void *arg);
/* any: appends a suspended coroutine to the ready queue; nothing happens when it is queued
 * already. */
void co_ready(struct co *co);
/* co: returns to the loop until co_ready(). The caller then checks its condition again. */
void co_suspend(void);
/* co: returns to the loop until the next turn. */
void co_yield (void);
/* The running coroutine, NULL on the loop's stack. */
struct co *co_current(void);
/* Coroutines alive. */
size_t co_count(void);

/* loop: makes yielded coroutines ready, at the start of a turn's end. */
void co_unyield(void);
/* loop: runs ready coroutines, also those that become ready during this call, at most *budget of
 * them; subtracts their number from *budget. */
void co_drain(unsigned *budget);
/* True when a coroutine is ready or yielded: then polling must not block. */
bool co_pending(void);
