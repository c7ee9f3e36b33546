/* Coroutines, awaits, cancellation and timeouts, task_all(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <errno.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/co_private.h"
#include "loop/task.h"
#include "loop/watch.h"

static struct arena *arena;
static char trail[256];

static void note(const char *word)
{
    strncat(trail, word, sizeof(trail) - strlen(trail) - 1);
}

static int setup(void **state UNUSED)
{
    loop_init();
    arena = arena_new(0);
    trail[0] = '\0';
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct task *new_task(void)
{
    struct task *task = ARENA_NEW(arena, task);

    task->arena = arena;
    return task;
}

/* Stops the loop when the last of several tasks ends. */
static unsigned running;

static void leave(void)
{
    if (--running == 0)
        loop_stop();
}

static void run(task_fn fn, void *arg)
{
    running = 1;
    task_start(new_task(), fn, arg);
    loop_run();
    assert_int_equal(running, 0);
    assert_int_equal(task_count(), 0);
    assert_int_equal(task_stack_count(), 0);
}

/* --- order --- */

static void say(struct task *task, void *arg)
{
    note(arg);
    assert_ptr_equal(task_current(), task);
    assert_int_equal(task_sleep(task, 0), 0);
    note(arg);
    leave();
}

TEST_WITH(test_order, setup, teardown)
{
    running = 3;
    task_start(new_task(), say, "a");
    task_start(new_task(), say, "b");
    task_start(new_task(), say, "c");
    assert_string_equal(trail, ""); /* never at once */
    assert_null(task_current());
    assert_int_equal(task_count(), 3);
    loop_run();
    assert_string_equal(trail, "abcabc");
    assert_int_equal(task_count(), 0);
}

static void spawn_more(struct task *task, void *arg)
{
    (void)task;
    task_start(new_task(), say, "2");
    running++;
    note(arg);
    leave();
}

TEST_WITH(test_started_by_task_runs_in_same_turn, setup, teardown)
{
    run(spawn_more, "1");
    assert_string_equal(trail, "122");
}

/* --- long runs --- */

static int long_runs;

static void on_long(const struct task *task, int64_t cpu_us)
{
    assert_true(cpu_us >= WATCH_LONG_US);
    long_runs++;
    note(task != NULL ? task->name : "callbacks");
}

static void compute(int64_t cpu_us)
{
    int64_t end_us = clock_thread_us() + cpu_us;

    while (clock_thread_us() < end_us)
        ;
}

static void hog(struct task *task, void *arg)
{
    (void)task;
    (void)arg;
    compute(WATCH_LONG_US + 2000);
    leave();
}

static void hog_callback(void *arg)
{
    (void)arg;
    compute(WATCH_LONG_US + 2000);
    leave();
}

/* Computes for as long, but yields when the time is due. */
static void share(struct task *task, void *arg)
{
    int64_t *ret_turns = arg;
    int64_t since_us = 0;

    for (int i = 0; i < 40; i++) {
        if (watch_since_us() != since_us)
            ++*ret_turns;
        since_us = watch_since_us();
        compute((WATCH_LONG_US + 2000) / 40);
        assert_int_equal(task_yield_if_due(task), 0);
    }
    leave();
}

TEST_WITH(test_long_runs_are_reported, setup, teardown)
{
    struct loop_timer timer;

    watch_on_long_run(on_long);
    long_runs = 0;
    loop_timer_init(&timer, hog_callback, NULL);
    loop_timer_start(&timer, 1);
    running = 2;
    task_start(new_task(), hog, NULL);
    loop_run();
    watch_on_long_run(NULL);
    assert_int_equal(long_runs, 2);
    assert_non_null(strstr(trail, "hog"));
    assert_non_null(strstr(trail, "callbacks"));
}

TEST_WITH(test_computation_shares_the_loop, setup, teardown)
{
    int64_t turns = 0;

    watch_on_long_run(on_long);
    long_runs = 0;
    run(share, &turns);
    watch_on_long_run(NULL);
    assert_int_equal(long_runs, 0);
    assert_true(turns >= 3);
}

static void yield_cancelled(struct task *task, void *arg)
{
    (void)arg;
    compute(2000);
    task_cancel(task);
    assert_int_equal(task_yield_if_due(task), -ECANCELED);
    leave();
}

TEST_WITH(test_yield_ends_early, setup, teardown)
{
    run(yield_cancelled, NULL);
}

/* --- await --- */

/* An operation that a timer completes. */
struct op {
    struct await await;
    struct loop_timer timer;
    int rc;
    int abandoned;
    int64_t limit_ms;
    int64_t done_after_ms;
    bool uninterruptible;
    bool ended; /* the waiter has returned */
    int result;
};

static void op_fire(void *arg)
{
    struct op *op = arg;

    await_done(&op->await, op->rc);
}

