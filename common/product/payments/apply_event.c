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

enum about {
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
static const struct kind {
    const char *type;
    enum about about;
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

static const struct kind *apply_event_kind_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(type, kinds[i].type))
            return &kinds[i];
    return NULL;
}

bool apply_knows(struct str type)
{
    return apply_event_kind_of(type) != NULL;
}

/* --- fetching --- */

/* Fetches an object. *ret_json stays NULL when the processor does not have the object. */
AWAITS static int apply_event_get_row(struct apply_source *source,
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

    if (!apply_can_ask(source))
        return APPLY_AGAIN;
    int rc = processor_call(source->task, source->settings, &request, &reply);
    if (rc == 0)
        *ret_json = reply.body;
    if (rc == PROCESSOR_NOT_FOUND)
        return 0;
    return rc > 0 ? APPLY_AGAIN : rc;
}

AWAITS static int get_invoice(struct apply_source *source, struct str id, const json_t **ret_json)
{
    struct form form;

    form_init(&form, source->task->arena);
    form_str(&form, "expand[0]", STR(INVOICE_EXPAND));
    TRY(apply_event_get_row(source, "/v1/invoices", id, form_text(&form), ret_json));
    return *ret_json != NULL ? 0 : APPLY_BROKEN;
}

AWAITS static int prepare_invoice_payment(struct apply_source *source, struct apply_plan *plan)
{
    struct invoice_payment_object payment;

    if (invoice_payment_read(plan->event.object, &payment) != 0 || payment.invoice.len == 0)
        return APPLY_BROKEN;
    plan->fetched = payment.invoice_object;
    return plan->fetched != NULL ? 0 : get_invoice(source, payment.invoice, &plan->fetched);
}

/* An invoice that names neither intent nor payment is of an API generation that has payments as
 * separate objects: fetches it with its payments. For a failed invoice the intent is needed too:
 * only the intent says why the payment failed. */
AWAITS static int prepare_invoice(struct apply_source *source, struct apply_plan *plan, bool failed)
{
    struct invoice_object invoice;

    if (invoice_read(plan->event.object, &invoice) != 0)
        return APPLY_BROKEN;
    plan->fetched = plan->event.object;
    int64_t amount_minor = failed ? invoice.amount_due_minor : invoice.amount_paid_minor;
    bool named = invoice.payment_intent.len > 0 || invoice.invoice_payment.len > 0;
    bool known = named && (!failed || invoice.intent_object != NULL || !apply_can_ask(source));
    if (known || amount_minor == 0 || invoice.subscription.len == 0)
        return 0;
    return get_invoice(source, invoice.id, &plan->fetched);
}

AWAITS static int get_subscription(struct apply_source *source,
                                   struct apply_plan *plan,
                                   struct str id,
                                   const json_t **ret_json)
{
    plan->ask = false;
    plan->asked = true;
    plan->fetched_ms = clock_wall_ms();
    return apply_event_get_row(source, "/v1/subscriptions", id, STR_NONE, ret_json);
}

/* If the processor cannot be queried, the event is applied without a reading, and the timer fetches
 * the intent later. */
AWAITS static int get_payment(struct apply_source *source, struct apply_plan *plan, struct str id)
{
    plan->ask = false;
    plan->asked = true;
    plan->fetched_ms = clock_wall_ms();
    int rc = apply_event_get_row(
        source, "/v1/payment_intents", id, STR("expand[0]=latest_charge"), &plan->fetched);
    return rc < 0 ? rc : 0;
}

AWAITS static int
apply_event_answer(struct apply_source *source, struct apply_plan *plan, enum about about)
{
    struct subscription_object subscription;
    struct invoice_object invoice;

    if (about == ABOUT_INTENT)
        return get_payment(source, plan, jr_str(plan->event.object, "id"));
    if (about == ABOUT_CHARGE || about == ABOUT_REFUND)
        return get_payment(source, plan, object_ref(plan->event.object, "payment_intent"));
    if (about == ABOUT_SUBSCRIPTION) {
        if (subscription_read(plan->event.object, &subscription) != 0)
            return APPLY_BROKEN;
        return get_subscription(source, plan, subscription.id, &plan->fetched);
    }
    if (invoice_read(plan->fetched, &invoice) != 0)
        return APPLY_BROKEN;
    return get_subscription(source, plan, invoice.subscription, &plan->fetched_subscription);
}

/* A platform's endpoint also receives events of the platform's own account. These events name no
 * account, and belong to this project only when their metadata says so. */
static bool
is_elsewhere(const struct apply_source *source, const struct event_object *event, enum about about)
{
    const struct processor_account *account =
        source->settings != NULL ? &source->settings->processor : NULL;
    bool ours;
    bool foreign;

    if (account == NULL)
        return false;
    if (event->account.len > 0)
        return account->account.len > 0 && !str_eq(event->account, account->account);
    if (account->mode != PROCESSOR_CONNECT || account->account.len == 0 || about == ABOUT_ACCOUNT)
        return false;
    (void)metadata_id(
        source, json_object_get(event->object, "metadata"), "payment_id", &ours, &foreign);
    return !ours;
}

