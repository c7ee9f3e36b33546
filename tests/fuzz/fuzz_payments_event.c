/*
 * Any JSON as an event, and its object as every kind of object of the processor: parsed values are
 * plausible, and applying the same object again does not change a row a second time.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "json/jr.h"
#include "payments/apply_attempt_private.h"
#include "payments/apply_subscription_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AMOUNT_MAX 1000000000000000LL
#define TIME_MAX   253402300799000LL

static struct project project = {.number = 1, .slug = STR_INIT("shop")};

static void check_amount(int64_t minor)
{
    MUST(minor >= 0 && minor <= AMOUNT_MAX);
}

static void check_time(int64_t ms)
{
    MUST(ms >= 0 && ms <= TIME_MAX && ms % 1000 == 0);
}

/* --- payments --- */

static void check_payment(struct arena *arena, const struct payment_facts *facts)
{
    struct payment_row row = {
        .id = 7,
        .status = "requires_payment_method",
        .type = STR("one_off"),
        .provider = STR("processor"),
        .currency = STR("usd"),
        .amount_minor = 2000,
        .disputes = STR("{}"),
    };

    for (int round = 0; round < 2; round++) {
        bool moved = payment_update(arena, &row, facts);
        MUST(round == 0 || !moved);
        MUST(payment_status(str_from(row.status)) != NULL);
        check_amount(row.amount_minor);
        check_amount(row.amount_refunded_minor);
    }
    /* A paid payment stays paid, although a refund may fail. */
    row.status = "refunded";
    row.amount_refunded_minor = AMOUNT_MAX;
    (void)payment_update(arena, &row, facts);
    MUST(payment_state_of(str_from(row.status))->rank == RANK_SUCCEEDED);
}

static void check_intent(struct apply_source *source, const json_t *json)
{
    static const char *const statuses[] = {NULL, "succeeded", "failed", "processing"};
    struct intent_object intent;
    struct payment_facts facts;

    if (intent_read(json, &intent) != 0)
        return;
    MUST(intent.id.len > 0);
    check_amount(intent.amount_minor);
    check_amount(intent.amount_refunded_minor);
    check_time(intent.created_ms);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (intent_facts(source, &intent, statuses[i], &facts) == 0)
            check_payment(source->task->arena, &facts);
}

static void check_money(struct apply_source *source, const json_t *json)
{
    struct session_object session;
    struct charge_object charge;
    struct dispute_object dispute;
    struct payment_facts facts;

    if (session_read(json, &session) == 0 && session_facts(source, &session, NULL, &facts) == 0)
        check_payment(source->task->arena, &facts);
    if (charge_read(json, &charge) == 0 && charge_facts(source, &charge, &facts) == 0)
        check_payment(source->task->arena, &facts);
    if (dispute_read(json, &dispute) == 0 && dispute_facts(source, &dispute, &facts) == 0)
        check_payment(source->task->arena, &facts);
}

/* --- subscriptions --- */

static void check_subscription(const struct apply_source *source, const json_t *json)
{
    struct subscription_object object;
    struct subscription_row row = {.id = 3, .status = "incomplete"};
    bool stands;

    if (subscription_read(json, &object) != 0)
        return;
    check_time(object.period_start_ms);
    check_time(object.period_end_ms);
    check_amount(object.amount_minor);
    struct subscription_facts facts = {
        .object = &object,
        .status = subscription_status(object.status),
        .at_ms = source->at_ms,
        .event_id = source->event_id,
        .event_type = source->event_type,
    };
    if (facts.status == NULL)
        return;
    facts.rank = subscription_rank(facts.event_type, facts.status);
    (void)subscription_update(&row, &facts, &stands);
    MUST(!subscription_update(&row, &facts, &stands) && (stands || facts.at_ms == 0));
    MUST(!subscription_in_doubt(&row, &facts));
}

static void check_others(const json_t *json)
{
    struct invoice_payment_object payment;
    struct invoice_object invoice;
    struct method_object method;
    struct setup_object setup;
    struct account_object account;

    if (invoice_payment_read(json, &payment) == 0)
        check_amount(payment.amount_paid_minor);
    if (invoice_read(json, &invoice) == 0)
        check_amount(invoice.amount_paid_minor);
    if (method_read(json, &method) == 0)
        MUST(method.exp_month >= 0 && method.exp_month <= 12 && method.exp_year >= 0 &&
             method.exp_year <= 9999);
    if (setup_read(json, &setup) == 0)
        MUST(setup.id.len > 0);
    if (account_read(json, &account) == 0)
        MUST(account.id.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct task task = {.arena = arena};
    struct event_object event = {.created_ms = 1760000000000};
    struct apply_source source = {.task = &task, .project = &project};
    struct jr_error error;
    json_t *json;

    if (jr_parse(arena, (struct str){(const char *)data, size}, &json, &error) == 0) {
        const json_t *object = json;
        if (event_read(json, &event) == 0) {
            MUST(event.id.len > 0 && event.type.len > 0);
            check_time(event.created_ms);
            (void)apply_event_is_known(event.type);
            object = event.object;
        }
        source.event_id = event.id;
        source.event_type = event.type;
        source.at_ms = event.created_ms;
        check_intent(&source, object);
        check_money(&source, object);
        check_subscription(&source, object);
        check_others(object);
    }
    arena_free(arena);
    return 0;
}
