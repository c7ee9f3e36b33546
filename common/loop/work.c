/*
 * Thread-pool work: a limiter per kind in front of libuv's queue. What has passed the limiter
 * cannot be taken back, so the second wait is uninterruptible and everything may live on the
 * coroutine's stack.
 */
#include "loop/work.h"

#include "base/panic.h"
#include "loop/limiter.h"

#define DEFAULT_WAITING 256

static struct limiter kinds[WORK_KINDS];

struct work {
    uv_work_t uv;
    struct await await;
    struct limiter *limiter;
    work_fn fn;
    void *arg;
};

static struct limiter *limiter_of(enum work_kind kind)
{
    struct limiter *limiter = &kinds[kind];

    if (limiter->queue.next == NULL)
        limiter_init(limiter, uv_available_parallelism(), DEFAULT_WAITING);
    return limiter;
}

void work_limit(enum work_kind kind, unsigned running, unsigned waiting)
{
    struct limiter *limiter = limiter_of(kind);

    MUST(running > 0);
    limiter->limit = running;
    limiter->max_waiting = waiting;
}

static void on_thread(uv_work_t *uv)
{
    struct work *work = uv->data;

    work->fn(work->arg);
}

static void after_work(uv_work_t *uv, int status)
{
    struct work *work = uv->data;

    limiter_release(work->limiter);
    await_done(&work->await, status);
}

int work_run(struct task *task, enum work_kind kind, work_fn fn, void *arg)
{
    struct limiter *limiter = limiter_of(kind);

    TRY(limiter_acquire(task, limiter, 0));
    struct work work = {.limiter = limiter, .fn = fn, .arg = arg};
    work.uv.data = &work;
    await_init(&work.await);
    MUST(uv_queue_work(loop_uv(), &work.uv, on_thread, after_work) == 0);
    return await_wait(task, &work.await, 0);
}
