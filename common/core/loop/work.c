/*
 * Thread-pool work: shares of each kind limit what enters libuv's queue. Work that is in that queue
 * cannot be withdrawn, so the second wait is uninterruptible and everything may live on the
 * coroutine's stack.
 */
#include "loop/work.h"

#include <stdlib.h>
#include <uv.h>

#include "base/panic.h"
#include "loop/shares.h"
#include "loop/slice_private.h"

#define DEFAULT_WAITING 256

static struct shares kinds[WORK_KINDS];
static const char *const names[WORK_KINDS] = {
    [WORK_FILE] = "file_threads",
    [WORK_HASH] = "hash_threads",
    [WORK_PARSE] = "parse_threads",
};

struct work {
    uv_work_t uv;
    struct await await;
    struct shares *shares;
    struct share *share;
    enum work_kind kind;
    work_fn fn;
    void *arg;
};

/* Threads are held for a moment: turns are enough, and a project that is alone has all of them. */
static struct shares *shares_of(enum work_kind kind)
{
    struct shares *shares = &kinds[kind];
    const struct shares_config config = {
        .name = names[kind],
        .limit = uv_available_parallelism(),
        .per_owner = SHARES_ANY,
        .waiting = DEFAULT_WAITING,
    };

    if (shares->owners == NULL)
        shares_init(shares, &config);
    return shares;
}

void work_limit(enum work_kind kind, unsigned running, unsigned waiting)
{
    struct shares *shares = shares_of(kind);

    MUST(running > 0);
    shares->config.limit = running;
    shares->config.waiting = waiting;
}

void work_divide_hashes(unsigned processes)
{
    unsigned cores = uv_available_parallelism();

    MUST(processes > 0);
    work_limit(WORK_HASH, (cores + processes - 1) / processes, DEFAULT_WAITING);
}

static void work_on_thread(uv_work_t *uv)
{
    struct work *work = uv->data;

    if (work->kind == WORK_HASH)
        slice_set(SLICE_WORK_NS);
    work->fn(work->arg);
    if (work->kind == WORK_HASH)
        slice_set(SLICE_USUAL_NS);
}

static void work_finish(uv_work_t *uv, int status)
{
    struct work *work = uv->data;

    shares_release(work->shares, work->share, 1);
    await_done(&work->await, status);
}

/* co: runs the work on a thread, and then releases its share. */
AWAITS static int work_run_on_thread(struct task *task, struct work *work)
{
    work->uv.data = work;
    await_init(&work->await);
    MUST(uv_queue_work(loop_uv(), &work->uv, work_on_thread, work_finish) == 0);
    return await_wait(task, &work->await, 0);
}

int work_run(struct task *task, enum work_kind kind, work_fn fn, void *arg)
{
    struct work work = {.shares = shares_of(kind), .kind = kind, .fn = fn, .arg = arg};

    TRY(shares_acquire(task, work.shares, share_owner_of(task), 1, 0, &work.share));
    return work_run_on_thread(task, &work);
}

void work_off_thread(struct task *task, work_fn fn, void *arg)
{
    struct work work = {.shares = shares_of(WORK_PARSE), .kind = WORK_PARSE, .fn = fn, .arg = arg};

    work.share = shares_acquire_uninterruptible(task, work.shares, share_owner_of(task), 1);
    MUST(work_run_on_thread(task, &work) == 0 || work.await.done);
}

/* --- work without a task that waits --- */

struct posted_work {
    uv_work_t uv;
    work_fn fn;
    void *arg;
};

static void posted_on_thread(uv_work_t *uv)
{
    struct posted_work *later = uv->data;

    later->fn(later->arg);
}

static void posted_done(uv_work_t *uv, int status UNUSED)
{
    free(uv->data);
}

void work_post(work_fn fn, void *arg)
{
    struct posted_work *later;

    if (!loop_is_open()) {
        fn(arg);
        return;
    }
    later = malloc(sizeof(*later));
    MUST(later != NULL);
    *later = (struct posted_work){.fn = fn, .arg = arg};
    later->uv.data = later;
    MUST(uv_queue_work(loop_uv(), &later->uv, posted_on_thread, posted_done) == 0);
}