static void op_abandon(struct await *await)
{
    struct op *op = CONTAINER_OF(await, struct op, await);

    assert_false(op->ended);
    op->abandoned++;
    loop_timer_stop(&op->timer);
}

static void op_wait(struct task *task, void *arg)
{
    struct op *op = arg;

    await_init(&op->await);
    op->await.abandon = op->uninterruptible ? NULL : op_abandon;
    loop_timer_init(&op->timer, op_fire, op);
    loop_timer_start(&op->timer, op->done_after_ms);
    op->result = await_wait(task, &op->await, op->limit_ms);
    op->ended = true;
    assert_null(task->waiting);
    assert_null(op->await.task);
    leave();
}

TEST_WITH(test_result, setup, teardown)
{
    struct op op = {.rc = 7, .done_after_ms = 2, .limit_ms = 10000};

    run(op_wait, &op);
    assert_int_equal(op.result, 7);
    assert_int_equal(op.abandoned, 0);
}

TEST_WITH(test_limit, setup, teardown)
{
    struct op op = {.rc = 7, .done_after_ms = 60000, .limit_ms = 5};
    int64_t start_ms = clock_mono_ms();

    run(op_wait, &op);
    assert_int_equal(op.result, -ETIMEDOUT);
    assert_int_equal(op.abandoned, 1);
    assert_true(clock_mono_ms() - start_ms >= 5);
}

static void wait_with_deadline(int64_t deadline_in_ms, struct op *op)
{
    struct task *task = new_task();

    running = 1;
    task->deadline_ms = clock_mono_ms() + deadline_in_ms;
    task_start(task, op_wait, op);
    loop_run();
}

TEST_WITH(test_deadline, setup, teardown)
{
    struct op op = {.done_after_ms = 60000, .limit_ms = 30000};

    wait_with_deadline(5, &op);
    assert_int_equal(op.result, -ETIMEDOUT);
    assert_int_equal(op.abandoned, 1);
}

TEST_WITH(test_deadline_already_over, setup, teardown)
{
    struct op op = {.done_after_ms = 60000};

    wait_with_deadline(-5, &op);
    assert_int_equal(op.result, -ETIMEDOUT);
    assert_int_equal(op.abandoned, 1);
}

TEST_WITH(test_uninterruptible_ignores_deadline, setup, teardown)
{
    struct op op = {.rc = 3, .done_after_ms = 30, .uninterruptible = true};
    int64_t start_ms = clock_mono_ms();

    wait_with_deadline(5, &op);
    assert_int_equal(op.result, -ETIMEDOUT);
    assert_int_equal(op.await.rc, 3); /* the real result stays visible */
    assert_true(op.await.done);
    assert_true(clock_mono_ms() - start_ms >= 30);
}

static void await_twice_done(struct task *task, void *arg)
{
    (void)arg;
    struct await await;

    await_init(&await);
    await_done(&await, 5);
    assert_int_equal(await_wait(task, &await, 0), 5);
    leave();
}

TEST_WITH(test_done_before_wait, setup, teardown)
{
    run(await_twice_done, NULL);
}

/* --- cancel --- */

static void cancel_later(void *arg)
{
    task_cancel(arg);
    task_cancel(arg);
}

static void cancel_case(struct op *op, int64_t cancel_after_ms)
{
    struct task *task = new_task();
    struct loop_timer timer;

    running = 1;
    task_start(task, op_wait, op);
    loop_timer_init(&timer, cancel_later, task);
    loop_timer_start(&timer, cancel_after_ms);
    loop_run();
    assert_int_equal(op->result, -ECANCELED);
    task_cancel(task); /* the task has ended: nothing happens */
}

TEST_WITH(test_cancel, setup, teardown)
{
    struct op op = {.done_after_ms = 60000};

    cancel_case(&op, 3);
    assert_int_equal(op.abandoned, 1);
}

TEST_WITH(test_cancel_uninterruptible, setup, teardown)
{
    struct op op = {.rc = 0, .done_after_ms = 20, .uninterruptible = true};

    cancel_case(&op, 1);
    assert_true(op.await.done);
    assert_int_equal(op.abandoned, 0);
}

TEST_WITH(test_cancel_before_first_run, setup, teardown)
{
    struct op op = {.done_after_ms = 60000};
    struct task *task = new_task();

    running = 1;
    task_start(task, op_wait, &op);
    task_cancel(task);
    loop_run();
    assert_int_equal(op.result, -ECANCELED);
    assert_int_equal(op.abandoned, 1);
}

TEST_WITH(test_cancel_before_start, setup, teardown)
{
    struct op op = {.done_after_ms = 60000};
    struct task *task = new_task();

    running = 1;
    task_cancel(task);
    task_start(task, op_wait, &op);
    loop_run();
    assert_int_equal(op.result, -ECANCELED);
}

