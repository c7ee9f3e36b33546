/* The state to which notifications about a subscription lead, case by case, and prices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "payments/store_private.h"

#define DAY    86400000LL
#define START  (1800000000LL * 1000)
#define END    (START + 30 * DAY)
#define SECOND 1000LL

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

/* Returns a notification about the first period, `seconds` after the period's beginning. */
static struct store_fact fact(const char *type, const char *subtype, int64_t seconds)
{
    return (struct store_fact){
        .event_id = arena_printf(arena, "Sandbox:%s-%lld", type, (long long)seconds),
        .type = str_from(type),
        .subtype = str_from(subtype),
        .signed_ms = START + seconds * SECOND,
        .transaction_id = STR("t1"),
        .product_id = STR("pro"),
        .currency = STR("USD"),
        .price_milli = 9990,
        .purchase_ms = START,
        .expires_ms = END,
        .auto_renew = -1,
    };
}

static void tell(struct store_state *store, struct store_fact one)
{
    store_state_add(store, &one);
}

static void check(const struct store_state *store, const char *word, const char *status)
{
    assert_string_equal(store->store_status, word);
    assert_string_equal(store_state_status(store), status);
}

static struct store_state bought(void)
{
    struct store_state store = {0};

    tell(&store, fact("SUBSCRIBED", "INITIAL_BUY", 0));
    check(&store, "active", "active");
    return store;
}

TEST_WITH(test_types, setup, teardown)
{
    static const struct {
        const char *type, *subtype, *word, *status;
    } cases[] = {
        {"SUBSCRIBED", "RESUBSCRIBE", "active", "active"},
        {"DID_RENEW", NULL, "active", "active"},
        {"DID_RENEW", "BILLING_RECOVERY", "active", "active"},
        {"DID_FAIL_TO_RENEW", "GRACE_PERIOD", "in_grace", "past_due"},
        {"DID_FAIL_TO_RENEW", NULL, "billing_retry", "past_due"},
        {"GRACE_PERIOD_EXPIRED", NULL, "billing_retry", "past_due"},
        {"EXPIRED", "VOLUNTARY", "expired", "canceled"},
        {"EXPIRED", "PRODUCT_NOT_FOR_SALE", "expired", "canceled"},
        {"REVOKE", NULL, "revoked", "canceled"},
        {"REFUND", NULL, "revoked", "canceled"},
        {"REFUND_REVERSED", NULL, "active", "active"},
        {"PRICE_INCREASE", "PENDING", "active", "active"},
        {"RENEWAL_EXTENDED", NULL, "active", "active"},
        {"CONSUMPTION_REQUEST", NULL, "active", "active"},
        {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "active", "active"},
    };

    assert_null(store_state_status(&(struct store_state){0}));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_state store = bought();
        tell(&store, fact(cases[i].type, cases[i].subtype, 10));
        check(&store, cases[i].word, cases[i].status);
        /* A notification leads to the same store when it is the first to arrive. */
        store = (struct store_state){0};
        tell(&store, fact(cases[i].type, cases[i].subtype, 10));
        check(&store, cases[i].word, cases[i].status);
    }
}

/* When the first notification says nothing about access, the transaction's dates decide. */
TEST_WITH(test_first_by_dates, setup, teardown)
{
    struct store_state store = {0};

    tell(&store, fact("PRICE_INCREASE", "PENDING", 30 * 86400 + 1));
    check(&store, "expired", "canceled");
    assert_int_equal(store.ended_ms, END);
    store = (struct store_state){0};
    tell(&store, fact("REFUND_REVERSED", NULL, 30 * 86400 + 1));
    check(&store, "expired", "canceled");
}

