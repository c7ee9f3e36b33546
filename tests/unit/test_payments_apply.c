/* Events of the processor, delivered in every order and twice, lead to one state, and each of
 * our events is emitted once. */
#include <unistd.h>

#include "unit.h"

#include "payments_apply.h"

#define OURS   "\"metadata\": {\"project_id\": \"shop\", \"payment_id\": \"7\"}"
#define OURS_3 "\"metadata\": {\"project_id\": \"shop\", \"subscription_id\": \"3\"}"
#define INTENT                                                                                     \
    "{\"id\": \"pi_1\", \"object\": \"payment_intent\", \"amount\": 2000, \"currency\": \"usd\", " \
    "\"customer\": \"cus_1\", "

static void expect(struct world_of_payments *world, const char *sql, const char *expected)
{
    struct str found = text(world, sql);

    if (!str_is(found, expected))
        fail_msg("%s: %.*s, not %s", sql, STR_ARG(found), expected);
}

static void begin_payment(struct world_of_payments *world)
{
    exec(world->task,
         &world->project->db,
         "insert into {p}.payments (id, type, amount_minor, currency, call_key, settle_at) values "
         "(7, 'one_off', 2000, 'usd', 'k', now())");
    exec(world->task,
         &world->project->db,
         "insert into {p}.payment_customers (subscriber_id, email, provider_id) values (5, "
         "'ann@example.com', 'cus_1')");
}

static void begin_session(struct world_of_payments *world)
{
    begin_payment(world);
    exec(world->task,
         &world->project->db,
         "update {p}.payments set session_id = 'cs_1' where id = 7");
}

static void begin_subscription(struct world_of_payments *world)
{
    exec(world->task,
         &world->project->db,
         "insert into {p}.subscription_plans (id, plan_name, name, amount_minor, currency, "
         "billing_interval, processor_price_id) values (4, 'gold', 'Gold', 2000, 'usd', 'month', "
         "'price_1')");
    exec(world->task,
         &world->project->db,
         "insert into {p}.subscriptions (id, plan_id, session_id, name) values (3, 4, 'cs_2', "
         "'Gold')");
    exec(world->task,
         &world->project->db,
         "insert into {p}.payment_customers (subscriber_id, email, provider_id) values (5, "
         "'ann@example.com', 'cus_1')");
}

/* --- payments --- */

static void refunded(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    const struct story story = {
        .begin = begin_payment,
        .count = 5,
        .once = "PaymentSucceeded",
        .events =
            {
                event(&world,
                      "evt_1",
                      "payment_intent.processing",
                      0,
                      INTENT "\"status\": \"processing\", " OURS "}"),
                event(&world,
                      "evt_2",
                      "payment_intent.payment_failed",
                      1,
                      INTENT "\"status\": \"requires_payment_method\", \"last_payment_error\": "
                             "{\"code\": \"card_declined\", \"message\": \"no\"}, " OURS "}"),
                event(&world,
                      "evt_3",
                      "payment_intent.succeeded",
                      2,
                      INTENT "\"status\": \"succeeded\", \"amount_received\": 2000, "
                             "\"latest_charge\": \"ch_1\", " OURS "}"),
                event(&world,
                      "evt_4",
                      "charge.refunded",
                      3,
                      "{\"id\": \"ch_1\", \"object\": \"charge\", \"payment_intent\": \"pi_1\", "
                      "\"amount_refunded\": 500, \"refunded\": false}"),
                event(&world,
                      "evt_5",
                      "charge.refunded",
                      4,
                      "{\"id\": \"ch_1\", \"object\": \"charge\", \"payment_intent\": \"pi_1\", "
                      "\"amount_refunded\": 2000, \"refunded\": true}"),
            },
    };
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', id, status, amount_refunded_minor, charge_id, subscriber_id, "
           "customer_email, failure_code, call_key, settle_at, reference, extract(epoch from "
           "paid_at)::bigint) from {p}.payments",
           "7 refunded 2000 ch_1 5 ann@example.com pi_1 1760000002");
    assert_int_equal(emitted(&world, "PaymentCreated"), 1);
    world_end(&world);
}

TEST(test_refunded)
{
    run(refunded);
}