/* The operation is done, over its limit and cancelled before the waiter runs again: the
 * cancellation wins, and nothing is abandoned. */
static void busy_then_cancel(void *arg)
{
    struct task *task = arg;
    struct op *op = CONTAINER_OF(task->waiting, struct op, await);
    int64_t until_ms = clock_mono_ms() + 10;

    while (clock_mono_ms() < until_ms)
        ;
    loop_timer_stop(&op->timer);
    await_done(&op->await, 9);
    task_cancel(task);
}

static struct loop_timer busy;

static void op_wait_busy(struct task *task, void *arg)
{
    loop_timer_init(&busy, busy_then_cancel, task);
    loop_timer_start(&busy, 1);
    op_wait(task, arg);
}

TEST_WITH(test_precedence, setup, teardown)
{
    struct op op = {.done_after_ms = 60000, .limit_ms = 8};

    run(op_wait_busy, &op);
    assert_int_equal(op.result, -ECANCELED);
    assert_int_equal(op.abandoned, 0);
    assert_int_equal(op.await.rc, 9);
}

TEST_WITH(test_sleep_cancel_and_deadline, setup, teardown)
{
    struct op op = {.done_after_ms = 1};

    wait_with_deadline(60000, &op);
    assert_int_equal(op.result, 0);
}

static void sleeper(struct task *task, void *arg)
{
    *(int *)arg = task_sleep(task, 60000);
    if (*(int *)arg == -ECANCELED)
        assert_int_equal(task_sleep(task, 0), -ECANCELED);
    leave();
}

TEST_WITH(test_sleep_cancelled, setup, teardown)
{
    int rc = 1;
    struct task *task = new_task();
    struct loop_timer timer;

    running = 1;
    task_start(task, sleeper, &rc);
    loop_timer_init(&timer, cancel_later, task);
    loop_timer_start(&timer, 3);
    loop_run();
    assert_int_equal(rc, -ECANCELED);
}

/* --- task_all --- */

static unsigned asleep;
static unsigned most_asleep;

static int call_sleep(struct task *task, void *arg)
{
    int64_t delay_ms = *(int64_t *)arg;

    most_asleep = ++asleep > most_asleep ? asleep : most_asleep;
    int rc = task_sleep(task, delay_ms);
    asleep--;
    assert_non_null(task->parent);
    task->db_us = delay_ms * 1000;
    return rc != 0 ? rc : (int)delay_ms % 10;
}

static void all_ok(struct task *task, void *arg)
{
    (void)arg;
    int64_t delays[] = {30, 20, 10};
    struct task_call calls[3];

    most_asleep = 0;
    for (size_t i = 0; i < 3; i++)
        calls[i] = (struct task_call){.fn = call_sleep, .arg = &delays[i]};
    assert_int_equal(task_all(task, calls, 3), 0);
    assert_int_equal(most_asleep, 3); /* concurrently, not one after the other */
    assert_int_equal(task->db_us, 30000);
    delays[1] = 12;
    delays[2] = 5;
    assert_int_equal(task_all(task, calls, 3), 2); /* in order of calls, not of time */
    assert_int_equal(calls[2].rc, 5);
    assert_int_equal(task_all(task, NULL, 0), 0);
    leave();
}

TEST_WITH(test_all, setup, teardown)
{
    run(all_ok, NULL);
}

static int call_failing(struct task *task, void *arg)
{
    TRY(task_sleep(task, *(int64_t *)arg));
    return ERROR(-EPROTO);
}

static void all_failing(struct task *task, void *arg)
{
    int64_t delays[] = {2, 1};
    struct task_call calls[] = {{.fn = call_failing, .arg = &delays[0]},
                                {.fn = call_sleep, .arg = &delays[1]}};

    (void)arg;
    assert_int_equal(task_all(task, calls, 2), -EPROTO);
    assert_int_equal(task->site.rc, -EPROTO);
    assert_string_equal(task->site.file, "tests/unit/test_loop_task.c");
    const int line = task->site.line;
    assert_int_equal(task_sleep(task, 1), 0);
    assert_int_equal(ERROR(-EPROTO), -EPROTO); /* recorded for this task alone */
    assert_int_equal(task->site.line, line);
    leave();
}

TEST_WITH(test_where_a_call_failed_is_known_to_its_caller, setup, teardown)
{
    run(all_failing, NULL);
}

static int call_nested(struct task *task, void *arg)
{
    struct task_call calls[2] = {{.fn = call_sleep, .arg = arg}, {.fn = call_sleep, .arg = arg}};
    int rc = task_all(task, calls, 2);

    assert_int_equal(calls[0].rc, rc);
    assert_int_equal(calls[1].rc, rc);
    return rc;
}

