/* Events of the processor: which objects each needs, and how it is applied. */
#include "payments/apply.h"

#include "base/clock.h"
#include "json/jr.h"
#include "payments/apply_invoice_private.h"
#include "payments/apply_method_private.h"
#include "payments/apply_payment_private.h"
#include "payments/apply_subscription_private.h"
#include "payments/form.h"
#include "payments/processor.h"

enum event_object_kind {
    ABOUT_SESSION,
    ABOUT_INTENT,
    ABOUT_CHARGE,
    ABOUT_REFUND,
    ABOUT_DISPUTE,
    ABOUT_SUBSCRIPTION,
    ABOUT_INVOICE_PAYMENT,
    ABOUT_INVOICE,
    ABOUT_SETUP_FAILED,
    ABOUT_SETUP_SUCCEEDED,
    ABOUT_ATTACHED,
    ABOUT_DETACHED,
    ABOUT_ACCOUNT,
};

/* Types of events, and the status that a type means, in every API generation of its object. */
static const struct event_rule {
    const char *type;
    enum event_object_kind object_kind;
    const char *status; /* NULL = the object's own */
} kinds[] = {
    {"checkout.session.completed", ABOUT_SESSION, NULL},
    {"checkout.session.expired", ABOUT_SESSION, "canceled"},
    {"checkout.session.async_payment_succeeded", ABOUT_SESSION, "succeeded"},
    {"checkout.session.async_payment_failed", ABOUT_SESSION, "failed"},
    {"payment_intent.succeeded", ABOUT_INTENT, "succeeded"},
    {"payment_intent.payment_failed", ABOUT_INTENT, "failed"},
    {"payment_intent.canceled", ABOUT_INTENT, "canceled"},
    {"payment_intent.processing", ABOUT_INTENT, "processing"},
    {"payment_intent.requires_action", ABOUT_INTENT, "requires_action"},
    {"payment_intent.amount_capturable_updated", ABOUT_INTENT, NULL},
    {"charge.refunded", ABOUT_CHARGE, NULL},
    {"charge.updated", ABOUT_CHARGE, NULL},
    {"charge.refund.updated", ABOUT_REFUND, NULL},
    {"refund.updated", ABOUT_REFUND, NULL},
    {"refund.failed", ABOUT_REFUND, NULL},
    {"charge.dispute.created", ABOUT_DISPUTE, NULL},
    {"charge.dispute.closed", ABOUT_DISPUTE, NULL},
    {"customer.subscription.created", ABOUT_SUBSCRIPTION, NULL},
    {"customer.subscription.updated", ABOUT_SUBSCRIPTION, NULL},
    {"customer.subscription.deleted", ABOUT_SUBSCRIPTION, NULL},
    {"customer.subscription.paused", ABOUT_SUBSCRIPTION, NULL},
    {"customer.subscription.resumed", ABOUT_SUBSCRIPTION, NULL},
    {"customer.subscription.trial_will_end", ABOUT_SUBSCRIPTION, NULL},
    {"invoice_payment.paid", ABOUT_INVOICE_PAYMENT, NULL},
    {"invoice.paid", ABOUT_INVOICE, NULL},
    {"invoice.payment_succeeded", ABOUT_INVOICE, NULL},
    {"invoice.payment_failed", ABOUT_INVOICE, "failed"},
    {"setup_intent.setup_failed", ABOUT_SETUP_FAILED, NULL},
    {"setup_intent.succeeded", ABOUT_SETUP_SUCCEEDED, NULL},
    {"payment_method.attached", ABOUT_ATTACHED, NULL},
    {"payment_method.detached", ABOUT_DETACHED, NULL},
    {"account.updated", ABOUT_ACCOUNT, NULL},
};

static const struct event_rule *apply_event_kind_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(type, kinds[i].type))
            return &kinds[i];
    return NULL;
}

bool apply_event_is_known(struct str type)
{
    return apply_event_kind_of(type) != NULL;
}

/* --- fetching --- */

/* Fetches an object. *ret_json stays NULL when the processor does not have the object. */
AWAITS static int processor_object_fetch(struct apply_source *source,
                                         const char *head,
                                         struct str id,
                                         struct str form,
                                         const json_t **ret_json)
{
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(source->task->arena, head, id, ""),
        .form = form,
    };
    struct processor_reply reply;

    if (!processor_can_be_read(source))
        return APPLY_LATER;
    int rc = processor_call(source->task, source->settings, &request, &reply);
    if (rc == 0)
        *ret_json = reply.body;
    if (rc == PROCESSOR_NOT_FOUND)
        return 0;
    return rc > 0 ? APPLY_LATER : rc;
}

