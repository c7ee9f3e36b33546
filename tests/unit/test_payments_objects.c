/* The processor's objects in two generations of its API, and malformed objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "json/jr.h"
#include "payments/objects.h"

#define FIXTURES     "../shared/reference/data/processor-fixtures.json"
#define FIXTURES_MAX (8U << 20)

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

static json_t *parse(const char *text)
{
    struct jr_error error;
    json_t *json;

    if (jr_parse(arena, str_from(text), &json, &error) != 0)
        fail_msg("%s: %s", error.text, text);
    return json;
}

static void assert_str(struct str found, const char *expected)
{
    if (!str_is(found, expected))
        fail_msg("%.*s, not %s", STR_ARG(found), expected);
}

/* --- references and numbers --- */

TEST_WITH(test_refs, setup, teardown)
{
    json_t *json =
        parse("{\"a\": \"id_1\", \"b\": {\"id\": \"id_2\", \"x\": 1}, \"c\": null, \"d\": "
              "7, \"e\": \"\", \"f\": {\"id\": null}}");

    assert_str(object_ref(json, "a"), "id_1");
    assert_str(object_ref(json, "b"), "id_2");
    for (const char *name = "cdefg"; *name; name++) {
        const char member[] = {*name, '\0'};
        assert_null(object_ref(json, member).ptr);
    }
    assert_null(object_ref(NULL, "a").ptr);
    assert_null(object_ref(parse("[1]"), "a").ptr);
}