int apply_prepare(struct apply_source *source, const json_t *event, struct apply_plan *ret_plan)
{
    struct apply_plan *plan = ret_plan;

    if (event_read(event, &plan->event) != 0)
        return APPLY_BROKEN;
    const struct kind *kind = apply_event_kind_of(plan->event.type);
    if (plan->event.thin || kind == NULL)
        return APPLY_UNSUPPORTED;
    if (plan->event.object == NULL)
        return APPLY_BROKEN;
    if (is_elsewhere(source, &plan->event, kind->about))
        return APPLY_FOREIGN;
    source->event_id = plan->event.id;
    source->event_type = plan->event.type;
    if (plan->event.created_ms != 0)
        source->at_ms = plan->event.created_ms;
    if (plan->ask)
        return apply_event_answer(source, plan, kind->about);
    switch (kind->about) {
    case ABOUT_INVOICE_PAYMENT:
        return prepare_invoice_payment(source, plan);
    case ABOUT_INVOICE:
        return prepare_invoice(source, plan, kind->status != NULL);
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
        applied_say(source, applied, "nothing: the event of its setup intent is applied instead");
        return 0;
    }
    TRY(session_facts(source, session, status, &facts));
    return payment_apply(source, tx, &facts, applied);
}

AWAITS static int apply_session_event(struct apply_source *source,
                                      struct db *tx,
                                      const json_t *object,
                                      const struct kind *kind,
                                      struct applied *applied)
{
    struct session_object session;

    if (session_read(object, &session) != 0)
        return APPLY_BROKEN;
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
                                      const struct kind *kind,
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

    if (kind->about == ABOUT_INTENT)
        rc = intent_read(object, &intent) != 0
                 ? APPLY_BROKEN
                 : intent_facts(source, &intent, kind->status, &facts);
    else if (kind->about == ABOUT_CHARGE)
        rc = charge_read(object, &charge) != 0 ? APPLY_BROKEN
                                               : charge_facts(source, &charge, &facts);
    else if (kind->about == ABOUT_REFUND)
        rc = refund_read(object, &refund) != 0 ? APPLY_BROKEN
                                               : refund_facts(source, &refund, &facts);
    else
        rc = dispute_read(object, &dispute) != 0 ? APPLY_BROKEN
                                                 : dispute_facts(source, &dispute, &facts);
    if (rc != 0)
        return rc;
    facts.may_ask = kind->about != ABOUT_DISPUTE && !plan->asked && apply_can_ask(source);
    if (reading_facts(source, plan, &reading))
        facts.reading = &reading;
    rc = payment_apply(source, tx, &facts, applied);
    plan->ask = rc == APPLY_AGAIN;
    return rc;
}

AWAITS static int apply_invoice_event(struct apply_source *source,
                                      struct db *tx,
                                      struct apply_plan *plan,
                                      const struct kind *kind,
                                      struct applied *applied)
{
    struct invoice_payment_object payment;
    struct invoice_object invoice;

    if (invoice_read(plan->fetched, &invoice) != 0)
        return APPLY_BROKEN;
    if (kind->about == ABOUT_INVOICE && kind->status != NULL)
        return invoice_failed_apply(source, tx, &invoice, plan, applied);
    if (kind->about == ABOUT_INVOICE)
        return invoice_paid_apply(source, tx, &invoice, plan, applied);
    if (invoice_payment_read(plan->event.object, &payment) != 0)
        return APPLY_BROKEN;
    /* The invoice may have an intent that the event's object lacks. */
    if (payment.payment_intent.len == 0 && str_eq(invoice.invoice_payment, payment.id))
        payment.payment_intent = invoice.payment_intent;
    return invoice_payment_apply(source, tx, &payment, &invoice, plan, applied);
}

AWAITS static int apply_method_event(struct apply_source *source,
                                     struct db *tx,
                                     const struct apply_plan *plan,
                                     const struct kind *kind,
                                     struct applied *applied)
{
    const json_t *object = plan->event.object;
    struct setup_object setup;
    struct method_object method;

    if (kind->about == ABOUT_ATTACHED || kind->about == ABOUT_DETACHED) {
        if (method_read(object, &method) != 0)
            return APPLY_BROKEN;
        return method_apply(source,
                            tx,
                            &method,
                            kind->about == ABOUT_ATTACHED,
                            object_ref(plan->event.previous_attributes, "customer"),
                            applied);
    }
    if (setup_read(object, &setup) != 0)
        return APPLY_BROKEN;
    return kind->about == ABOUT_SETUP_FAILED ? setup_apply_failed(source, tx, &setup, applied)
                                             : setup_apply_succeeded(source, tx, &setup, applied);
}

int apply_event(struct apply_source *source,
                struct db *tx,
                struct apply_plan *plan,
                struct applied *ret)
{
    const struct kind *kind = apply_event_kind_of(plan->event.type);
    const json_t *object = plan->event.object;
    struct subscription_object subscription;
    struct account_object account;

    *ret = (struct applied){.waits = false};
    if (kind == NULL)
        return APPLY_UNSUPPORTED;
    switch (kind->about) {
    case ABOUT_SESSION:
        return apply_session_event(source, tx, object, kind, ret);
    case ABOUT_INTENT:
    case ABOUT_CHARGE:
    case ABOUT_REFUND:
    case ABOUT_DISPUTE:
        return apply_payment_event(source, tx, plan, kind, ret);
    case ABOUT_SUBSCRIPTION:
        if (subscription_read(object, &subscription) != 0)
            return APPLY_BROKEN;
        return subscription_apply(source, tx, &subscription, plan, ret, NULL);
    case ABOUT_INVOICE_PAYMENT:
    case ABOUT_INVOICE:
        return apply_invoice_event(source, tx, plan, kind, ret);
    case ABOUT_ACCOUNT:
        return account_read(object, &account) != 0 ? APPLY_BROKEN
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