/* One card is declined and another card is authorized. The payment can be captured, in whichever
 * order the events arrive. */
static void authorized(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    struct story story = {
        .begin = begin_payment,
        .count = 3,
        .events =
            {
                event(&world,
                      "evt_1",
                      "payment_intent.payment_failed",
                      0,
                      INTENT "\"status\": \"requires_payment_method\", \"last_payment_error\": "
                             "{\"code\": \"card_declined\", \"message\": \"no\"}, " OURS "}"),
                event(&world,
                      "evt_2",
                      "payment_intent.requires_action",
                      3,
                      INTENT "\"status\": \"requires_action\", " OURS "}"),
                event(&world,
                      "evt_3",
                      "payment_intent.amount_capturable_updated",
                      5,
                      INTENT "\"status\": \"requires_capture\", \"latest_charge\": \"ch_1\", " OURS
                             "}"),
                event(&world,
                      "evt_4",
                      "payment_intent.succeeded",
                      9,
                      INTENT "\"status\": \"succeeded\", \"amount_received\": 1500, "
                             "\"latest_charge\": \"ch_1\", " OURS "}"),
            },
    };
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', status, charge_id, failure_code, amount_minor) from {p}.payments",
           "requires_capture ch_1 2000");
    story.count = 4;
    story.once = "PaymentSucceeded";
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', status, charge_id, failure_code, amount_minor) from {p}.payments",
           "succeeded ch_1 1500");
    world_end(&world);
}

TEST(test_authorized)
{
    run(authorized);
}

static void disputed(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    struct story story = {
        .begin = begin_session,
        .count = 5,
        .once = "PaymentSucceeded",
        .events =
            {
                event(&world,
                      "evt_1",
                      "payment_intent.requires_action",
                      0,
                      INTENT "\"status\": \"requires_action\", " OURS "}"),
                event(&world,
                      "evt_2",
                      "checkout.session.completed",
                      3,
                      "{\"id\": \"cs_1\", \"object\": \"checkout.session\", \"mode\": \"payment\", "
                      "\"payment_status\": \"paid\", \"status\": \"complete\", \"payment_intent\": "
                      "\"pi_1\", \"customer_details\": {\"email\": \"typed@example.com\"}, " OURS
                      "}"),
                event(&world,
                      "evt_3",
                      "payment_intent.succeeded",
                      2,
                      INTENT "\"status\": \"succeeded\", \"receipt_email\": \"r@example.com\", "
                             "\"latest_charge\": {\"id\": \"ch_1\"}, " OURS "}"),
                event(&world,
                      "evt_4",
                      "charge.dispute.created",
                      9,
                      "{\"id\": \"du_1\", \"object\": \"dispute\", \"payment_intent\": \"pi_1\", "
                      "\"status\": \"needs_response\"}"),
                event(&world,
                      "evt_5",
                      "charge.dispute.closed",
                      90,
                      "{\"id\": \"du_1\", \"object\": \"dispute\", \"payment_intent\": \"pi_1\", "
                      "\"status\": \"won\"}"),
            },
    };
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', status, customer_email, charge_id, extract(epoch from "
           "paid_at)::bigint) from {p}.payments",
           "succeeded typed@example.com ch_1 1760000002");
    story.events[4] =
        event(&world,
              "evt_5",
              "charge.dispute.closed",
              90,
              "{\"id\": \"du_1\", \"object\": \"dispute\", \"payment_intent\": \"pi_1\", "
              "\"status\": \"lost\"}");
    (void)check_orders(&world, &story);
    expect(&world, "select status from {p}.payments", "disputed");
    world_end(&world);
}

TEST(test_disputed)
{
    run(disputed);
}

