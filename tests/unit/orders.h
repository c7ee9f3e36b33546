#pragma once
/*
 * The orders of up to six items, by Heap's algorithm:
 *
 *     struct orders orders = orders_begin(count);
 *     do
 *         ... orders.order[0] to orders.order[count - 1] are the indexes of the items ...
 *     while (orders_next(&orders));
 *
 * A long run has all orders. Otherwise of more than four items only every seventh order comes. In
 * these orders each item still has each place, and each item comes directly after each other item;
 * orders_next() asserts that at the end.
 */
#include "unit.h"

enum { ORDERS_ITEMS_MAX = 6, ORDERS_SMALL = 4, ORDERS_STRIDE = 7 };

struct orders {
    size_t order[ORDERS_ITEMS_MAX];
    size_t count; /* of items */
    size_t counters[ORDERS_ITEMS_MAX];
    size_t level;                      /* the counter that changes next */
    unsigned places[ORDERS_ITEMS_MAX]; /* of each item, where it has been; bits */
    unsigned after[ORDERS_ITEMS_MAX];  /* of each item, after which items it has come; bits */
};

static void orders_note(struct orders *orders)
{
    for (size_t i = 0; i < orders->count; i++) {
        orders->places[orders->order[i]] |= 1U << i;
        if (i > 0)
            orders->after[orders->order[i]] |= 1U << orders->order[i - 1];
    }
}

static struct orders orders_begin(size_t count)
{
    struct orders orders = {.order = {0, 1, 2, 3, 4, 5}, .count = count, .level = 1};

    assert_in_range(count, 1, ORDERS_ITEMS_MAX);
    orders_note(&orders);
    return orders;
}

static bool orders_step(struct orders *orders)
{
    while (orders->level < orders->count && orders->counters[orders->level] >= orders->level)
        orders->counters[orders->level++] = 0;
    if (orders->level >= orders->count)
        return false;
    size_t other = orders->level % 2 ? orders->counters[orders->level] : 0;
    size_t kept = orders->order[orders->level];
    orders->order[orders->level] = orders->order[other];
    orders->order[other] = kept;
    orders->counters[orders->level]++;
    orders->level = 1;
    return true;
}

/* Makes the next order; returns false after the last one. */
static bool orders_next(struct orders *orders)
{
    unsigned all = (1U << orders->count) - 1;
    size_t steps = is_long_run() || orders->count <= ORDERS_SMALL ? 1 : ORDERS_STRIDE;

    for (size_t i = 0; i < steps; i++)
        if (!orders_step(orders)) {
            for (size_t item = 0; item < orders->count; item++) {
                assert_int_equal(orders->places[item], all);
                assert_int_equal(orders->after[item], all & ~(1U << item));
            }
            return false;
        }
    orders_note(orders);
    return true;
}