TEST_WITH(test_times, setup, teardown)
{
    static const struct {
        const char *json;
        int64_t ms;
    } cases[] = {
        {"{\"t\": 1760000000}", 1760000000000},
        {"{\"t\": 1760000000.9}", 1760000000000},
        {"{\"t\": 0}", 0},
        {"{\"t\": -5}", 0},
        {"{\"t\": null}", 0},
        {"{\"t\": \"1760000000\"}", 0},
        {"{\"t\": 253402300799}", 253402300799000},
        {"{\"t\": 253402300800}", 0},
        {"{\"t\": 9223372036854775807}", 0},
        {"{\"t\": 1e300}", 0},
        {"{}", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(object_time_ms(parse(cases[i].json), "t"), cases[i].ms);
}

/* --- kinds --- */

TEST_WITH(test_kinds, setup, teardown)
{
    struct intent_object intent;

    assert_int_equal(intent_read(parse("{\"id\": \"pi_1\"}"), &intent), 0);
    assert_str(intent.id, "pi_1");
    assert_null(intent.status.ptr);
    assert_null(intent.metadata);
    assert_int_equal(
        intent_read(parse("{\"id\": \"pi_1\", \"object\": \"payment_intent\"}"), &intent), 0);
    assert_int_equal(intent_read(parse("{\"id\": \"pi_1\", \"object\": \"charge\"}"), &intent),
                     OBJECT_MALFORMED);
    assert_int_equal(intent_read(parse("{\"id\": \"\"}"), &intent), OBJECT_MALFORMED);
    assert_int_equal(intent_read(parse("{\"id\": 5}"), &intent), OBJECT_MALFORMED);
    assert_int_equal(intent_read(parse("[]"), &intent), OBJECT_MALFORMED);
    assert_int_equal(intent_read(NULL, &intent), OBJECT_MALFORMED);
}

/* --- members in the generations of the API --- */

TEST_WITH(test_intents, setup, teardown)
{
    struct intent_object intent;

    assert_int_equal(
        intent_read(parse("{\"id\": \"pi_1\", \"amount\": 2000, \"amount_received\": null, "
                          "\"latest_charge\": {\"id\": \"ch_1\", \"amount_refunded\": 5, "
                          "\"disputed\": true}, \"customer\": {\"id\": \"cus_1\"}, "
                          "\"last_payment_error\": {\"code\": \"card_declined\", \"decline_code\": "
                          "\"lost_card\", \"message\": \"no\", \"payment_method\": {\"id\": "
                          "\"pm_1\"}}, \"next_action\": {\"type\": \"redirect_to_url\"}}"),
                    &intent),
        0);
    assert_int_equal(intent.amount_minor, 2000);
    assert_int_equal(intent.amount_received_minor, 0);
    assert_int_equal(intent.amount_refunded_minor, 5);
    assert_true(intent.disputed);
    assert_str(intent.latest_charge, "ch_1");
    assert_str(intent.customer, "cus_1");
    assert_str(intent.payment_method, "pm_1");
    assert_str(intent.failure_code, "card_declined");
    assert_str(intent.decline_code, "lost_card");
    assert_str(intent.next_action_type, "redirect_to_url");
    /* An older intent lists its charges and has no latest_charge. */
    assert_int_equal(intent_read(parse("{\"id\": \"pi_1\", \"charges\": {\"data\": [{\"id\": "
                                       "\"ch_2\"}]}, \"last_payment_error\": {\"type\": \"t\"}}"),
                                 &intent),
                     0);
    assert_str(intent.latest_charge, "ch_2");
    assert_str(intent.failure_code, "t");
}

TEST_WITH(test_subscriptions, setup, teardown)
{
    static const char *const same[] = {
        /* acacia */
        "{\"id\": \"sub_1\", \"status\": \"active\", \"current_period_start\": 10, "
        "\"current_period_end\": 30, \"cancel_at_period_end\": true, \"items\": {\"data\": "
        "[{\"price\": {\"id\": \"price_1\", \"product\": \"prod_1\", \"currency\": \"usd\", "
        "\"unit_amount\": 5, \"recurring\": {\"interval\": \"month\", \"interval_count\": 2}}}]}}",
        /* basil: a period for each item; canceled by cancel_at */
        "{\"id\": \"sub_1\", \"status\": \"active\", \"cancel_at\": 30, \"items\": {\"data\": "
        "[{\"current_period_start\": 15, \"current_period_end\": 30, \"price\": {\"id\": "
        "\"price_1\", \"product\": {\"id\": \"prod_1\"}, \"currency\": \"usd\", \"unit_amount\": "
        "5, \"recurring\": {\"interval\": \"month\", \"interval_count\": 2}}}, "
        "{\"current_period_start\": 10, \"current_period_end\": 20}]}}",
        /* plans instead of prices */
        "{\"id\": \"sub_1\", \"status\": \"active\", \"current_period_start\": 10, "
        "\"current_period_end\": 30, \"cancel_at_period_end\": true, \"plan\": {\"id\": "
        "\"price_1\", \"product\": \"prod_1\", \"currency\": \"usd\", \"amount\": 5, \"interval\": "
        "\"month\", \"interval_count\": 2}}",
    };
    struct subscription_object subscription;

    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        assert_int_equal(subscription_read(parse(same[i]), &subscription), 0);
        assert_int_equal(subscription.period_start_ms, 10000);
        assert_int_equal(subscription.period_end_ms, 30000);
        assert_true(subscription.cancel_at_period_end);
        assert_str(subscription.price, "price_1");
        assert_str(subscription.product, "prod_1");
        assert_str(subscription.currency, "usd");
        assert_str(subscription.interval, "month");
        assert_int_equal(subscription.interval_count, 2);
        assert_int_equal(subscription.amount_minor, 5);
    }
}

#define LIST(items)                                                                                \
    "{\"id\": \"sub_1\", \"status\": \"active\", \"items\": {\"data\": [" items "]}}"
#define PRICE(amount, more)                                                                        \
    "\"price\": {\"id\": \"price_1\", \"currency\": \"usd\", \"unit_amount\": " amount             \
    ", \"recurring\": {\"interval\": \"month\", \"interval_count\": 1}" more "}"
#define YEARLY                                                                                     \
    "\"price\": {\"unit_amount\": 900, \"recurring\": {\"interval\": \"year\", "                   \
    "\"interval_count\": 1}}"
#define METERED                                                                                    \
    "\"price\": {\"unit_amount\": 7, \"recurring\": {\"interval\": \"month\", "                    \
    "\"interval_count\": 1, "                                                                      \
    "\"usage_type\": \"metered\"}}"

/* The amount of one period; -1: the object does not have it. */
TEST_WITH(test_amounts, setup, teardown)
{
    static const struct {
        const char *json;
        int64_t amount_minor;
    } cases[] = {
        {LIST("{" PRICE("10", "") "}"), 10},
        {LIST("{" PRICE("10", "") ", \"quantity\": 3}"), 30},
        {LIST("{" PRICE("10", "") ", \"quantity\": 0}"), 0},
        {LIST("{" PRICE("10", "") ", \"quantity\": null}"), 10},
        {LIST("{" PRICE("0", "") ", \"quantity\": 3}"), 0},
        {LIST("{" PRICE("0", "") ", \"plan\": {\"amount\": 5, \"interval\": \"month\"}}"), 0},
        {LIST("{" PRICE("null", "") "}"), -1},
        {LIST("{" PRICE("-1", "") "}"), -1},
        {LIST("{" PRICE("\"10\"", "") "}"), -1},
        {LIST("{" PRICE("10", "") ", \"quantity\": 2}, {" PRICE("5", "") ", \"quantity\": 3}"), 35},
        {LIST("{" PRICE("10", "") "}, {" PRICE("null", "") "}"), 10},
        {LIST("{" PRICE("10", "") "}, {" YEARLY "}"), 10},
        {LIST("{" PRICE("10", "") "}, {" METERED "}"), 10},
        {LIST("{" METERED "}"), -1},
        {LIST("{" PRICE(
             "10",
             ", \"transform_quantity\": {\"divide_by\": 5, \"round\": \"up\"}") ", \"quantity\": "
                                                                                "11}"),
         30},
        {LIST("{" PRICE(
             "10",
             ", \"transform_quantity\": {\"divide_by\": 5, \"round\": \"down\"}") ", \"quantity\": "
                                                                                  "11}"),
         20},
        {LIST("{" PRICE("1000000000000000", "") ", \"quantity\": 1000000000}"), -1},
        {LIST("{" PRICE("600000000000000", "") "}, {" PRICE("600000000000000", "") "}"), -1},
        {LIST("{\"plan\": {\"amount\": 0, \"interval\": \"month\"}}"), 0},
        {"{\"id\": \"sub_1\", \"plan\": {\"amount\": 0}}", 0},
        {"{\"id\": \"sub_1\"}", -1},
    };
    struct subscription_object subscription;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(subscription_read(parse(cases[i].json), &subscription), 0);
        int64_t amount_minor = subscription.has_amount ? subscription.amount_minor : -1;
        if (amount_minor != cases[i].amount_minor)
            fail_msg("%lld of %s", (long long)amount_minor, cases[i].json);
    }
}

