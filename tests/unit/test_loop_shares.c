/* Slots that owners share: the order of owners, the amount of one owner, tasks that give up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/map.h"
#include "loop/loop.h"
#include "loop/shares.h"

static struct arena *arena;
static struct shares shares;
static char trail[256]; /* owners in the order in which they were served */
static unsigned running;

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
    assert_int_equal(shares.held, 0);
    assert_int_equal(shares.waiting, 0);
    assert_int_equal(map_size(shares.owners), 0);
    assert_true(list_empty(&shares.waiting_owners));
    shares_done(&shares);
    arena_free(arena);
    return 0;
}

static void init(uint64_t limit, uint64_t per_owner)
{
    const struct shares_config config = {
        .limit = limit,
        .per_owner = per_owner,
        .waiting = SHARES_ANY,
    };
    shares_init(&shares, &config);
}

struct one {
    struct task task;
    char owner; /* a letter */
    uint64_t amount;
    int rc;
};

static void leave(void)
{
    if (--running == 0)
        loop_stop();
}

static void hold(struct task *task, void *arg)
{
    struct one *one = arg;
    struct share *share;

    one->rc =
        shares_acquire(task, &shares, (struct share_owner){one->owner, 0}, one->amount, 0, &share);
    if (one->rc == 0) {
        strncat(trail, &one->owner, 1);
        (void)!task_sleep(task, 2);
        shares_release(&shares, share, one->amount);
    }
    leave();
}

static struct one *start_amount(char owner, uint64_t amount)
{
    struct one *one = ARENA_NEW(arena, one);

    *one = (struct one){.task = {.arena = arena}, .owner = owner, .amount = amount};
    running++;
    task_start(&one->task, hold, one);
    return one;
}

static struct one *start(char owner)
{
    return start_amount(owner, 1);
}

static void start_all(const char *owners)
{
    for (; *owners != '\0'; owners++)
        (void)start(*owners);
}

TEST_WITH(test_owners_take_turns, setup, teardown)
{
    init(1, SHARES_ANY);
    start_all("aaaaabbc");
    loop_run();
    assert_string_equal(trail, "aabcabaa");
}

TEST_WITH(test_an_owner_leaves_room, setup, teardown)
{
    init(3, 2);
    start_all("aaaab");
    loop_run();
    assert_string_equal(trail, "aabaa"); /* the last two of `a` wait for the first two */
}

TEST_WITH(test_within_an_owner_first_come, setup, teardown)
{
    struct one *ones[4];

    init(SHARES_ANY, 1);
    for (size_t i = 0; i < 4; i++)
        ones[i] = start('x');
    task_cancel(&ones[0]->task);
    loop_run();
    assert_string_equal(trail, "xxx");
    assert_int_equal(ones[0]->rc, -ECANCELED);
}

static void give_up(struct task *task, void *arg)
{
    struct one *one = arg;
    struct share *share;

    one->rc =
        shares_acquire(task, &shares, (struct share_owner){one->owner, 0}, one->amount, 0, &share);
    leave();
}

static void cancel(void *arg)
{
    task_cancel(arg);
}

/* A task that gives up blocks no other task and leaves nothing in the queue. */
TEST_WITH(test_some_give_up, setup, teardown)
{
    struct one late = {.task = {.arena = arena, .deadline_ms = 1}, .owner = 'b', .amount = 1};
    struct one gone = {.task = {.arena = arena}, .owner = 'c', .amount = 1};
    struct loop_timer timer;

    init(1, 1);
    start_all("a");
    running += 2;
    task_start(&late.task, give_up, &late);
    task_start(&gone.task, give_up, &gone);
    loop_timer_init(&timer, cancel, &gone.task);
    loop_timer_start(&timer, 1);
    start_all("aa");
    loop_run();
    assert_int_equal(late.rc, -ETIMEDOUT);
    assert_int_equal(gone.rc, -ECANCELED);
    assert_string_equal(trail, "aaa");
}

static const struct share_owner A = {1, 0}, B = {2, 0}, C = {3, 0};

/* With `leave_room`, each of the first ten owners finds room, although each takes all that it can
 * get. */
TEST_WITH(test_there_is_room_for_the_next, setup, teardown)
{
    const struct shares_config config = {
        .limit = 1024, .per_owner = SHARES_ANY, .leave_room = true};
    struct share *held[60];
    uint64_t amounts[60] = {0};

    shares_init(&shares, &config);
    for (int64_t i = 0; i < 60; i++)
        while (shares_try(&shares, (struct share_owner){i, 0}, 1, &held[i]) == 0)
            amounts[i]++;
    assert_int_equal(amounts[0], 512);
    assert_int_equal(amounts[1], 256);
    for (size_t i = 0; i < 10; i++)
        assert_true(amounts[i] > 0);
    assert_int_equal(shares.refused, 60);
    for (size_t i = 0; i < 60; i++)
        if (amounts[i] > 0)
            shares_release(&shares, held[i], amounts[i]);
    (void)start('z'); /* the loop ends with its last task */
    loop_run();
}

TEST_WITH(test_amounts_add_up, setup, teardown)
{
    struct share *a;
    struct share *again;
    struct share *b;

    init(100, 60);
    assert_int_equal(shares_try(&shares, A, 40, &a), 0);
    assert_int_equal(shares_try(&shares, A, 20, &again), 0);
    assert_ptr_equal(a, again);
    assert_int_equal(shares_try(&shares, A, 1, &again), -EAGAIN);
    assert_int_equal(shares_try(&shares, B, 41, &b), -EAGAIN);
    assert_int_equal(shares_try(&shares, B, 40, &b), 0);
    assert_int_equal(shares_try(&shares, C, 1, &again), -EAGAIN);
    shares_release(&shares, b, 40);
    shares_release(&shares, a, 60);
    (void)start('z');
    loop_run();
}

/* A small request does not overtake a large one that the same owner made before. */
TEST_WITH(test_amounts_in_order, setup, teardown)
{
    init(10, SHARES_ANY);
    (void)start_amount('a', 8);
    (void)start_amount('b', 5);
    (void)start_amount('b', 1);
    (void)start_amount('c', 2);
    loop_run();
    assert_string_equal(trail, "acbb");
}

TEST_WITH(test_more_than_there_is, setup, teardown)
{
    init(10, SHARES_ANY);
    const struct one *one = start_amount('a', 11);
    loop_run();
    assert_int_equal(one->rc, -EAGAIN);
}

TEST_WITH(test_so_many_wait, setup, teardown)
{
    const struct shares_config config = {.limit = 1, .per_owner = 1, .waiting = 1};
    const struct one *ones[4];

    shares_init(&shares, &config);
    for (size_t i = 0; i < 3; i++)
        ones[i] = start('a');
    ones[3] = start('b');
    loop_run();
    assert_string_equal(trail, "aab");
    assert_int_equal(ones[1]->rc, 0);
    assert_int_equal(ones[2]->rc, -EAGAIN);
    assert_int_equal(ones[3]->rc, 0);
}