AWAITS static int invoice_fetch(struct apply_source *source, struct str id, const json_t **ret_json)
{
    struct form form;

    form_init(&form, source->task->arena);
    form_str(&form, "expand[0]", STR(INVOICE_EXPAND));
    TRY(processor_object_fetch(source, "/v1/invoices", id, form_text(&form), ret_json));
    return *ret_json != NULL ? 0 : APPLY_MALFORMED;
}

AWAITS static int invoice_payment_prepare(struct apply_source *source, struct apply_plan *plan)
{
    struct invoice_payment_object payment;

    if (invoice_payment_read(plan->event.object, &payment) != 0 || payment.invoice.len == 0)
        return APPLY_MALFORMED;
    plan->fetched = payment.invoice_object;
    return plan->fetched != NULL ? 0 : invoice_fetch(source, payment.invoice, &plan->fetched);
}

/* An invoice that names neither intent nor payment is of an API generation that has payments as
 * separate objects: fetches it with its payments. For a failed invoice the intent is needed too:
 * only the intent says why the payment failed. */
AWAITS static int invoice_prepare(struct apply_source *source, struct apply_plan *plan, bool failed)
{
    struct invoice_object invoice;

    if (invoice_read(plan->event.object, &invoice) != 0)
        return APPLY_MALFORMED;
    plan->fetched = plan->event.object;
    int64_t amount_minor = failed ? invoice.amount_due_minor : invoice.amount_paid_minor;
    bool named = invoice.payment_intent.len > 0 || invoice.invoice_payment.len > 0;
    bool known =
        named && (!failed || invoice.intent_object != NULL || !processor_can_be_read(source));
    if (known || amount_minor == 0 || invoice.subscription.len == 0)
        return 0;
    return invoice_fetch(source, invoice.id, &plan->fetched);
}

AWAITS static int subscription_fetch(struct apply_source *source,
                                     struct apply_plan *plan,
                                     struct str id,
                                     const json_t **ret_json)
{
    plan->needs_reading = false;
    plan->reading_tried = true;
    plan->fetched_ms = clock_wall_ms();
    return processor_object_fetch(source, "/v1/subscriptions", id, STR_NONE, ret_json);
}

/* If the processor cannot be queried, the event is applied without a reading, and the timer fetches
 * the intent later. */
AWAITS static int payment_fetch(struct apply_source *source, struct apply_plan *plan, struct str id)
{
    plan->needs_reading = false;
    plan->reading_tried = true;
    plan->fetched_ms = clock_wall_ms();
    int rc = processor_object_fetch(
        source, "/v1/payment_intents", id, STR("expand[0]=latest_charge"), &plan->fetched);
    return rc < 0 ? rc : 0;
}

AWAITS static int
plan_fetch(struct apply_source *source, struct apply_plan *plan, enum event_object_kind about)
{
    struct subscription_object subscription;
    struct invoice_object invoice;

    if (about == ABOUT_INTENT)
        return payment_fetch(source, plan, jr_str(plan->event.object, "id"));
    if (about == ABOUT_CHARGE || about == ABOUT_REFUND)
        return payment_fetch(source, plan, object_ref(plan->event.object, "payment_intent"));
    if (about == ABOUT_SUBSCRIPTION) {
        if (subscription_read(plan->event.object, &subscription) != 0)
            return APPLY_MALFORMED;
        return subscription_fetch(source, plan, subscription.id, &plan->fetched);
    }
    if (invoice_read(plan->fetched, &invoice) != 0)
        return APPLY_MALFORMED;
    return subscription_fetch(source, plan, invoice.subscription, &plan->fetched_subscription);
}

/* A platform's endpoint also receives events of the platform's own account. These events name no
 * account, and belong to this project only when their metadata says so. */
static bool event_is_of_other_account(const struct apply_source *source,
                                      const struct event_object *event,
                                      enum event_object_kind about)
{
    const struct processor_account *account =
        source->settings != NULL ? &source->settings->processor : NULL;
    bool ours;
    bool other_project;

    if (account == NULL)
        return false;
    if (event->account.len > 0)
        return account->account.len > 0 && !str_eq(event->account, account->account);
    if (account->mode != PROCESSOR_CONNECT || account->account.len == 0 || about == ABOUT_ACCOUNT)
        return false;
    (void)metadata_id(
        source, json_object_get(event->object, "metadata"), "payment_id", &ours, &other_project);
    return !ours;
}