TEST_WITH(test_invoices, setup, teardown)
{
    static const char *const same[] = {
        "{\"id\": \"in_1\", \"subscription\": \"sub_1\", \"payment_intent\": \"pi_1\", \"charge\": "
        "\"ch_1\", \"paid\": true, \"subscription_details\": {\"metadata\": {\"a\": \"b\"}}}",
        "{\"id\": \"in_1\", \"subscription\": {\"id\": \"sub_1\"}, \"payment_intent\": {\"id\": "
        "\"pi_1\"}, \"charge\": \"ch_1\", \"status\": \"paid\", \"subscription_details\": "
        "{\"metadata\": {\"a\": \"b\"}}}",
        "{\"id\": \"in_1\", \"status\": \"paid\", \"parent\": {\"type\": \"subscription_details\", "
        "\"subscription_details\": {\"subscription\": \"sub_1\", \"metadata\": {\"a\": \"b\"}}}, "
        "\"payments\": {\"data\": [{\"id\": \"inpay_0\", \"status\": \"canceled\", \"payment\": "
        "{\"payment_intent\": \"pi_0\"}}, {\"id\": \"inpay_1\", \"status\": \"paid\", \"payment\": "
        "{\"payment_intent\": \"pi_1\", \"charge\": \"ch_1\"}}]}}",
    };
    struct invoice_object invoice;

    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        assert_int_equal(invoice_read(parse(same[i]), &invoice), 0);
        assert_str(invoice.subscription, "sub_1");
        assert_str(invoice.payment_intent, "pi_1");
        assert_str(invoice.charge, "ch_1");
        assert_true(invoice.paid);
        assert_str(jr_str(invoice.metadata, "a"), "b");
    }
    assert_str(invoice.invoice_payment, "inpay_1");
    assert_int_equal(invoice_read(parse("{\"id\": \"in_1\", \"lines\": {\"data\": [{\"parent\": "
                                        "{\"subscription_item_details\": {\"subscription\": "
                                        "\"sub_2\"}}}]}}"),
                                  &invoice),
                     0);
    assert_str(invoice.subscription, "sub_2");
}

TEST_WITH(test_invoice_payments, setup, teardown)
{
    struct invoice_payment_object payment;

    assert_int_equal(
        invoice_payment_read(parse("{\"id\": \"inpay_1\", \"invoice\": {\"id\": \"in_1\"}, "
                                   "\"payment\": {\"payment_intent\": \"pi_1\"}, \"amount_paid\": "
                                   "7, \"status_transitions\": {\"paid_at\": 5}}"),
                             &payment),
        0);
    assert_str(payment.invoice, "in_1");
    assert_non_null(payment.invoice_object);
    assert_str(payment.payment_intent, "pi_1");
    assert_int_equal(payment.amount_paid_minor, 7);
    assert_int_equal(payment.paid_ms, 5000);
    assert_int_equal(invoice_payment_read(parse("{\"id\": \"inpay_1\", \"invoice\": \"in_1\", "
                                                "\"charge\": \"ch_1\", \"payment_intent\": null}"),
                                          &payment),
                     0);
    assert_null(payment.invoice_object);
    assert_null(payment.payment_intent.ptr);
    assert_str(payment.charge, "ch_1");
}

