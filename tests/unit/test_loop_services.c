/* Timers, hooks at the end of a tick, wake-ups, work of the thread pool, signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/signals.h"
#include "loop/task.h"
#include "loop/work.h"

static struct arena *arena;
static char trail[256];
static unsigned running;

static void note(const char *word)
{
    strncat(trail, word, sizeof(trail) - strlen(trail) - 1);
}

static int setup(void **state UNUSED)
{
    loop_init();
    arena = arena_new(0);
    trail[0] = '\0';
    running = 0;
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct task *start(task_fn fn, void *arg)
{
    struct task *task = ARENA_NEW(arena, task);

    task->arena = arena;
    running++;
    task_start(task, fn, arg);
    return task;
}

static void leave(void)
{
    if (--running == 0)
        loop_stop();
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop();
}

static void cancel(void *arg)
{
    task_cancel(arg);
}

/* --- timers --- */

#define TIMERS 500

struct probe {
    struct loop_timer timer;
    int64_t asked_due_ms;
    bool fired;
};

static struct probe probes[TIMERS];
static int64_t last_due_ms;
static uint64_t last_order;

static void probe_fire(void *arg)
{
    struct probe *probe = arg;

    assert_false(probe->fired);
    assert_true(clock_mono_ms() >= probe->asked_due_ms); /* never early */
    assert_true(probe->timer.due_ms >= last_due_ms);
    if (probe->timer.due_ms == last_due_ms)
        assert_true(probe->timer.order > last_order);
    last_due_ms = probe->timer.due_ms;
    last_order = probe->timer.order;
    probe->fired = true;
}

TEST_WITH(test_timers_fire_in_order, setup, teardown)
{
    struct loop_timer end;
    unsigned seed = 7;

    last_due_ms = 0;
    for (size_t i = 0; i < TIMERS; i++) {
        loop_timer_init(&probes[i].timer, probe_fire, &probes[i]);
        int64_t delay_ms = rand_r(&seed) % 40;
        probes[i].fired = false;
        probes[i].asked_due_ms = clock_mono_ms() + delay_ms;
        loop_timer_start(&probes[i].timer, delay_ms);
    }
    for (size_t i = 0; i < TIMERS; i += 3)
        loop_timer_stop(&probes[i].timer);
    for (size_t i = 0; i < TIMERS; i += 6) { /* restarted timers count from now */
        probes[i].asked_due_ms = clock_mono_ms() + 20;
        loop_timer_start(&probes[i].timer, 20);
    }
    loop_timer_init(&end, stop, NULL);
    loop_timer_start(&end, 60);
    loop_run();
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(probes[i].fired, i % 3 != 0 || i % 6 == 0);
}

static struct loop_timer again;
static unsigned again_count;

static void fire_again(void *arg)
{
    again_count++;
    loop_timer_start(arg, 0);
}

/* A timer that restarts itself at once must not starve other timers and I/O. */
TEST_WITH(test_timer_restarts_itself, setup, teardown)
{
    struct loop_timer end;

    again_count = 0;
    loop_timer_init(&again, fire_again, &again);
    loop_timer_start(&again, 0);
    loop_timer_init(&end, stop, NULL);
    loop_timer_start(&end, 20);
    loop_run();
    assert_in_range(again_count, 1, 40);
    loop_timer_stop(&again);
    loop_timer_stop(&again);
}

static struct loop_timer pair[2];

static void stop_other(void *arg)
{
    loop_timer_stop(arg);
    note("x");
}

TEST_WITH(test_timer_stops_another_due_one, setup, teardown)
{
    struct loop_timer end;

    loop_timer_init(&pair[0], stop_other, &pair[1]);
    loop_timer_init(&pair[1], stop_other, &pair[0]);
    loop_timer_start(&pair[0], 2);
    loop_timer_start(&pair[1], 2);
    loop_timer_init(&end, stop, NULL);
    loop_timer_start(&end, 10);
    loop_run();
    assert_string_equal(trail, "x");
}

/* --- ticks --- */

static struct loop_hook hook;
static struct await hooked;

static void flush(void *arg)
{
    note("H");
    await_done(arg, 0);
}