int apply_prepare(struct apply_source *source, const json_t *event, struct apply_plan *ret_plan)
{
    struct apply_plan *plan = ret_plan;

    if (event_read(event, &plan->event) != 0)
        return APPLY_MALFORMED;
    const struct event_rule *kind = apply_event_kind_of(plan->event.type);
    if (plan->event.thin || kind == NULL)
        return APPLY_UNSUPPORTED;
    if (plan->event.object == NULL)
        return APPLY_MALFORMED;
    if (event_is_of_other_account(source, &plan->event, kind->object_kind))
        return APPLY_OTHER_PROJECT;
    source->event_id = plan->event.id;
    source->event_type = plan->event.type;
    if (plan->event.created_ms != 0)
        source->at_ms = plan->event.created_ms;
    if (plan->needs_reading)
        return plan_fetch(source, plan, kind->object_kind);
    switch (kind->object_kind) {
    case ABOUT_INVOICE_PAYMENT:
        return invoice_payment_prepare(source, plan);
    case ABOUT_INVOICE:
        return invoice_prepare(source, plan, kind->status != NULL);
    default:
        return 0;
    }
}

/* --- applying --- */

AWAITS static int session_apply(struct apply_source *source,
                                struct db *tx,
                                const struct session_object *session,
                                const char *status,
                                struct applied *applied)
{
    struct payment_facts facts;

    if (str_is(session->mode, "subscription"))
        return subscription_session(source, tx, session, applied);
    if (str_is(session->mode, "setup")) {
        applied_set_effect(
            source, applied, "nothing: the event of its setup intent is applied instead");
        return 0;
    }
    TRY(session_facts(source, session, status, &facts));
    return payment_apply(source, tx, &facts, applied);
}

AWAITS static int apply_session_event(struct apply_source *source,
                                      struct db *tx,
                                      const json_t *object,
                                      const struct event_rule *kind,
                                      struct applied *applied)
{
    struct session_object session;

    if (session_read(object, &session) != 0)
        return APPLY_MALFORMED;
    /* The event's type decides the status, even if the object has no such member. */
    session.status = kind->status != NULL && strcmp(kind->status, "canceled") == 0
                         ? STR("expired")
                         : STR("complete");
    return session_apply(source, tx, &session, kind->status, applied);
}

/* Reads the facts of the intent that was fetched because the event's order is unknown. */
static bool reading_facts(const struct apply_source *source,
                          const struct apply_plan *plan,
                          struct payment_facts *ret)
{
    struct apply_source reading = *source;
    struct intent_object intent;

    reading.event_id = STR_NONE;
    reading.event_type = STR_NONE;
    reading.at_ms = plan->fetched_ms;
    return intent_read(plan->fetched, &intent) == 0 &&
           intent_facts(&reading, &intent, NULL, ret) == 0;
}

AWAITS static int apply_payment_event(struct apply_source *source,
                                      struct db *tx,
                                      struct apply_plan *plan,
                                      const struct event_rule *kind,
                                      struct applied *applied)
{
    const json_t *object = plan->event.object;
    struct payment_facts reading;
    struct payment_facts facts;
    struct dispute_object dispute;
    struct charge_object charge;
    struct refund_object refund;
    struct intent_object intent;
    int rc;

    if (kind->object_kind == ABOUT_INTENT)
        rc = intent_read(object, &intent) != 0
                 ? APPLY_MALFORMED
                 : intent_facts(source, &intent, kind->status, &facts);
    else if (kind->object_kind == ABOUT_CHARGE)
        rc = charge_read(object, &charge) != 0 ? APPLY_MALFORMED
                                               : charge_facts(source, &charge, &facts);
    else if (kind->object_kind == ABOUT_REFUND)
        rc = refund_read(object, &refund) != 0 ? APPLY_MALFORMED
                                               : refund_facts(source, &refund, &facts);
    else
        rc = dispute_read(object, &dispute) != 0 ? APPLY_MALFORMED
                                                 : dispute_facts(source, &dispute, &facts);
    if (rc != 0)
        return rc;
    facts.may_request_reading =
        kind->object_kind != ABOUT_DISPUTE && !plan->reading_tried && processor_can_be_read(source);
    if (reading_facts(source, plan, &reading))
        facts.reading = &reading;
    rc = payment_apply(source, tx, &facts, applied);
    plan->needs_reading = rc == APPLY_LATER;
    return rc;
}

AWAITS static int apply_invoice_event(struct apply_source *source,
                                      struct db *tx,
                                      struct apply_plan *plan,
                                      const struct event_rule *kind,
                                      struct applied *applied)
{
    struct invoice_payment_object payment;
    struct invoice_object invoice;