static void all_cancelled(struct task *task, void *arg)
{
    int64_t delay_ms = 60000;
    struct task_call calls[3] = {
        {.fn = call_nested, .arg = &delay_ms},
        {.fn = call_sleep, .arg = &delay_ms},
        {.fn = call_nested, .arg = &delay_ms},
    };

    *(int *)arg = task_all(task, calls, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(calls[i].rc, *(int *)arg);
    leave();
}

TEST_WITH(test_all_cancelled, setup, teardown)
{
    int rc = 0;
    struct task *task = new_task();
    struct loop_timer timer;

    running = 1;
    task_start(task, all_cancelled, &rc);
    loop_timer_init(&timer, cancel_later, task);
    loop_timer_start(&timer, 3);
    loop_run();
    assert_int_equal(rc, -ECANCELED);
}

TEST_WITH(test_all_deadline, setup, teardown)
{
    int rc = 0;
    struct task *task = new_task();

    running = 1;
    task->deadline_ms = clock_mono_ms() + 5;
    task_start(task, all_cancelled, &rc);
    loop_run();
    assert_int_equal(rc, -ETIMEDOUT);
}

/* --- stacks --- */

/* NOLINTNEXTLINE(misc-no-recursion): uses up stack on purpose */
static size_t descend(size_t levels)
{
    volatile char frame[2048];

    memset((char *)(uintptr_t)frame, (int)(levels & 0x7f), sizeof(frame));
    size_t below = levels > 0 ? descend(levels - 1) : 0;
    assert_int_equal(frame[100], (int)(levels & 0x7f));
    return below + 1;
}

static void go_deep(struct task *task, void *arg)
{
    (void)task;
    size_t levels = *(size_t *)arg;

    assert_int_equal(descend(levels), levels + 1);
    leave();
}

TEST_WITH(test_deep_stack, setup, teardown)
{
    size_t levels = 100;

    run(go_deep, &levels);
}

static void write_below(struct task *task, void *arg)
{
    volatile char *low = task->co->low;

    *low = 1;
    if (*(bool *)arg)
        *(low - 1) = 1;
    leave();
}

/* Returns the signal that ends a child process which runs fn(arg) in a coroutine; 0 when the child
 * ends normally. */
static int signal_of(task_fn fn, void *arg)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka and the sanitizers handle it */
        running = 1;
        task_start(new_task(), fn, arg);
        loop_run();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_WITH(test_guard_page, setup, teardown)
{
    size_t levels = 100000;
    bool below = false;

    assert_int_equal(signal_of(write_below, &below), 0);
    below = true;
    assert_int_equal(signal_of(write_below, &below), SIGSEGV);
    assert_int_equal(signal_of(go_deep, &levels), SIGSEGV);
    loop_stop();
    loop_run();
}

static void many(struct task *task, void *arg)
{
    size_t *sum = arg;

    assert_int_equal(task_sleep(task, 1 + (int64_t)(*sum % 5)), 0);
    ++*sum;
    leave();
}

TEST_WITH(test_thousands, setup, teardown)
{
    size_t sum = 0;

    running = 4000;
    for (unsigned i = 0; i < 4000; i++)
        task_start(new_task(), many, &sum);
    assert_int_equal(task_stack_count(), 4000);
    loop_run();
    assert_int_equal(sum, 4000);
}

static void one_after_the_other(struct task *task, void *arg)
{
    unsigned *left = arg;

    assert_int_equal(task_sleep(task, 0), 0);
    assert_true(task_stack_count() <= 2);
    if (--*left > 0)
        task_start(new_task(), one_after_the_other, left);
    else
        leave();
}

TEST_WITH(test_stack_reuse, setup, teardown)
{
    unsigned left = 2000;

    run(one_after_the_other, &left);
}

/* --- context --- */

static void check_context(struct task *task, void *arg)
{
    (void)arg;
    assert_ptr_equal(log_context(), &task->log);
    assert_int_equal(task_sleep(task, 1), 0);
    assert_ptr_equal(log_context(), &task->log);
    leave();
}

TEST_WITH(test_log_context, setup, teardown)
{
    running = 2;
    task_start(new_task(), check_context, NULL);
    task_start(new_task(), check_context, NULL);
    loop_run();
    assert_null(log_context());
}

static void round_up(struct task *task, void *arg)
{
    int mode = *(int *)arg;

    assert_int_equal(fegetround(), FE_TONEAREST); /* not the mode that another coroutine has set */
    assert_int_equal(fesetround(mode), 0);
    assert_int_equal(task_sleep(task, 1), 0);
    assert_int_equal(fegetround(), mode);
    leave();
}

TEST_WITH(test_float_environment, setup, teardown)
{
    int up = FE_UPWARD;
    int down = FE_DOWNWARD;

    running = 2;
    task_start(new_task(), round_up, &up);
    task_start(new_task(), round_up, &down);
    loop_run();
    assert_int_equal(fegetround(), FE_TONEAREST);
}
