/*
 * Coroutine switching and the ready queue. Every switch goes through co_enter() or co_leave(), so
 * the log context and the sanitizer's current stack are set in one place.
 */
#include "loop/co_private.h"

#include "base/panic.h"
#include "loop/watch_private.h"

#if defined(GW_SANITIZE)
#include <sanitizer/common_interface_defs.h>
#endif

/* co_<machine>.S */
void co_switch(void **ret_sp, void *sp);
void *co_frame(void *top, void (*entry)(struct co *), struct co *co);

static struct list ready = {&ready, &ready};
static struct list yielded = {&yielded, &yielded};
static struct co *current;
static size_t alive;

/* The loop's own stack while a coroutine runs. */
static struct {
    void *sp;
    void *fake_stack;
    const void *bottom;
    size_t bytes;
} loop_stack;

static void co_enter(struct co *co)
{
    current = co;
    log_context_set(&co->task->log);
    result_site_set(&co->task->site);
#if defined(GW_SANITIZE)
    __sanitizer_start_switch_fiber(&loop_stack.fake_stack, co->low, (size_t)((char *)co - co->low));
#endif
    co_switch(&loop_stack.sp, co->sp);
#if defined(GW_SANITIZE)
    __sanitizer_finish_switch_fiber(loop_stack.fake_stack, NULL, NULL);
#endif
    log_context_set(NULL);
    result_site_set(NULL);
    current = NULL;
}

/* Called on the coroutine's stack, first thing after each switch to it. */
static void co_arrive(struct co *co)
{
#if defined(GW_SANITIZE)
    __sanitizer_finish_switch_fiber(co->fake_stack, &loop_stack.bottom, &loop_stack.bytes);
#else
    (void)co;
#endif
}

static void co_leave(struct co *co)
{
#if defined(GW_SANITIZE)
    /* NULL tells the sanitizer to drop the fake stack of a coroutine that ends. */
    __sanitizer_start_switch_fiber(
        co->finished ? NULL : &co->fake_stack, loop_stack.bottom, loop_stack.bytes);
#endif
    co_switch(&co->sp, loop_stack.sp);
    co_arrive(co);
}

/* Bottom frame of every coroutine. After fn has returned, the task's memory belongs to the caller
 * again, except `co`, which says that the task has ended. */
static void co_main(struct co *co)
{
    co_arrive(co);
    co->fn(co->task, co->arg);
    MUST(co->task->waiting == NULL && list_empty(&co->task->children));
    co->task->co = NULL;
    co->finished = true;
    co_leave(co);
    PANIC("a finished coroutine was resumed");
}

void co_start(struct task *task, task_fn fn, void *arg)
{
    struct co *co = co_pool_get();

    co->task = task;
    co->fn = fn;
    co->arg = arg;
    co->fake_stack = NULL;
    co->finished = false;
    co->sp = co_frame(co, co_main, co);
    task->co = co;
    alive++;
    list_append(&ready, &co->link);
}

void co_ready(struct co *co)
{
    if (list_empty(&co->link))
        list_append(&ready, &co->link);
}

void co_suspend(void)
{
    MUST(current != NULL);
    co_leave(current);
}

void co_yield (void)
{
    MUST(current != NULL);
    list_append(&yielded, &current->link);
    co_leave(current);
}

struct co *co_current(void)
{
    return current;
}

size_t co_count(void)
{
    return alive;
}

void co_unyield(void)
{
    struct list *node;

    while ((node = list_shift(&yielded)) != NULL)
        list_append(&ready, node);
}

void co_drain(unsigned *budget)
{
    MUST(current == NULL);
    watch_run_end(NULL);
    while (*budget > 0 && !list_empty(&ready)) {
        struct co *co = LIST_ITEM(list_shift(&ready), struct co, link);

        (*budget)--;
        co_enter(co);
        watch_run_end(co->task);
        if (co->finished) {
            alive--;
            co_pool_put(co);
        }
    }
}

bool co_pending(void)
{
    return !list_empty(&ready) || !list_empty(&yielded);
}