    if (invoice_read(plan->fetched, &invoice) != 0)
        return APPLY_MALFORMED;
    if (kind->object_kind == ABOUT_INVOICE && kind->status != NULL)
        return invoice_failed_apply(source, tx, &invoice, plan, applied);
    if (kind->object_kind == ABOUT_INVOICE)
        return invoice_paid_apply(source, tx, &invoice, plan, applied);
    if (invoice_payment_read(plan->event.object, &payment) != 0)
        return APPLY_MALFORMED;
    /* The invoice may have an intent that the event's object lacks. */
    if (payment.payment_intent.len == 0 && str_eq(invoice.invoice_payment, payment.id))
        payment.payment_intent = invoice.payment_intent;
    return invoice_payment_apply(source, tx, &payment, &invoice, plan, applied);
}

AWAITS static int apply_method_event(struct apply_source *source,
                                     struct db *tx,
                                     const struct apply_plan *plan,
                                     const struct event_rule *kind,
                                     struct applied *applied)
{
    const json_t *object = plan->event.object;
    struct setup_object setup;
    struct method_object method;

    if (kind->object_kind == ABOUT_ATTACHED || kind->object_kind == ABOUT_DETACHED) {
        if (method_read(object, &method) != 0)
            return APPLY_MALFORMED;
        return method_apply(source,
                            tx,
                            &method,
                            kind->object_kind == ABOUT_ATTACHED,
                            object_ref(plan->event.previous_attributes, "customer"),
                            applied);
    }
    if (setup_read(object, &setup) != 0)
        return APPLY_MALFORMED;
    return kind->object_kind == ABOUT_SETUP_FAILED
               ? setup_apply_failed(source, tx, &setup, applied)
               : setup_apply_succeeded(source, tx, &setup, applied);
}

int apply_event(struct apply_source *source,
                struct db *tx,
                struct apply_plan *plan,
                struct applied *ret)
{
    const struct event_rule *kind = apply_event_kind_of(plan->event.type);
    const json_t *object = plan->event.object;
    struct subscription_object subscription;
    struct account_object account;

    *ret = (struct applied){.waits = false};
    if (kind == NULL)
        return APPLY_UNSUPPORTED;
    switch (kind->object_kind) {
    case ABOUT_SESSION:
        return apply_session_event(source, tx, object, kind, ret);
    case ABOUT_INTENT:
    case ABOUT_CHARGE:
    case ABOUT_REFUND:
    case ABOUT_DISPUTE:
        return apply_payment_event(source, tx, plan, kind, ret);
    case ABOUT_SUBSCRIPTION:
        if (subscription_read(object, &subscription) != 0)
            return APPLY_MALFORMED;
        return subscription_apply(source, tx, &subscription, plan, ret, NULL);
    case ABOUT_INVOICE_PAYMENT:
    case ABOUT_INVOICE:
        return apply_invoice_event(source, tx, plan, kind, ret);
    case ABOUT_ACCOUNT:
        return account_read(object, &account) != 0 ? APPLY_MALFORMED
                                                   : apply_account(source, tx, &account, ret);
    default:
        return apply_method_event(source, tx, plan, kind, ret);
    }
}

/* --- one object, in the caller's transaction --- */

int apply_intent(struct apply_source *source,
                 struct db *tx,
                 const struct intent_object *intent,
                 struct applied *ret)
{
    struct payment_facts facts;

    *ret = (struct applied){.waits = false};
    TRY(intent_facts(source, intent, NULL, &facts));
    TRY(payment_apply(source, tx, &facts, ret));
    return applied_write(source, tx, ret);
}

int apply_session(struct apply_source *source,
                  struct db *tx,
                  const struct session_object *session,
                  struct applied *ret)
{
    *ret = (struct applied){.waits = false};
    TRY(session_apply(source, tx, session, NULL, ret));
    return applied_write(source, tx, ret);
}

int apply_subscription(struct apply_source *source,
                       struct db *tx,
                       const struct subscription_object *subscription,
                       struct applied *ret)
{
    *ret = (struct applied){.waits = false};
    TRY(subscription_apply(source, tx, subscription, NULL, ret, NULL));
    return applied_write(source, tx, ret);
}

int apply_invoice(struct apply_source *source,
                  struct db *tx,
                  const struct invoice_object *invoice,
                  struct applied *ret)
{
    *ret = (struct applied){.waits = false};
    if (invoice->paid)
        TRY(invoice_paid_apply(source, tx, invoice, NULL, ret));
    else if (invoice->attempted)
        TRY(invoice_failed_apply(source, tx, invoice, NULL, ret));
    return applied_write(source, tx, ret);
}

int apply_method(struct apply_source *source,
                 struct db *tx,
                 const struct method_object *method,
                 bool attached,
                 struct applied *ret)
{
    *ret = (struct applied){.waits = false};
    TRY(method_apply(source, tx, method, attached, STR_NONE, ret));
    return applied_write(source, tx, ret);
}