static void collect(struct task *task, void *arg)
{
    note(arg);
    loop_at_tick_end(&hook);
    loop_at_tick_end(&hook); /* runs once per tick */
    if (running == 1) {
        assert_int_equal(await_wait(task, &hooked, 0), 0);
        note("w");
        loop_at_tick_end(&hook);
        await_init(&hooked);
        assert_int_equal(await_wait(task, &hooked, 0), 0);
        note("W");
    }
    leave();
}

TEST_WITH(test_hooks_run_after_tasks, setup, teardown)
{
    await_init(&hooked);
    hook = (struct loop_hook){.fn = flush, .arg = &hooked};
    start(collect, "a");
    start(collect, "b");
    loop_run();
    assert_string_equal(trail, "abHwHW");
}

/* Only the ready queue wakes the loop here: a missed wake-up would hang the test. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    await_done(poll->data, 0);
}

static void wait_for_pipe(struct task *task, void *arg)
{
    int *fds = arg;
    struct await await;
    uv_poll_t *poll = ARENA_NEW(arena, poll);

    await_init(&await);
    poll->data = &await;
    assert_int_equal(uv_poll_init(loop_uv(), poll, fds[0]), 0);
    assert_int_equal(uv_poll_start(poll, UV_READABLE, on_poll), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(await_wait(task, &await, 0), 0);
    uv_close((uv_handle_t *)poll, NULL);
    leave();
}

TEST_WITH(test_completion_from_io, setup, teardown)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    start(wait_for_pipe, fds);
    loop_run();
    close(fds[0]);
    close(fds[1]);
}

/* The task is always ready, yet timers still run, and the task runs between them. */
#define SPINS 10

struct spinner {
    struct loop_timer timer;
    struct task *task;
    unsigned spins, timers;
};

static void spin(struct task *task, void *arg)
{
    struct spinner *spinner = arg;

    while (task_sleep(task, 0) == 0)
        spinner->spins++;
    leave();
}

static void cancel_after_spins(void *arg)
{
    struct spinner *spinner = arg;

    spinner->timers++;
    if (spinner->spins > SPINS)
        task_cancel(spinner->task);
    else
        loop_timer_start(&spinner->timer, 1);
}

TEST_WITH(test_yielding_task_leaves_room, setup, teardown)
{
    struct spinner spinner = {0};

    spinner.task = start(spin, &spinner);
    loop_timer_init(&spinner.timer, cancel_after_spins, &spinner);
    loop_timer_start(&spinner.timer, 1);
    loop_run();
    assert_true(spinner.spins > SPINS && spinner.timers > 0);
}

static unsigned chain_left;

static void chain(struct task *task, void *arg)
{
    (void)task;
    if (--chain_left > 0)
        start(chain, arg);
    leave();
}

/* More tasks than the budget of a tick: the rest continues without waiting for an event. */
TEST_WITH(test_more_than_a_turn_holds, setup, teardown)
{
    chain_left = 25000;
    start(chain, NULL);
    loop_run();
    assert_int_equal(chain_left, 0);
}

static void busy(struct task *task, void *arg)
{
    (void)arg;
    int64_t until_ms = clock_mono_ms() + 30;

    while (clock_mono_ms() < until_ms)
        ;
    assert_int_equal(task_sleep(task, 1), 0);
    assert_true(loop_lag_take_ms() >= 29);

    /* Sleeping is no lag, and reading the lag resets it. A busy machine may add lag of its own. */
    bool is_lag = true;
    for (int i = 0; i < 5 && is_lag; i++) {
        assert_int_equal(task_sleep(task, 500), 0);
        assert_int_equal(task_sleep(task, 1), 0);
        is_lag = loop_lag_take_ms() >= 500;
    }
    assert_false(is_lag);
    leave();
}

TEST_WITH(test_lag, setup, teardown)
{
    start(busy, NULL);
    loop_run();
}

static void yield_then_note(struct task *task, void *arg)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(task_sleep(task, 0), 0);
    note(arg);
    leave();
}

/* --- work --- */

static pthread_t loop_thread;
static unsigned at_once;
static unsigned most_at_once;

