/* Projects that wait for a turn are found, created and forgotten, and take turns in a ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "queue/turns.h"

struct item {
    int64_t number;
    struct list ring;
    unsigned wanted; /* turns that the item still wants */
    bool busy;
};

static struct list ring;
static int64_t given[64]; /* numbers, in the order of their turns */
static size_t given_count;
static unsigned slots, retried;
static void (*pumped)(void);

static void item_init(void *arg, int64_t number, void *own)
{
    struct item *item = arg;

    assert_ptr_equal(own, &ring);
    item->number = number;
    list_init(&item->ring);
}

static bool is_idle(const void *arg)
{
    const struct item *item = arg;

    return !item->busy && item->wanted == 0;
}

static struct turns turns;

static void to_ring(void *arg)
{
    struct item *item = arg;

    if (item->wanted > 0)
        turns_join(&turns, &ring, &item->ring);
}

static void again(void *arg)
{
    retried++;
    to_ring(arg);
    loop_stop();
}

static void pump(void *arg)
{
    assert_ptr_equal(arg, &ring);
    while (slots > 0 && !list_empty(&ring)) {
        struct item *item = LIST_ITEM(list_shift(&ring), struct item, ring);
        slots--;
        item->wanted--;
        given[given_count++] = item->number;
        to_ring(item);
    }
    pumped();
}

static int setup(void **state UNUSED)
{
    loop_init();
    list_init(&ring);
    given_count = 0;
    retried = 0;
    pumped = loop_stop;
    turns = (struct turns){.size = sizeof(struct item),
                           .arg = &ring,
                           .init = item_init,
                           .is_idle = is_idle,
                           .rejoin = again,
                           .pump = pump,
                           .forget_ms = 20};
    turns_start(&turns);
    return 0;
}

static int teardown(void **state UNUSED)
{
    turns_stop(&turns);
    return 0;
}

static struct item *wants(int64_t number, unsigned wanted)
{
    struct item *item = turns_get(&turns, number);

    item->wanted = wanted;
    to_ring(item);
    return item;
}

TEST_WITH(test_found_or_made, setup, teardown)
{
    assert_null(turns_find(&turns, 7));
    struct item *item = turns_get(&turns, 7);
    assert_int_equal(item->number, 7);
    assert_int_equal(item->wanted, 0);
    assert_ptr_equal(turns_get(&turns, 7), item);
    assert_ptr_equal(turns_find(&turns, 7), item);
    assert_ptr_not_equal(turns_get(&turns, 8), item);
    assert_int_equal(turns_count(&turns), 2);
    turns_pump(&turns);
    loop_run();
}

TEST_WITH(test_turns_go_round, setup, teardown)
{
    static const int64_t fair[] = {1, 2, 3, 1, 2, 1, 1};

    slots = 100;
    wants(1, 4);
    wants(2, 2);
    wants(3, 1);
    to_ring(turns_get(&turns, 1)); /* already in the ring */
    loop_run();
    assert_int_equal(given_count, ARRAY_LEN(fair));
    assert_memory_equal(given, fair, sizeof(fair));
}

/* Frees one slot, once. */
static void free_one(void)
{
    pumped = loop_stop;
    assert_int_equal(given_count, 2);
    slots = 1;
    turns_pump(&turns);
}

TEST_WITH(test_a_turn_needs_what_is_scarce, setup, teardown)
{
    slots = 2;
    pumped = free_one;
    wants(1, 3);
    wants(2, 3);
    loop_run();
    assert_int_equal(given_count, 3);
    assert_int_equal(given[2], 1);
}

static void on_time(void *arg)
{
    (void)arg;
    loop_stop();
}

TEST_WITH(test_closed_gives_none, setup, teardown)
{
    struct loop_timer timer;

    slots = 100;
    wants(1, 1);
    turns_close(&turns);
    struct item *late = wants(2, 1);
    assert_true(list_empty(&late->ring));
    loop_timer_init(&timer, on_time, NULL);
    loop_timer_start(&timer, 20);
    loop_run();
    assert_int_equal(given_count, 0);
}

TEST_WITH(test_refused_is_wanted_again, setup, teardown)
{
    slots = 0;
    struct item *item = turns_get(&turns, 1);
    item->wanted = 1;
    turns_retry(&turns);
    loop_run();
    assert_int_equal(retried, 1);
    assert_false(list_empty(&item->ring));
}

static struct loop_timer poll;
static int polls;

static void on_poll(void *arg)
{
    (void)arg;
    if (turns_count(&turns) == 1 || ++polls == 1000)
        loop_stop();
    else
        loop_timer_start(&poll, 10);
}

TEST_WITH(test_idle_ones_are_forgotten, setup, teardown)
{
    struct item *busy = turns_get(&turns, 1);
    busy->busy = true;
    (void)turns_get(&turns, 2);
    loop_timer_init(&poll, on_poll, NULL);
    loop_timer_start(&poll, 10);
    loop_run();
    assert_int_equal(turns_count(&turns), 1);
    assert_ptr_equal(turns_find(&turns, 1), busy);
    assert_null(turns_find(&turns, 2));
}