/* A checkout that expires unpaid, and a checkout whose payment method takes days and then fails. */
static void abandoned(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    const struct story expired = {
        .begin = begin_session,
        .count = 3,
        .events =
            {
                event(&world,
                      "evt_1",
                      "payment_intent.payment_failed",
                      0,
                      INTENT "\"last_payment_error\": {\"code\": \"a\", \"message\": \"b\"}, " OURS
                             "}"),
                event(&world,
                      "evt_2",
                      "payment_intent.payment_failed",
                      0,
                      INTENT "\"last_payment_error\": {\"code\": \"c\", \"message\": \"d\"}, " OURS
                             "}"),
                event(&world,
                      "evt_3",
                      "checkout.session.expired",
                      9,
                      "{\"id\": \"cs_1\", \"object\": \"checkout.session\"}"),
            },
    };
    (void)check_orders(&world, &expired);
    expect(&world, "select status from {p}.payments", "canceled");
    const struct story slow = {
        .begin = begin_session,
        .count = 4,
        .once = "PaymentFailed",
        .events =
            {
                event(&world,
                      "evt_1",
                      "checkout.session.completed",
                      0,
                      "{\"id\": \"cs_1\", \"object\": \"checkout.session\", \"mode\": \"payment\", "
                      "\"payment_status\": \"unpaid\", \"payment_intent\": \"pi_1\"}"),
                event(&world,
                      "evt_2",
                      "payment_intent.processing",
                      0,
                      INTENT "\"status\": \"processing\", " OURS "}"),
                event(&world,
                      "evt_3",
                      "checkout.session.async_payment_failed",
                      100,
                      "{\"id\": \"cs_1\", \"object\": \"checkout.session\", \"mode\": \"payment\", "
                      "\"payment_status\": \"unpaid\", \"payment_intent\": \"pi_1\"}"),
                event(&world,
                      "evt_4",
                      "payment_intent.payment_failed",
                      100,
                      INTENT "\"last_payment_error\": {\"code\": \"x\", \"message\": \"y\"}, " OURS
                             "}"),
            },
    };
    (void)check_orders(&world, &slow);
    expect(&world, "select status || failure_code from {p}.payments", "failedx");
    world_end(&world);
}

TEST(test_abandoned)
{
    run(abandoned);
}

/* --- subscriptions --- */

#define SUBSCRIPTION(status, end)                                                                  \
    "{\"id\": \"sub_1\", \"object\": \"subscription\", \"status\": \"" status                      \
    "\", \"customer\": \"cus_1\", \"items\": {\"data\": [{\"current_period_start\": 1760000000, "  \
    "\"current_period_end\": " #end ", \"price\": {\"id\": \"price_1\", \"unit_amount\": 2000, "   \
    "\"currency\": \"usd\", \"recurring\": {\"interval\": \"month\", \"interval_count\": 1}}}]}, "

/* Three events report the same charge of a subscription. */
static void subscribed(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    const struct story story = {
        .begin = begin_subscription,
        .count = 6,
        .once = "PaymentSucceeded",
        .events =
            {
                event(&world,
                      "evt_1",
                      "customer.subscription.created",
                      0,
                      SUBSCRIPTION("incomplete", 1762592000) OURS_3 "}"),
                event(&world,
                      "evt_2",
                      "payment_intent.succeeded",
                      1,
                      INTENT "\"status\": \"succeeded\", \"latest_charge\": \"ch_1\"}"),
                event(&world,
                      "evt_3",
                      "customer.subscription.updated",
                      0,
                      SUBSCRIPTION("active", 1762592000) OURS_3 "}"),
                event(&world,
                      "evt_4",
                      "invoice_payment.paid",
                      2,
                      "{\"id\": \"inpay_1\", \"object\": \"invoice_payment\", \"amount_paid\": "
                      "2000, \"currency\": \"usd\", \"payment\": {\"type\": \"payment_intent\", "
                      "\"payment_intent\": \"pi_1\"}, \"status_transitions\": {\"paid_at\": "
                      "1760000001}, \"invoice\": {\"id\": \"in_1\", \"object\": \"invoice\", "
                      "\"customer\": \"cus_1\", \"customer_email\": \"ann@example.com\", "
                      "\"parent\": {\"subscription_details\": {\"subscription\": \"sub_1\", " OURS_3
                      "}}}}"),
                event(&world,
                      "evt_5",
                      "checkout.session.completed",
                      2,
                      "{\"id\": \"cs_2\", \"object\": \"checkout.session\", \"mode\": "
                      "\"subscription\", \"payment_status\": \"paid\", \"subscription\": "
                      "\"sub_1\", \"customer\": \"cus_1\"}"),
                event(&world,
                      "evt_6",
                      "charge.refunded",
                      50,
                      "{\"id\": \"ch_1\", \"object\": \"charge\", \"payment_intent\": \"pi_1\", "
                      "\"amount_refunded\": 100}"),
            },
    };
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', count(*), max(id), max(status), max(provider_subscription_id), "
           "max(subscriber_id), max(plan_id)) from {p}.subscriptions",
           "1 3 active sub_1 5 4");
    expect(&world,
           "select concat_ws(' ', type, status, reference, invoice_payment_id, charge_id, "
           "description, subscription_id, subscriber_id, amount_refunded_minor) from {p}.payments",
           "recurring partially_refunded pi_1 inpay_1 ch_1 Gold 3 5 100");
    expect(&world,
           "select string_agg(concat_ws('>', from_status, to_status), ' ' order by at, id) from "
           "{p}.subscription_history where event_id = 'evt_3'",
           "incomplete>active");
    assert_int_equal(emitted(&world, "SubscriptionActivated"), 1);
    assert_int_equal(emitted(&world, "SubscriptionCreated"), 1);
    assert_int_equal(emitted(&world, "PaymentCreated"), 1);
    world_end(&world);
}

