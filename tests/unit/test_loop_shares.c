/* Slots that owners share: turns, how much one holds, who gives up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static int setup(void **state)
{
    (void)state;
    loop_init();
    arena = arena_new(0);
    trail[0] = '\0';
    running = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(shares.held, 0);
    assert_int_equal(shares.waiting, 0);
    assert_int_equal(map_size(shares.owners), 0);
    assert_true(list_empty(&shares.ring));
    map_free(shares.owners);
    arena_free(arena);
    return 0;
}

struct one {
    struct task task;
    char owner; /* a letter */
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

    one->rc = shares_acquire(task, &shares, (struct share_owner){one->owner, 0}, &share);
    if (one->rc == 0) {
        strncat(trail, &one->owner, 1);
        (void)!task_sleep(task, 2);
        shares_release(&shares, share);
    }
    leave();
}

static struct one *start(char owner)
{
    struct one *one = ARENA_NEW(arena, one);

    *one = (struct one){.task = {.arena = arena}, .owner = owner};
    running++;
    task_start(&one->task, hold, one);
    return one;
}

static void start_all(const char *owners)
{
    for (; *owners != '\0'; owners++)
        (void)start(*owners);
}

static void test_owners_take_turns(void **state)
{
    (void)state;
    shares_init(&shares, 1, UINT_MAX);
    start_all("aaaaabbc");
    loop_run();
    assert_string_equal(trail, "aabcabaa");
}

static void test_an_owner_leaves_room(void **state)
{
    (void)state;
    shares_init(&shares, 3, 2);
    start_all("aaaab");
    loop_run();
    assert_string_equal(trail, "aabaa"); /* the last two after the first two */
}

static void test_within_an_owner_first_come(void **state)
{
    (void)state;
    struct one *ones[4];

    shares_init(&shares, UINT_MAX, 1);
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

    one->rc = shares_acquire(task, &shares, (struct share_owner){one->owner, 0}, &share);
    leave();
}

static void cancel(void *arg)
{
    task_cancel(arg);
}

/* Who gives up is in nobody's way, and leaves nothing behind. */
static void test_some_give_up(void **state)
{
    (void)state;
    struct one late = {.task = {.arena = arena, .deadline_ms = 1}, .owner = 'b'};
    struct one gone = {.task = {.arena = arena}, .owner = 'c'};
    struct loop_timer timer;

    shares_init(&shares, 1, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_owners_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_owner_leaves_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_within_an_owner_first_come, setup, teardown),
        cmocka_unit_test_setup_teardown(test_some_give_up, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