TEST_WITH(test_methods, setup, teardown)
{
    struct method_object method;

    assert_int_equal(method_read(parse("{\"id\": \"pm_1\", \"type\": \"us_bank_account\", "
                                       "\"us_bank_account\": {\"last4\": \"6789\", \"bank_name\": "
                                       "\"BANK\"}, \"billing_details\": {\"email\": \"a@b.c\"}}"),
                                 &method),
                     0);
    assert_str(method.last4, "6789");
    assert_str(method.brand, "BANK");
    assert_str(method.email, "a@b.c");
    assert_int_equal(method.exp_month, 0);
    assert_int_equal(method_read(parse("{\"id\": \"pm_1\", \"card\": {\"display_brand\": \"visa\", "
                                       "\"exp_month\": 13, \"exp_year\": 2030}}"),
                                 &method),
                     0);
    assert_str(method.brand, "visa");
    assert_int_equal(method.exp_month, 0); /* there is no such month */
    assert_int_equal(method.exp_year, 2030);
}

TEST_WITH(test_events, setup, teardown)
{
    struct event_object event;

    assert_int_equal(
        event_read(parse("{\"id\": \"evt_1\", \"object\": \"event\", \"type\": \"a.b\", "
                         "\"created\": 3, \"account\": \"acct_1\", \"request\": "
                         "\"req_1\", \"data\": {\"object\": {\"id\": \"x\"}, "
                         "\"previous_attributes\": {\"customer\": \"cus_1\"}}}"),
                   &event),
        0);
    assert_str(event.account, "acct_1");
    assert_int_equal(event.created_ms, 3000);
    assert_str(object_ref(event.previous_attributes, "customer"), "cus_1");
    assert_false(event.thin);
    assert_int_equal(
        event_read(parse("{\"id\": \"evt_1\", \"object\": \"v2.core.event\", \"type\": "
                         "\"a.b\"}"),
                   &event),
        0);
    assert_true(event.thin);
    assert_null(event.object);
    assert_int_equal(event_read(parse("{\"id\": \"evt_1\", \"object\": \"event\"}"), &event),
                     OBJECT_MALFORMED);
    assert_int_equal(
        event_read(parse("{\"id\": \"in_1\", \"object\": \"invoice\", \"type\": \"x\"}"), &event),
        OBJECT_MALFORMED);
}

/* --- the processor's own examples, when the file exists --- */

static json_t *fixtures(void)
{
    FILE *file = fopen(FIXTURES, "re");

    if (file == NULL)
        return NULL;
    char *text = arena_alloc(arena, FIXTURES_MAX);
    size_t len = fread(text, 1, FIXTURES_MAX - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    return json_object_get(parse(text), "sets");
}

static void check_generation(const json_t *set)
{
    struct subscription_object subscription;
    struct session_object session;
    struct invoice_object invoice;
    struct intent_object intent;
    struct charge_object charge;
    struct method_object method;
    struct account_object account;
    struct setup_object setup_intent;

    assert_int_equal(subscription_read(json_object_get(set, "subscription"), &subscription), 0);
    assert_true(subscription.period_start_ms > 0 && subscription.period_end_ms > 0);
    assert_true(subscription.customer.len > 0 && subscription.price.len > 0 &&
                subscription.product.len > 0 && subscription.currency.len > 0);
    assert_int_equal(subscription.amount_minor, 2000);
    assert_str(subscription.interval, "month");
    assert_int_equal(session_read(json_object_get(set, "checkout.session"), &session), 0);
    assert_str(session.customer_email, "example@example.com");
    assert_str(session.mode, "payment");
    assert_true(session.payment_intent.len > 0);
    assert_int_equal(invoice_read(json_object_get(set, "invoice"), &invoice), 0);
    assert_true(invoice.customer.len > 0);
    assert_false(invoice.paid);
    assert_int_equal(intent_read(json_object_get(set, "payment_intent"), &intent), 0);
    assert_int_equal(intent.amount_minor, 1099);
    assert_str(intent.status, "requires_payment_method");
    assert_int_equal(charge_read(json_object_get(set, "charge"), &charge), 0);
    assert_int_equal(charge.amount_minor, 100);
    assert_int_equal(method_read(json_object_get(set, "payment_method"), &method), 0);
    assert_str(method.brand, "visa");
    assert_str(method.last4, "4242");
    assert_int_equal(method.exp_month, 8);
    assert_int_equal(account_read(json_object_get(set, "account"), &account), 0);
    assert_str(account.country, "US");
    assert_non_null(account.requirements);
    assert_int_equal(setup_read(json_object_get(set, "setup_intent"), &setup_intent), 0);
    assert_str(setup_intent.status, "requires_payment_method");
}

TEST_WITH(test_fixtures, setup, teardown)
{
    json_t *sets = fixtures();
    const char *name;
    json_t *set;

    if (sets == NULL)
        skip();
    json_object_foreach(sets, name, set)
    {
        check_generation(set);
    }
}