TEST(test_subscribed)
{
    run(subscribed);
}

/* A subscription that was created elsewhere in the processor's account. A renewal fails and is
 * paid later, then the subscription ends. */
static void elsewhere(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    const struct story story = {
        .count = 5,
        .once = "SubscriptionExpired",
        .events =
            {
                event(&world,
                      "evt_1",
                      "customer.subscription.created",
                      0,
                      SUBSCRIPTION("active", 1762592000) "\"ended_at\": null}"),
                event(&world,
                      "evt_2",
                      "customer.subscription.updated",
                      60,
                      SUBSCRIPTION("past_due", 1765184000) "\"ended_at\": null}"),
                event(&world,
                      "evt_3",
                      "customer.subscription.updated",
                      60,
                      SUBSCRIPTION("active", 1765184000) "\"cancel_at_period_end\": true}"),
                event(&world,
                      "evt_4",
                      "customer.subscription.deleted",
                      90,
                      SUBSCRIPTION("canceled", 1765184000) "\"ended_at\": 1760000090}"),
                event(&world,
                      "evt_5",
                      "invoice.paid",
                      61,
                      "{\"id\": \"in_1\", \"object\": \"invoice\", \"subscription\": \"sub_1\", "
                      "\"payment_intent\": \"pi_9\", \"amount_paid\": 2000, \"currency\": \"usd\", "
                      "\"customer\": \"cus_1\", \"status\": \"paid\"}"),
            },
    };
    (void)check_orders(&world, &story);
    assert_true(world.again > 0);
    expect(&world,
           "select concat_ws(' ', status, cancel_at_period_end, extract(epoch from "
           "ended_at)::bigint) from {p}.subscriptions",
           "canceled f 1760000090");
    expect(&world, "select concat_ws(' ', type, reference) from {p}.payments", "recurring pi_9");
    /* A subscription that has ended does not become active again, even after a later event. */
    struct str late = event(&world,
                            "evt_9",
                            "customer.subscription.updated",
                            99,
                            SUBSCRIPTION("active", 1765184000) "\"ended_at\": null}");
    assert_int_equal(deliver(&world, late), 0);
    expect(&world, "select status from {p}.subscriptions", "canceled");
    struct story open = story;
    open.events[3] = story.events[4];
    open.count = 4;
    open.once = "SubscriptionActivated";
    (void)check_orders(&world, &open);
    /* Both updates are of the same second and the processor cannot be read, so the rank of their
     * states decides. */
    expect(&world, "select status from {p}.subscriptions", "past_due");
    world_end(&world);
}

TEST(test_elsewhere)
{
    run(elsewhere);
}

/* --- methods --- */

#define METHOD                                                                                     \
    "{\"id\": \"pm_1\", \"object\": \"payment_method\", \"type\": \"card\", \"card\": "            \
    "{\"brand\": "                                                                                 \
    "\"visa\", \"last4\": \"4242\", \"exp_month\": 8, \"exp_year\": 2030}, "
#define SETUP "{\"id\": \"seti_1\", \"object\": \"setup_intent\", \"customer\": \"cus_1\", "