static void nap(void *arg)
{
    unsigned now = __atomic_add_fetch(&at_once, 1, __ATOMIC_SEQ_CST);

    if (now > __atomic_load_n(&most_at_once, __ATOMIC_SEQ_CST))
        __atomic_store_n(&most_at_once, now, __ATOMIC_SEQ_CST);
    assert_false(pthread_equal(pthread_self(), loop_thread));
    usleep(5000);
    *(int *)arg += 1;
    __atomic_sub_fetch(&at_once, 1, __ATOMIC_SEQ_CST);
}

static void do_work(struct task *task, void *arg)
{
    int done = 0;
    int rc = work_run(task, WORK_HASH, nap, &done);

    assert_int_equal(done, rc == 0 ? 1 : 0);
    *(int *)arg = rc;
    leave();
}

TEST_WITH(test_work_is_limited, setup, teardown)
{
    int rcs[5] = {1, 1, 1, 1, 1};

    loop_thread = pthread_self();
    most_at_once = 0;
    work_limit(WORK_HASH, 2, 2);
    for (size_t i = 0; i < 5; i++)
        start(do_work, &rcs[i]);
    loop_run();
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rcs[i], 0);
    assert_int_equal(rcs[4], -EAGAIN);
    assert_in_range(most_at_once, 1, 2);
}

static void work_in_turn(struct task *task, void *arg)
{
    int done = 0;

    task->project = *(const char *)arg;
    if (work_run(task, WORK_HASH, nap, &done) == 0)
        note(arg);
    else
        note("!");
    leave();
}

/* However many tasks of one project wait, a task of another project is next, and has room to
 * wait. */
TEST_WITH(test_projects_take_turns, setup, teardown)
{
    loop_thread = pthread_self();
    work_limit(WORK_HASH, 1, 3);
    for (size_t i = 0; i < 6; i++)
        start(work_in_turn, "a");
    start(work_in_turn, "b");
    start(work_in_turn, "c");
    loop_run();
    assert_string_equal(trail, "!!aabcaa"); /* the second `a` waited before `b` and `c` */
}

/* This work ends after its task was cancelled, and the task is cancelled after the work has
 * begun. */
static bool begun, cancelled;
static struct loop_timer canceller;

static void wait_for_cancel(void *arg)
{
    __atomic_store_n(&begun, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&cancelled, __ATOMIC_SEQ_CST))
        usleep(1000);
    *(int *)arg += 1;
}

static void cancel_when_begun(void *arg)
{
    if (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST)) {
        loop_timer_start(&canceller, 1);
        return;
    }
    task_cancel(arg);
    __atomic_store_n(&cancelled, true, __ATOMIC_SEQ_CST);
}

static void run_with_canceller(struct task *task)
{
    begun = cancelled = false;
    loop_timer_init(&canceller, cancel_when_begun, task);
    loop_timer_start(&canceller, 1);
    loop_run();
}

static void cancelled_work(struct task *task, void *arg)
{
    int done = 0;

    *(int *)arg = work_run(task, WORK_PARSE, wait_for_cancel, &done);
    assert_int_equal(done, 1); /* the work ran to its end, so `done` may live on this stack */
    leave();
}

TEST_WITH(test_running_work_is_not_interrupted, setup, teardown)
{
    int rc = 0;

    run_with_canceller(start(cancelled_work, &rc));
    assert_int_equal(rc, -ECANCELED);
}

static unsigned runs_on_loop;

static void count_run(void *arg)
{
    if (pthread_equal(pthread_self(), loop_thread))
        runs_on_loop++;
    usleep(5000);
    ++*(int *)arg;
}

static void work_beside_once(struct task *task, void *arg)
{
    work_off_thread(task, count_run, arg);
    leave();
}

/* The work is done exactly once, and on a thread: when its task is cancelled before or during the
 * work, when too many tasks wait, and when the task is late. */
TEST_WITH(test_work_beside_is_done_whatever_happens, setup, teardown)
{
    int runs[5] = {0};
    struct loop_timer timer;

    loop_thread = pthread_self();
    runs_on_loop = 0;
    work_limit(WORK_PARSE, 1, 1);
    struct task *first = start(work_beside_once, &runs[0]);
    task_cancel(start(work_beside_once, &runs[1]));
    start(work_beside_once, &runs[2]);
    start(work_beside_once, &runs[3]);
    start(work_beside_once, &runs[4])->deadline_ms = 1;
    loop_timer_init(&timer, cancel, first);
    loop_timer_start(&timer, 1);
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        assert_int_equal(runs[i], 1);
    assert_int_equal(runs_on_loop, 0);
}

