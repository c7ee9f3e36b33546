/* Applies invoices that were paid, or whose payment failed, as payments of their subscription. */
#include "payments/apply_invoice_private.h"

#include "apply_sql.h"
#include "payments/apply_payment_private.h"
#include "payments/apply_subscription_private.h"

/* Values that the payment copies from its subscription. */
struct invoice_subscription {
    int64_t id, subscriber_id;
    struct str name, email;
};

static void invoice_subscription_pick(const struct rows *rows,
                                      struct str provider_id,
                                      struct invoice_subscription *owner)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_apply_invoice_subscription_row from =
            sql_apply_invoice_subscription_row(rows, i);
        struct str has = from.provider_subscription_id;
        bool same = str_eq(has, provider_id);
        if (!same && (has.len > 0 || owner->id != 0))
            continue;
        *owner = (struct invoice_subscription){
            .id = from.id,
            .subscriber_id = from.subscriber_id.value,
            .name = from.name,
            .email = from.customer_email,
        };
    }
}

AWAITS static int invoice_subscription_lookup(struct apply_source *source,
                                              struct db *tx,
                                              const struct invoice_object *invoice,
                                              struct invoice_subscription *owner)
{
    struct rows rows;
    bool ours;
    bool other_project;
    int64_t id = metadata_id(source, invoice->metadata, "subscription_id", &ours, &other_project);

    if (other_project)
        return APPLY_OTHER_PROJECT;
    TRY(db_query(
        source->task,
        tx,
        SQL_APPLY_INVOICE_SUBSCRIPTION(.provider_subscription_id = key_str(invoice->subscription),
                                       .id = id),
        &rows));
    invoice_subscription_pick(&rows, invoice->subscription, owner);
    return 0;
}

/* Creates the row of the fetched subscription as if an answer had brought it. Without a fetched
 * subscription, requests one (plan->needs_reading). */
AWAITS static int invoice_subscription_create(struct apply_source *source,
                                              struct db *tx,
                                              struct apply_plan *plan,
                                              struct applied *applied)
{
    struct apply_source reading = *source;
    struct subscription_object subscription;

    if (plan == NULL || subscription_read(plan->fetched_subscription, &subscription) != 0) {
        if (plan != NULL && !plan->reading_tried && processor_can_be_read(source))
            plan->needs_reading = true;
        return APPLY_LATER;
    }
    reading.event_id = STR_NONE;
    reading.event_type = STR_NONE;
    reading.at_ms = plan->fetched_ms;
    TRY(subscription_apply(&reading, tx, &subscription, NULL, applied, NULL));
    return applied_write(source, tx, applied);
}

AWAITS static int invoice_subscription_find(struct apply_source *source,
                                            struct db *tx,
                                            const struct invoice_object *invoice,
                                            struct apply_plan *plan,
                                            struct applied *applied,
                                            struct invoice_subscription *ret_owner)
{
    *ret_owner = (struct invoice_subscription){.id = 0};
    TRY(invoice_subscription_lookup(source, tx, invoice, ret_owner));
    if (ret_owner->id != 0)
        return 0;
    TRY(invoice_subscription_create(source, tx, plan, applied));
    TRY(invoice_subscription_lookup(source, tx, invoice, ret_owner));
    return ret_owner->id != 0 ? 0 : APPLY_LATER;
}

/* Adds the values of the invoice and of the subscription to the facts, then applies them. */
AWAITS static int charge_apply(struct apply_source *source,
                               struct db *tx,
                               const struct invoice_object *invoice,
                               struct apply_plan *plan,
                               struct payment_facts *facts,
                               struct applied *applied)
{
    struct invoice_subscription owner;

    facts->customer = invoice->customer;
    facts->type = "recurring";
    if (facts->amount_minor == 0) {
        applied_set_effect(source, applied, "nothing: the invoice has no amount to pay");
        return 0;
    }
    if (facts->currency.len == 0 ||
        (facts->intent_id.len == 0 && facts->invoice_payment_id.len == 0))
        return APPLY_MALFORMED;
    TRY(invoice_subscription_find(source, tx, invoice, plan, applied, &owner));
    facts->subscription_id = owner.id;
    facts->subscriber_id = owner.subscriber_id;
    facts->description = owner.name;
    facts->customer_email = invoice->customer_email.len > 0 ? invoice->customer_email : owner.email;
    return payment_apply(source, tx, facts, applied);
}

int invoice_payment_apply(struct apply_source *source,
                          struct db *tx,
                          const struct invoice_payment_object *payment,
                          const struct invoice_object *invoice,
                          struct apply_plan *plan,
                          struct applied *applied)
{
    if (invoice->subscription.len == 0) {
        applied_set_effect(
            source, applied, "nothing: the invoice does not belong to a subscription");
        return 0;
    }
    struct payment_facts facts = {
        .intent_id = payment->payment_intent,
        .invoice_payment_id = payment->id,
        .status = "succeeded",
        .currency = payment->currency.len > 0 ? payment->currency : invoice->currency,
        .amount_minor = payment->amount_paid_minor != 0 ? payment->amount_paid_minor
                                                        : invoice->amount_paid_minor,
        .paid_ms = payment->paid_ms != 0 ? payment->paid_ms : source->at_ms,
    };
    return charge_apply(source, tx, invoice, plan, &facts, applied);
}

int invoice_paid_apply(struct apply_source *source,
                       struct db *tx,
                       const struct invoice_object *invoice,
                       struct apply_plan *plan,
                       struct applied *applied)
{
    const struct invoice_payment_object payment = {
        .id = invoice->invoice_payment,
        .invoice = invoice->id,
        .payment_intent = invoice->payment_intent,
        .charge = invoice->charge,
        .currency = invoice->currency,
    };

    if (payment.id.len == 0 && payment.payment_intent.len == 0) {
        applied_set_effect(source, applied, "nothing: the invoice names no payment");
        return 0;
    }
    return invoice_payment_apply(source, tx, &payment, invoice, plan, applied);
}

int invoice_failed_apply(struct apply_source *source,
                         struct db *tx,
                         const struct invoice_object *invoice,
                         struct apply_plan *plan,
                         struct applied *applied)
{
    struct intent_object intent = {.id = invoice->payment_intent};

    if (invoice->subscription.len == 0) {
        applied_set_effect(
            source, applied, "nothing: the invoice does not belong to a subscription");
        return 0;
    }
    if (plan != NULL && plan->reading_tried && plan->fetched_subscription == NULL) {
        applied_set_effect(
            source, applied, "nothing: the processor does not have the invoice's subscription");
        return 0;
    }
    if (invoice->invoice_payment.len == 0 && intent.id.len == 0) {
        applied_set_effect(source, applied, "nothing: the invoice names no payment");
        return 0;
    }
    if (invoice->intent_object != NULL && intent_read(invoice->intent_object, &intent) != 0)
        return APPLY_MALFORMED;
    struct payment_facts facts = {
        .intent_id = intent.id,
        .invoice_payment_id = invoice->invoice_payment,
        .status = "failed",
        .currency = invoice->currency,
        .amount_minor = invoice->amount_due_minor,
        .charge_id = intent.latest_charge,
        .failure_code = intent.failure_code,
        .failure_message = intent.failure_message,
    };
    return charge_apply(source, tx, invoice, plan, &facts, applied);
}
