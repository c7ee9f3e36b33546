/* Attempts to pay one payment. Events, answers to calls, or both report the attempts in every
 * order, and twice. The row ends in the processor's state, and each decline is emitted once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "orders.h"
#include "unit.h"

#include "payments/announce_private.h"
#include "payments/apply_attempt_private.h"

#define AT_MS     1760000000000LL
#define FACTS_MAX ORDERS_ITEMS_MAX
#define PATHS     5
#define DEBITED   2 /* index of paths[] */
#define PROCESSED 3

/* The states of the intent during one attempt. The last state of the last attempt is the state
 * at the processor. */
static const char *const paths[PATHS][3] = {
    {"failed"},
    {"requires_action", "failed"},
    {"processing", "failed"},
    {"requires_action", "processing"},
    {"requires_action"},
};

enum mode { EVENTS, ANSWERS, BOTH, MODES };

struct told {
    struct payment_facts facts[FACTS_MAX];
    size_t count, declines;
    struct payment_facts end; /* what a reading returns at the end */
};

static struct payment_facts fact(struct arena *arena, const char *status, int charge, int64_t at_ms)
{
    bool declined = strcmp(status, "failed") == 0;
    struct str latest = charge > 0 ? arena_printf(arena, "ch_%c", 'z' - charge) : STR_NONE;

    return (struct payment_facts){
        .intent_id = STR("pi_1"),
        .status = status,
        .is_intent = true,
        .at_ms = at_ms,
        .charge_id = latest,
        .failed_charge_id = declined ? latest : STR_NONE,
        .failure_code = declined ? arena_printf(arena, "code_%d", charge) : STR_NONE,
        .failure_message = declined ? STR("no") : STR_NONE,
    };
}

static bool add(struct told *told, const struct payment_facts *facts)
{
    if (told->count == FACTS_MAX)
        return false;
    told->facts[told->count++] = *facts;
    return true;
}

/* Fills *told with the reports about the attempts, with `pause_ms` between two states. Returns
 * false when there are more than FACTS_MAX reports, too many to try all orders. */
static bool tell(struct arena *arena,
                 struct told *told,
                 const int *attempts,
                 size_t count,
                 enum mode mode,
                 bool pends,
                 int64_t pause_ms)
{
    int64_t now_ms = AT_MS;
    int charge = 0;

    *told = (struct told){.count = 0};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 3 && paths[attempts[i]][j] != NULL; j++) {
            const char *status = paths[attempts[i]][j];
            bool declined = strcmp(status, "failed") == 0;
            bool processed = strcmp(status, "processing") == 0;
            /* With `pends`, a processing attempt already has its charge. Otherwise the intent
             * still shows the previous charge. */
            charge += pends ? processed || (declined && attempts[i] != DEBITED) : declined;
            told->declines += declined;
            told->end = fact(arena, status, charge, now_ms);
            struct payment_facts event = told->end;
            event.at_ms = now_ms / 1000 * 1000;
            event.event_id = arena_printf(arena, "evt_%lld", (long long)(10000 - told->count));
            if ((mode != ANSWERS && !add(told, &event)) ||
                (mode != EVENTS && !add(told, &told->end)))
                return false;
            now_ms += pause_ms;
        }
    told->end.at_ms = now_ms;
    return true;
}

/* --- one order --- */

struct shop {
    struct arena *arena;
    struct payment_row row;
    size_t failures; /* that were emitted */
    bool in_doubt;
};

static void announce(struct shop *shop)
{
    struct payment_row *row = &shop->row;

    shop->failures += row->declines_due_count;
    if (row->declines_due_count > 0)
        row->emitted |= EVENT_PAYMENT_FAILED_BIT;
    if (strcmp(row->status, "failed") == 0 && !(row->emitted & EVENT_PAYMENT_FAILED_BIT)) {
        shop->failures++;
        row->emitted |= EVENT_PAYMENT_FAILED_BIT;
    }
    row->declines_due_count = 0;
}

/* Applies a report. An event whose order is in doubt leads to a reading at once; an answer
 * leaves the reading to the timer. */
static void learn(struct shop *shop, const struct told *told, const struct payment_facts *facts)
{
    struct payment_position next = payment_position_of_facts(facts);
    struct payment_position now = payment_position_of_row(&shop->row);
    bool in_doubt = payment_position_is_in_doubt(&next, &now);

    (void)payment_update(shop->arena, &shop->row, facts);
    if (in_doubt && facts->event_id.len > 0)
        (void)payment_update(shop->arena, &shop->row, &told->end);
    else
        shop->in_doubt = shop->in_doubt || in_doubt;
    announce(shop);
}

/* Prints the reports in the order in which they were applied. */
static void print_order(const struct told *told, const size_t *order)
{
    for (size_t i = 0; i < told->count; i++) {
        const struct payment_facts *facts = &told->facts[order[i]];
        print_error("%s %.*s at %lld %.*s\n",
                    facts->status,
                    STR_ARG(facts->charge_id),
                    (long long)facts->at_ms,
                    STR_ARG(facts->event_id));
    }
}

static void check_end(struct shop *shop, const struct told *told, const size_t *order)
{
    const struct payment_row *row = &shop->row;
    bool failed = strcmp(told->end.status, "failed") == 0;

    if (strcmp(row->status, told->end.status) != 0 ||
        !str_eq(row->failure_code, told->end.failure_code) ||
        failed != (row->failure_message.len > 0)) {
        print_order(told, order);
        fail_msg("%s %.*s, at the processor %s %.*s",
                 row->status,
                 STR_ARG(row->failure_code),
                 told->end.status,
                 STR_ARG(told->end.failure_code));
    }
    assert_int_equal(shop->failures, told->declines);
}