#define HANGERS 64

/* Many tasks that are cancelled at the same time do not block the loop, which continues while each
 * work gets its thread. */
TEST_WITH(test_cancelled_work_leaves_the_loop, setup, teardown)
{
    int runs[HANGERS] = {0};

    loop_thread = pthread_self();
    runs_on_loop = 0;
    work_limit(WORK_PARSE, 2, 4);
    for (size_t i = 0; i < HANGERS; i++)
        task_cancel(start(work_beside_once, &runs[i]));
    start(yield_then_note, ".");
    loop_run();
    for (size_t i = 0; i < HANGERS; i++)
        assert_int_equal(runs[i], 1);
    assert_int_equal(runs_on_loop, 0);
    assert_string_equal(trail, ".");
}

static void held_work(struct task *task, void *arg)
{
    int done = 0;

    *(int *)arg = work_run(task, WORK_HASH, wait_for_cancel, &done);
    leave();
}

TEST_WITH(test_waiting_work_is_cancelled, setup, teardown)
{
    int rcs[2] = {1, 1};

    work_limit(WORK_HASH, 1, 2);
    start(held_work, &rcs[0]);
    run_with_canceller(start(do_work, &rcs[1]));
    assert_int_equal(rcs[0], 0);
    assert_int_equal(rcs[1], -ECANCELED);
}

/* --- signals, end --- */

static void on_signal(int signum, void *arg)
{
    *(int *)arg = signum;
    loop_stop();
}

TEST_WITH(test_signal, setup, teardown)
{
    int got = 0;

    signals_on(SIGUSR1, on_signal, &got);
    assert_int_equal(raise(SIGUSR1), 0);
    loop_run();
    assert_int_equal(got, SIGUSR1);
}

TEST_WITH(test_broken_pipe_is_an_error, setup, teardown)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    assert_int_equal(write(fds[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(fds[1]);
    loop_stop();
    loop_run();
}

/* Tasks that are ready when the loop stops still run to their end. */
TEST_WITH(test_stop_runs_ready_tasks_out, setup, teardown)
{
    start(yield_then_note, "end");
    loop_stop();
    loop_run();
    assert_string_equal(trail, "end");
    assert_int_equal(task_count(), 0);
}

TEST_WITH(test_threads_are_sized, setup, teardown)
{
    assert_int_equal(atoi(getenv("UV_THREADPOOL_SIZE")), (int)uv_available_parallelism() + 4);
    loop_stop();
    loop_run();
}

/* --- slices --- */

struct slice {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static uint64_t slice_of_thread(void)
{
    struct slice slice = {0};

    assert_int_equal(syscall(SYS_sched_getattr, 0, &slice, sizeof(slice), 0), 0);
    return slice.runtime;
}

static void note_slice(void *arg)
{
    *(uint64_t *)arg = slice_of_thread();
}

static void compare_slices(struct task *task, void *arg)
{
    uint64_t hash_ns = 0;
    uint64_t file_ns = 0;

    (void)arg;
    assert_int_equal(work_run(task, WORK_HASH, note_slice, &hash_ns), 0);
    for (int i = 0; i < 32; i++) { /* on the same threads */
        assert_int_equal(work_run(task, WORK_FILE, note_slice, &file_ns), 0);
        assert_true(hash_ns == 0 || file_ns < hash_ns);
    }
    if (hash_ns > 0) { /* 0 before kernel 6.12, which does not report it */
        assert_true(slice_of_thread() < file_ns);
        assert_true(slice_of_thread() <= 1000000);
    }
    leave();
}

/* The loop has shorter time slices than other threads, threads that hash have longer ones. */
TEST_WITH(test_slices, setup, teardown)
{
    start(compare_slices, NULL);
    loop_run();
}

static int begin(void **state UNUSED)
{
    (void)unsetenv("UV_THREADPOOL_SIZE");
    return 0;
}

GROUP(begin, NULL)