static void saved(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    struct story story = {
        .begin = begin_payment,
        .count = 4,
        .once = "PaymentMethodRemoved",
        .events =
            {
                event(&world,
                      "evt_1",
                      "setup_intent.setup_failed",
                      0,
                      SETUP "\"last_setup_error\": {\"code\": \"card_declined\", \"message\": "
                            "\"no\"}}"),
                event(&world,
                      "evt_2",
                      "setup_intent.succeeded",
                      5,
                      SETUP "\"payment_method\": \"pm_1\"}"),
                event(&world,
                      "evt_3",
                      "payment_method.attached",
                      5,
                      METHOD "\"customer\": \"cus_1\"}"),
                event(&world, "evt_4", "payment_method.detached", 9, METHOD "\"customer\": null}"),
            },
    };
    (void)check_orders(&world, &story);
    expect(&world,
           "select concat_ws(' ', count(*), max(status), max(setup_id), max(brand), max(exp_year), "
           "max(subscriber_id)) from {p}.payment_methods",
           "1 detached seti_1 visa 2030 5");
    story.count = 3;
    story.once = "PaymentMethodCaptured";
    (void)check_orders(&world, &story);
    expect(&world, "select status from {p}.payment_methods", "active");
    story.events[1] = story.events[2];
    story.count = 2;
    story.once = "PaymentMethodCaptureFailed";
    (void)check_orders(&world, &story);
    expect(&world, "select count(*) from {p}.payment_methods", "2");
    world_end(&world);
}

TEST(test_saved)
{
    run(saved);
}

/* --- which project an object belongs to --- */

static int refusal(struct world_of_payments *world, struct str event)
{
    struct applied applied = {.waits = false};

    return deliver_one(world, event, &applied);
}

static void foreign(struct task *task, struct directory *one, struct directory *two)
{
    static const char theirs[] =
        "\"metadata\": {\"project_id\": \"other\", \"payment_id\": \"7\"}}";
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    begin_payment(&world);
    assert_int_equal(refusal(&world,
                             event(&world,
                                   "evt_1",
                                   "payment_intent.succeeded",
                                   0,
                                   INTENT "\"status\": \"succeeded\", %s",
                                   theirs)),
                     APPLY_OTHER_PROJECT);
    assert_int_equal(refusal(&world,
                             event(&world,
                                   "evt_2",
                                   "customer.subscription.deleted",
                                   0,
                                   SUBSCRIPTION("canceled", 1) "%s",
                                   theirs)),
                     APPLY_OTHER_PROJECT);
    assert_int_equal(refusal(&world, event(&world, "evt_3", "payment_intent.succeeded", 0, "{}")),
                     APPLY_MALFORMED);
    assert_int_equal(refusal(&world, event(&world, "evt_4", "plan.created", 0, "{}")),
                     APPLY_UNSUPPORTED);
    assert_int_equal(refusal(&world,
                             event(&world,
                                   "evt_5",
                                   "account.updated",
                                   0,
                                   "{\"id\": \"acct_1\", \"object\": \"account\"}")),
                     APPLY_OTHER_PROJECT);
    /* An event of the platform's own account belongs to this project only when its metadata says
     * so. */
    world.settings.processor.mode = PROCESSOR_CONNECT;
    world.settings.processor.account = STR("acct_1");
    assert_int_equal(refusal(&world,
                             event(&world,
                                   "evt_8",
                                   "customer.subscription.created",
                                   0,
                                   SUBSCRIPTION("active", 1762592000) "\"ended_at\": null}")),
                     APPLY_OTHER_PROJECT);
    expect(&world, "select count(*) from {p}.subscriptions", "0");
    world.settings.processor.account = STR_NONE;
    expect(&world, "select status from {p}.payments", "requires_payment_method");
    /* The event is about an unknown payment: the event waits, and no payment is created. */
    assert_int_equal(deliver(&world,
                             event(&world,
                                   "evt_6",
                                   "payment_intent.succeeded",
                                   0,
                                   "{\"id\": \"pi_5\", \"amount\": 100, \"currency\": \"usd\"}")),
                     0);
    expect(&world, "select count(*) from {p}.payments", "1");
    expect(&world,
           "select object from {p}.webhook_events where event_id = 'evt_6'",
           "payment_intent:pi_5");
    /* The metadata names this project, but the payment's row is lost: the row is created again. */
    assert_int_equal(deliver(&world,
                             event(&world,
                                   "evt_7",
                                   "payment_intent.succeeded",
                                   0,
                                   "{\"id\": \"pi_6\", \"amount\": 100, \"currency\": \"usd\", "
                                   "\"metadata\": {\"project_id\": \"shop\", \"payment_id\": "
                                   "\"99\", \"note\": \"x\"}}")),
                     0);
    expect(&world,
           "select concat_ws(' ', type, status, metadata ->> 'note') from {p}.payments where "
           "intent_id = 'pi_6'",
           "one_off succeeded x");
    world_end(&world);
}