TEST_WITH(test_grace, setup, teardown)
{
    struct store_state store = bought();
    struct store_fact failed = fact("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 10);

    failed.grace_ms = END + 16 * DAY;
    tell(&store, failed);
    assert_int_equal(store.grace_ms, END + 16 * DAY);
    tell(&store, fact("PRICE_CHANGE", NULL, 11)); /* without a grace date */
    check(&store, "in_grace", "past_due");
    assert_int_equal(store.grace_ms, END + 16 * DAY);
    tell(&store, fact("GRACE_PERIOD_EXPIRED", NULL, 12));
    assert_int_equal(store.grace_ms, END);
    tell(&store, fact("DID_RENEW", "BILLING_RECOVERY", 13));
    assert_int_equal(store.grace_ms, 0);
    /* A grace period without a date ends with the paid period. */
    store = bought();
    tell(&store, fact("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 10));
    assert_int_equal(store.grace_ms, END);
}

TEST_WITH(test_cancellation, setup, teardown)
{
    struct store_state store = bought();
    struct store_fact off = fact("DID_CHANGE_RENEWAL_STATUS", NULL, 10);
    struct store_fact on = fact("DID_CHANGE_RENEWAL_STATUS", NULL, 30);

    off.auto_renew = 0;
    on.auto_renew = 1;
    tell(&store, off);
    assert_true(store.renewal_is_off);
    assert_int_equal(store.canceled_ms, START + 10 * SECOND);
    off.signed_ms += 5 * SECOND; /* reported again: canceled_ms stays */
    tell(&store, off);
    assert_int_equal(store.canceled_ms, START + 10 * SECOND);
    tell(&store, fact("PRICE_CHANGE", NULL, 20)); /* without renewal info */
    assert_true(store.renewal_is_off);
    tell(&store, on);
    assert_false(store.renewal_is_off);
    assert_int_equal(store.canceled_ms, 0);
    tell(&store, off);
    tell(&store, fact("EXPIRED", "VOLUNTARY", 40));
    assert_int_equal(store.canceled_ms, START + 15 * SECOND);
    assert_int_equal(store.ended_ms, START + 40 * SECOND);
    tell(&store, fact("EXPIRED", "VOLUNTARY", 50)); /* the first end counts */
    assert_int_equal(store.ended_ms, START + 40 * SECOND);
    tell(&store, fact("SUBSCRIBED", "RESUBSCRIBE", 60));
    assert_int_equal(store.ended_ms, 0);
    check(&store, "active", "active");
}

TEST_WITH(test_refunds, setup, teardown)
{
    struct store_state store = bought();
    struct store_fact refund = fact("REFUND", NULL, 10);
    struct store_fact later = fact("DID_RENEW", NULL, 5);

    /* A full refund revokes access although the status is still active. */
    refund.status = 1;
    refund.revoked_ms = START + 9 * SECOND;
    tell(&store, refund);
    check(&store, "revoked", "canceled");
    assert_int_equal(store.ended_ms, START + 9 * SECOND);
    tell(&store, fact("REFUND_REVERSED", NULL, 20));
    check(&store, "active", "active");

    /* A partial refund ends the subscription at the time of the refund. */
    store = bought();
    refund.revocation_type = STR("REFUND_PRORATED");
    tell(&store, refund);
    check(&store, "active", "active");
    assert_int_equal(store_state_end(&store), START + 9 * SECOND);
    tell(&store, fact("REFUND_REVERSED", NULL, 20));
    assert_int_equal(store_state_end(&store), END);

    /* A refund of an earlier period leaves the current period active. */
    store = bought();
    later.transaction_id = STR("t2");
    later.purchase_ms = END;
    later.expires_ms = END + 30 * DAY;
    tell(&store, later);
    refund.revocation_type = STR_NONE;
    refund.status = 0;
    tell(&store, refund);
    check(&store, "active", "active");
    assert_int_equal(store_state_end(&store), END + 30 * DAY);
    assert_true(str_is(store.transaction_id, "t2"));
    /* The renewal was not reported, but the renewal info has its date. */
    store = bought();
    refund.renewal_ms = END + 30 * DAY;
    tell(&store, refund);
    check(&store, "active", "active");
}

TEST_WITH(test_trials, setup, teardown)
{
    static const struct {
        const char *period;
        int64_t days;
    } cases[] = {
        {"P3D", 3},
        {"P1W", 7},
        {"P4W", 28},
        {"P1M", 30},
        {"P1Y", 30},
        {"", 30},
        {"P", 30},
        {"PXD", 30},
        {"P-1D", 30},
        {"P0D", 30},
        {"P99999999999999999999D", 30},
        {"1W", 30},
        {"P1", 30},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_state store = {0};
        struct store_fact first = fact("SUBSCRIBED", "INITIAL_BUY", 0);
        first.offer_discount = STR("FREE_TRIAL");
        first.offer_period = str_from(cases[i].period);
        tell(&store, first);
        assert_string_equal(store_state_status(&store), "trialing");
        assert_int_equal(store.trial_days, cases[i].days);
        assert_int_equal(store.trial_end_ms, END);
        tell(&store, fact("DID_RENEW", NULL, 10));
        assert_string_equal(store_state_status(&store), "active");
        assert_int_equal(store.trial_days, cases[i].days);
    }
    /* Implausible dates give no trial days. */
    struct store_state store = {0};
    struct store_fact odd = fact("SUBSCRIBED", "INITIAL_BUY", 0);
    odd.offer_discount = STR("FREE_TRIAL");
    odd.expires_ms = START - DAY;
    tell(&store, odd);
    assert_int_equal(store.trial_days, 0);
}

TEST_WITH(test_order, setup, teardown)
{
    struct store_fact buy = fact("SUBSCRIBED", NULL, 0);
    struct store_fact renew = fact("DID_RENEW", NULL, 0);
    struct store_fact end = fact("EXPIRED", NULL, 0);
    struct store_fact later = fact("SUBSCRIBED", NULL, 1);
    struct store_fact twin = buy;

    twin.event_id = STR("Sandbox:a");
    assert_true(store_fact_order(&buy, &renew) < 0 && store_fact_order(&renew, &buy) > 0);
    assert_true(store_fact_order(&renew, &end) < 0 && store_fact_order(&end, &later) < 0);
    assert_true(store_fact_order(&buy, &twin) != 0);
    assert_int_equal(store_fact_order(&buy, &twin) < 0, store_fact_order(&twin, &buy) > 0);
    assert_int_equal(store_fact_order(&buy, &buy), 0);
}

TEST_WITH(test_money, setup, teardown)
{
    assert_int_equal(store_minor(9990, STR("USD")), 999);
    assert_int_equal(store_minor(9995, STR("USD")), 1000);
    assert_int_equal(store_minor(9994, STR("USD")), 999);
    assert_int_equal(store_minor(150000, STR("JPY")), 150);
    assert_int_equal(store_minor(150499, STR("JPY")), 150);
    assert_int_equal(store_minor(150500, STR("JPY")), 151);
    assert_int_equal(store_minor(1234, STR("KWD")), 1234);
    assert_int_equal(store_minor(5000, STR("isk")), 500);
    assert_int_equal(store_minor(0, STR("EUR")), 0);
    assert_true(str_is(store_currency(arena, STR("EUR")), "eur"));
    assert_true(str_is(store_currency(arena, STR_NONE), "xxx"));
    assert_true(str_is(store_currency(arena, STR("E1R")), "xxx"));
}

/* Documents without required members are malformed, and implausible values count as absent. */
TEST_WITH(test_documents, setup, teardown)
{
    struct store_document document;
    static const char *const broken[] = {
        "",
        "[]",
        "{}",
        "{\"notification\":{\"notificationType\":\"TEST\",\"signedDate\":5}}",
        "{\"notification\":{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\"}}",
        "{\"notification\":{\"notificationType\":\"X\",\"notificationUUID\":\"u\",\"signedDate\":5}"
        ","
        "\"transaction\":{\"type\":\"Auto-Renewable Subscription\"}}",
        "{\"notification\":{\"notificationType\":\"X\",\"notificationUUID\":\"u\",\"signedDate\":5}"
        ","
        "\"transaction\":{\"type\":\"Consumable\"}}",
    };
    static const char odd[] =
        "{\"notification\":{\"notificationType\":\"X\",\"notificationUUID\":\"u\",\"signedDate\":5,"
        "\"data\":{\"environment\":\"Sandbox\",\"status\":\"1\"}},"
        "\"transaction\":{\"originalTransactionId\":\"1\",\"transactionId\":2,"
        "\"expiresDate\":9223372036854775807,\"purchaseDate\":-5,\"price\":1.5,\"productId\":null}"
        "}";

    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_int_equal(store_document_read(arena, str_from(broken[i]), &document),
                         APPLY_MALFORMED);
    assert_int_equal(store_document_read(arena, str_from(odd), &document), APPLY_MALFORMED);
    struct str renewed =
        arena_printf(arena, "%.*s,\"renewal\":{\"autoRenewStatus\":7}}", (int)sizeof(odd) - 2, odd);
    assert_int_equal(store_document_read(arena, renewed, &document), 0);
    assert_false(document.type_is_known);
    assert_true(document.kind == STORE_KIND_SUBSCRIPTION);
    assert_true(str_is(document.original_id, "1") && str_is(document.fact.event_id, "Sandbox:u"));
    assert_int_equal(document.fact.status, 0);
    assert_int_equal(document.fact.expires_ms, 0);
    assert_int_equal(document.fact.purchase_ms, 0);
    assert_int_equal(document.fact.price_milli, 0);
    assert_int_equal(document.fact.auto_renew, 7);
    assert_int_equal(document.fact.transaction_id.len, 0);
}
