/*
 * The loop's turn. libuv runs timers, then the prepare handle, then polls and runs I/O callbacks,
 * then the check handle, then close callbacks:
 * - check drains the ready queue right after the callbacks that filled it
 * - prepare drains again (timers, close callbacks), runs turn-end hooks until nothing is left, and
 *   decides whether polling may block
 * Nothing becomes ready between prepare and poll, so a wake-up never waits for unrelated I/O.
 */
#include "loop/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "log/log.h"
#include "loop/co_private.h"
#include "loop/signals.h"
#include "loop/slice_private.h"
#include "loop/timer_private.h"
#include "loop/watch_private.h"

#define RESUMES_PER_DRAIN 10000
#define HOOK_ROUNDS       16
#define CLOSE_GRACE_MS    1000
#define EXTRA_THREADS     4

static struct {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    uv_timer_t grace;
    struct loop_hook *hooks;
    struct loop_hook **hooks_end;
    bool open;
    bool stopping;
    bool grace_over;
    int64_t tick_end_us; /* when the last turn ended, and libuv's idle time then */
    int64_t idle_us;
    int64_t lag_max_ms;
} loop;

/* --- turn --- */

void loop_at_tick_end(struct loop_hook *hook)
{
    if (hook->queued)
        return;
    hook->queued = 1;
    hook->next = NULL;
    *loop.hooks_end = hook;
    loop.hooks_end = &hook->next;
}

/* Hooks that are queued by these hooks run in the next round. */
static void hooks_run(void)
{
    struct loop_hook *hook = loop.hooks;

    loop.hooks = NULL;
    loop.hooks_end = &loop.hooks;
    while (hook != NULL) {
        struct loop_hook *next = hook->next;
        hook->queued = 0;
        hook->fn(hook->arg);
        hook = next;
    }
}

/* Busy time since the last turn's end: all but what libuv spent blocked in the kernel. */
static void measure_lag(void)
{
    int64_t now_us = clock_mono_us();
    int64_t idle_us = (int64_t)(uv_metrics_idle_time(&loop.uv) / 1000);

    int64_t lag_ms = ((now_us - loop.tick_end_us) - (idle_us - loop.idle_us)) / 1000;

    if (lag_ms > loop.lag_max_ms)
        loop.lag_max_ms = lag_ms;
    loop.tick_end_us = now_us;
    loop.idle_us = idle_us;
}

/* A running idle handle does nothing but keep the poll from blocking. */
static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void on_prepare(uv_prepare_t *prepare)
{
    (void)prepare;
    unsigned budget = RESUMES_PER_DRAIN;

    co_unyield();
    co_drain(&budget);
    for (int round = 0; loop.hooks != NULL && round < HOOK_ROUNDS; round++) {
        hooks_run();
        co_drain(&budget);
    }
    if (co_pending() || loop.hooks != NULL)
        (void)uv_idle_start(&loop.idle, on_idle);
    else
        (void)uv_idle_stop(&loop.idle);
    log_flush();
    measure_lag();
}

static void on_check(uv_check_t *check)
{
    (void)check;
    unsigned budget = RESUMES_PER_DRAIN;

    co_drain(&budget);
}

int64_t loop_lag_take_ms(void)
{
    int64_t lag_ms = loop.lag_max_ms;

    loop.lag_max_ms = 0;
    return lag_ms;
}

/* --- life --- */

/* libuv reads its pool size once, at the first request for work. */
static void size_thread_pool(void)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", uv_available_parallelism() + EXTRA_THREADS);
    MUST(setenv("UV_THREADPOOL_SIZE", text, 0) == 0);
}

static void handles_open(void)
{
    MUST(uv_loop_init(&loop.uv) == 0);
    MUST(uv_loop_configure(&loop.uv, UV_METRICS_IDLE_TIME) == 0);
    MUST(uv_prepare_init(&loop.uv, &loop.prepare) == 0);
    MUST(uv_check_init(&loop.uv, &loop.check) == 0);
    MUST(uv_idle_init(&loop.uv, &loop.idle) == 0);
    MUST(uv_timer_init(&loop.uv, &loop.grace) == 0);
    MUST(uv_prepare_start(&loop.prepare, on_prepare) == 0);
    MUST(uv_check_start(&loop.check, on_check) == 0);
    timer_open(&loop.uv);
}

void loop_init(void)
{
    MUST(!loop.open);
    size_thread_pool();
    slice_set(SLICE_LOOP_NS);
    (void)signal(SIGPIPE, SIG_IGN);
    loop.stopping = false;
    loop.grace_over = false;
    loop.idle_us = 0;
    loop.lag_max_ms = 0;
    loop.hooks = NULL;
    loop.hooks_end = &loop.hooks;
    handles_open();
    loop.open = true;
}

static void on_grace_over(uv_timer_t *timer)
{
    (void)timer;
    loop.grace_over = true;
}

/* Runs the loop until the handles of all other code have had their close callbacks; coroutines
 * still run. Our own handles no longer keep the loop alive, except the idle handle: on_prepare()
 * starts it exactly while coroutines are ready. */
static void loop_drain_handles(void)
{
    signals_close();
    uv_unref((uv_handle_t *)&loop.prepare);
    uv_unref((uv_handle_t *)&loop.check);
    uv_unref((uv_handle_t *)&loop.grace);
    timer_unref();
    MUST(uv_timer_start(&loop.grace, on_grace_over, CLOSE_GRACE_MS, 0) == 0);
    on_prepare(&loop.prepare);
    while (uv_loop_alive(&loop.uv) && !loop.grace_over) {
        (void)uv_run(&loop.uv, UV_RUN_ONCE);
        on_prepare(&loop.prepare);
    }
}

static void handles_close(void)
{
    uv_close((uv_handle_t *)&loop.prepare, NULL);
    uv_close((uv_handle_t *)&loop.check, NULL);
    uv_close((uv_handle_t *)&loop.idle, NULL);
    uv_close((uv_handle_t *)&loop.grace, NULL);
    timer_close();
    /* Run twice: a uv_stop() that was not noticed yet makes the first run return at once. */
    (void)uv_run(&loop.uv, UV_RUN_NOWAIT);
    (void)uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static void count_handle(uv_handle_t *handle, void *count)
{
    (void)handle;
    ++*(int64_t *)count;
}

void loop_run(void)
{
    MUST(loop.open);
    loop.tick_end_us = clock_mono_us();
    watch_run_end(NULL);
    while (!loop.stopping)
        (void)uv_run(&loop.uv, UV_RUN_DEFAULT);
    loop_drain_handles();
    handles_close();
    co_pool_free();
    if (uv_loop_close(&loop.uv) != 0) {
        /* A handle is still open. The process is about to end anyway; `open` keeps a second
         * loop_init() from using the memory again. */
        int64_t left = 0;
        uv_walk(&loop.uv, count_handle, &left);
        log_debug("loop.handles_left", L_I64("count", left));
        return;
    }
    loop.open = false;
}

void loop_stop(void)
{
    loop.stopping = true;
    uv_stop(&loop.uv);
}

bool loop_is_open(void)
{
    return loop.open;
}

uv_loop_t *loop_uv(void)
{
    MUST(loop.open);
    return &loop.uv;
}
