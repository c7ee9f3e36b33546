/* Refunds that succeed and fail, reported in every order and twice. The sum is the amount that
 * the charge shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include "payments/apply_refund_private.h"

#define AT_MS      1760000000000LL
#define FACTS_MAX  5
#define PAID_MINOR 2000

static struct payment_facts charge(int64_t minor, int64_t seen_ms, const char *event)
{
    return (struct payment_facts){
        .status = minor > 0 ? "succeeded" : NULL,
        .event_id = str_from(event),
        .has_refunded = true,
        .refunded_minor = minor,
        .seen_ms = seen_ms,
    };
}

static struct payment_facts
refund(const char *id, int64_t minor, bool failed, int64_t seen_ms, const char *event)
{
    return (struct payment_facts){
        .status = "succeeded",
        .event_id = str_from(event),
        .refund_id = str_from(id),
        .refund_failed = failed,
        .refund_minor = minor,
        .seen_ms = seen_ms,
    };
}

struct story {
    struct payment_facts facts[FACTS_MAX];
    size_t count;
    int64_t end_minor;
    const char *status;
};

/* Applies a report. When the order is in doubt, the charge is read at once. */
static void learn(struct arena *arena,
                  struct payment_row *row,
                  const struct story *story,
                  const struct payment_facts *facts)
{
    struct payment_facts end = charge(story->end_minor, AT_MS + 9500, "");
    bool in_doubt = refunds_in_doubt(arena, row, facts);

    (void)payment_update(arena, row, facts);
    if (in_doubt)
        (void)payment_update(arena, row, &end);
}

static void check_order(const struct story *story, const size_t *order)
{
    struct arena *arena = arena_new(0);
    struct payment_row row = {
        .status = "succeeded", .provider = STR("processor"), .amount_minor = PAID_MINOR};

    for (size_t i = 0; i < 2 * story->count; i++) {
        size_t next = i < story->count ? i : 2 * story->count - 1 - i;
        learn(arena, &row, story, &story->facts[order[next]]);
        if (i + 1 >= story->count) {
            assert_int_equal(row.amount_refunded_minor, story->end_minor);
            assert_string_equal(row.status, story->status);
        }
    }
    arena_free(arena);
}

static void check_orders(const struct story *story)
{
    size_t order[FACTS_MAX] = {0, 1, 2, 3, 4};
    size_t counters[FACTS_MAX] = {0};
    size_t i = 1;

    for (;;) {
        check_order(story, order);
        while (i < story->count && counters[i] >= i)
            counters[i++] = 0;
        if (i >= story->count)
            return;
        size_t other = i % 2 ? counters[i] : 0;
        size_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
        counters[i]++;
        i = 1;
    }
}

TEST(test_failed)
{
    const struct story story = {
        {charge(2000, AT_MS, "evt_1"), refund("re_1", 2000, true, AT_MS + 5000, "evt_2")},
        2,
        0,
        "succeeded"};

    check_orders(&story);
}

TEST(test_failed_in_part)
{
    const struct story story = {{charge(500, AT_MS, "evt_1"),
                                 charge(2000, AT_MS + 2000, "evt_2"),
                                 refund("re_2", 1500, true, AT_MS + 4000, "evt_3"),
                                 refund("re_1", 500, false, AT_MS + 4000, "evt_4")},
                                4,
                                500,
                                "partially_refunded"};

    check_orders(&story);
}

TEST(test_told_by_the_charge)
{
    const struct story story = {{charge(500, AT_MS, "evt_1"),
                                 charge(2000, AT_MS + 2000, "evt_2"),
                                 refund("re_2", 1500, true, AT_MS + 4000, "evt_3"),
                                 charge(500, AT_MS + 4000, "evt_4"),
                                 refund("re_2", 1500, true, AT_MS + 4000, "evt_5")},
                                5,
                                500,
                                "partially_refunded"};

    check_orders(&story);
}

TEST(test_refunded_anew)
{
    const struct story story = {{charge(2000, AT_MS, "evt_1"),
                                 refund("re_1", 2000, true, AT_MS + 2000, "evt_2"),
                                 charge(2000, AT_MS + 4000, "evt_3"),
                                 refund("re_2", 2000, false, AT_MS + 4000, "evt_4")},
                                4,
                                2000,
                                "refunded"};

    check_orders(&story);
}

/* A row from before refunds were recorded one by one. */
TEST(test_older_rows)
{
    struct arena *arena = arena_new(0);
    struct payment_row row = {
        .status = "refunded", .amount_minor = PAID_MINOR, .amount_refunded_minor = PAID_MINOR};
    struct payment_facts failed = refund("re_1", 500, true, AT_MS, "evt_1");

    (void)payment_update(arena, &row, &failed);
    assert_int_equal(row.amount_refunded_minor, 1500);
    assert_string_equal(row.status, "partially_refunded");
    arena_free(arena);
}