TEST(test_foreign)
{
    run(foreign);
}

/* --- the account --- */

static void account(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;

    (void)two;
    world_begin(&world, task, one, "shop");
    exec(task,
         &world.project->db,
         "insert into {p}.settings (kind, key, doc) values ('payments', 'processor', '{\"mode\": "
         "\"connect\", \"account\": \"acct_1\", \"country\": \"US\"}')");
    struct str closed = event(&world,
                              "evt_1",
                              "account.updated",
                              5,
                              "{\"id\": \"acct_1\", \"object\": \"account\", \"charges_enabled\": "
                              "false, \"requirements\": {\"currently_due\": [\"x\"]}}");
    struct str opened = event(&world,
                              "evt_2",
                              "account.updated",
                              6,
                              "{\"id\": \"acct_1\", \"charges_enabled\": true, "
                              "\"payouts_enabled\": true, \"details_submitted\": true}");
    const char *shown =
        "select concat_ws(' ', doc ->> 'charges_enabled', doc ->> 'mode', doc ->> "
        "'country', doc -> 'requirements') from {p}.settings where kind = 'payments'";
    struct applied applied;

    assert_int_equal(deliver_one(&world, closed, &applied), 0);
    assert_true(applied.touches_project);
    expect(&world, shown, "false connect US {\"currently_due\": [\"x\"]}");
    assert_int_equal(deliver_one(&world, opened, &applied), 0);
    expect(&world, shown, "true connect US null");
    assert_int_equal(deliver_one(&world, closed, &applied), 0);
    assert_false(applied.touches_project);
    expect(&world, shown, "true connect US null");
    world_end(&world);
}

TEST(test_account)
{
    run(account);
}

/* --- answers, applied in the caller's transaction --- */

static void answered(struct task *task, struct directory *one, struct directory *two)
{
    struct world_of_payments world;
    struct intent_object intent;
    struct applied applied;
    struct jr_error error;
    json_t *json;
    struct db *tx;

    (void)two;
    world_begin(&world, task, one, "shop");
    begin_payment(&world);
    struct apply_source source = {.task = task, .project = world.project, .at_ms = AT * 1000 + 700};
    struct str body = STR(INTENT "\"status\": \"requires_payment_method\", \"last_payment_error\": "
                                 "{\"code\": \"card_declined\", \"message\": \"no\"}, " OURS "}");
    assert_int_equal(jr_parse(task->arena, body, &json, &error), 0);
    assert_int_equal(intent_read(json, &intent), 0);
    assert_int_equal(db_begin(task, &world.project->db, &tx), 0);
    assert_int_equal(apply_intent(&source, tx, &intent, &applied), 0);
    assert_true(applied.emitted);
    assert_int_equal(db_commit(task, tx), 0);
    expect(&world,
           "select concat_ws(' ', status, failure_code) from {p}.payments",
           "failed card_declined");
    assert_int_equal(emitted(&world, "PaymentFailed"), 1);
    assert_int_equal(emitted(&world, "PaymentCreated"), 1);
    expect(&world,
           "select concat_ws(' ', payload ->> 'id', payload ->> 'amount', payload ->> "
           "'amount_minor', payload ->> 'status', record_id, entity_id, pending) from {p}.outbox "
           "where event = 'PaymentFailed'",
           "7 20 2000 failed 0 0 1");
    world_end(&world);
}

TEST(test_answered)
{
    run(answered);
}