static void check_order(struct arena *arena, const struct told *told, const size_t *order)
{
    struct shop shop = {
        .arena = arena,
        .row = {.id = 7,
                .status = "requires_payment_method",
                .provider = STR("processor"),
                .amount_minor = 2000,
                .disputes = STR("{}"),
                .declines = STR("{}")},
    };

    for (size_t i = 0; i < told->count; i++)
        learn(&shop, told, &told->facts[order[i]]);
    if (shop.in_doubt) {
        (void)payment_update(arena, &shop.row, &told->end);
        announce(&shop);
    }
    check_end(&shop, told, order);
    for (size_t i = told->count; i > 0; i--)
        learn(&shop, told, &told->facts[order[i - 1]]);
    if (shop.in_doubt)
        (void)payment_update(arena, &shop.row, &told->end);
    check_end(&shop, told, order);
}

/* Checks the orders of the reports (orders.h). */
static void check_orders(const struct told *told)
{
    struct orders orders = orders_begin(told->count);

    do {
        struct arena *arena = arena_new(0);
        check_order(arena, told, orders.order);
        arena_free(arena);
    } while (orders_next(&orders));
}

/* Whether the attempts can follow each other: no attempt follows a charge that is still
 * processing. */
static bool is_possible(const int *attempts, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (attempts[i] == PROCESSED)
            return false;
    return true;
}

static void check_pause(int64_t pause_ms)
{
    int sequences = 1;

    for (size_t count = 1; count <= 3; count++) {
        sequences *= PATHS;
        for (int sequence = 0; sequence < sequences * (int)MODES * 2; sequence++) {
            const int attempts[] = {
                sequence % PATHS, sequence / PATHS % PATHS, sequence / PATHS / PATHS % PATHS};
            struct arena *arena = arena_new(0);
            struct told told;
            if (is_possible(attempts, count) && tell(arena,
                                                     &told,
                                                     attempts,
                                                     count,
                                                     (enum mode)(sequence / sequences % MODES),
                                                     sequence / sequences >= (int)MODES,
                                                     pause_ms))
                check_orders(&told);
            arena_free(arena);
        }
    }
}

TEST(test_seconds_apart)
{
    check_pause(1700);
}

TEST(test_within_one_second)
{
    check_pause(90);
}

/* --- single orders --- */

static struct payment_row row_of(void)
{
    return (struct payment_row){
        .status = "requires_payment_method", .amount_minor = 2000, .provider = STR("processor")};
}

/* A change of the intent after a decline removes the decline's error, and no attempt runs. The
 * payment stays failed. */
TEST(test_nothing_runs)
{
    struct arena *arena = arena_new(0);
    struct payment_facts declined = fact(arena, "failed", 1, AT_MS);
    struct payment_facts changed = fact(arena, "requires_payment_method", 1, AT_MS + 5000);
    struct payment_facts unseen = fact(arena, "requires_payment_method", 0, AT_MS + 5000);
    struct payment_facts *orders[][2] = {
        {&declined, &changed}, {&changed, &declined}, {&declined, &unseen}, {&unseen, &declined}};

    declined.event_id = STR("evt_1");
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct payment_row row = row_of();
        (void)payment_update(arena, &row, orders[i][0]);
        (void)payment_update(arena, &row, orders[i][1]);
        assert_string_equal(row.status, "failed");
        assert_true(str_is(row.failure_code, "code_1"));
    }
    struct payment_row row = row_of();
    (void)payment_update(arena, &row, &unseen);
    assert_string_equal(row.status, "requires_payment_method");
    arena_free(arena);
}

/* An authorized payment does not fail when a decline arrives late. */
TEST(test_authorized)
{
    struct arena *arena = arena_new(0);
    struct payment_facts authorized = fact(arena, "requires_capture", 2, AT_MS);
    struct payment_facts declined = fact(arena, "failed", 1, AT_MS + 9000);
    struct payment_row row = row_of();

    (void)payment_update(arena, &row, &authorized);
    (void)payment_update(arena, &row, &declined);
    assert_string_equal(row.status, "requires_capture");
    assert_int_equal(row.failure_code.len, 0);
    arena_free(arena);
}

/* A decline without a charge counts once, no matter whether a reading or the decline's event
 * arrives first. */
TEST(test_without_a_charge)
{
    struct arena *arena = arena_new(0);
    struct payment_facts read = fact(arena, "failed", 0, AT_MS + 400);
    struct payment_facts event = fact(arena, "failed", 0, AT_MS);
    const struct payment_facts *orders[][2] = {{&read, &event}, {&event, &read}};

    event.event_id = STR("evt_1");
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct shop shop = {.arena = arena, .row = row_of()};
        const struct told told = {.end = read};
        for (size_t j = 0; j < 4; j++)
            learn(&shop, &told, orders[i][j % 2]);
        assert_int_equal(shop.failures, 1);
        assert_string_equal(shop.row.status, "failed");
    }
    arena_free(arena);
}

/* A payer who tries many cards does not make the row grow without bound, and old declines that
 * the row no longer lists are not emitted again. */
TEST(test_many_declines)
{
    struct arena *arena = arena_new(0);
    struct shop shop = {.arena = arena, .row = row_of()};
    struct told told = {.count = 0};

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 200; i++) {
            struct payment_facts declined = fact(arena, "failed", 1, AT_MS + i * 2000);
            declined.charge_id = declined.failed_charge_id = arena_printf(arena, "ch_%d", i);
            declined.event_id = arena_printf(arena, "evt_%d", i);
            learn(&shop, &told, &declined);
        }
    assert_int_equal(shop.failures, 200);
    assert_true(shop.row.declines.len < 4096);
    arena_free(arena);
}
