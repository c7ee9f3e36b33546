/* Facts that the processor's objects report about a payment. */
#include "payments/apply_payment_private.h"

#include "base/num.h"
#include "json/jr.h"

int64_t metadata_id(const struct apply_source *source,
                    const json_t *metadata,
                    const char *member,
                    bool *ret_ours,
                    bool *ret_other_project)
{
    struct str project = jr_str(metadata, "project_id");
    int64_t id = 0;

    *ret_ours = project.len > 0 && str_eq(project, source->project->slug);
    *ret_other_project = project.len > 0 && !*ret_ours;
    if (!*ret_ours || !num_parse_i64(jr_str(metadata, member), &id) || id <= 0)
        return 0;
    return id;
}

/* Metadata that names this project has the payment's id, and lets a lost row be created again. */
static int
metadata_read(struct apply_source *source, const json_t *metadata, struct payment_facts *facts)
{
    bool ours;
    bool other_project;

    facts->payment_id = metadata_id(source, metadata, "payment_id", &ours, &other_project);
    if (other_project)
        return APPLY_OTHER_PROJECT;
    if (ours && facts->is_intent && facts->currency.len > 0) {
        facts->type = "one_off";
        facts->metadata = jr_print(source->task->arena, metadata);
    }
    return 0;
}

/* Maps an intent's status to a payment's, which also has "failed". NULL when the status is
 * unknown. */
static const char *intent_status(const struct intent_object *intent)
{
    if (str_is(intent->status, "requires_payment_method") && intent->failure_message.len > 0)
        return "failed";
    static const char *const names[] = {"requires_payment_method",
                                        "requires_confirmation",
                                        "requires_action",
                                        "processing",
                                        "requires_capture",
                                        "canceled",
                                        "succeeded"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(intent->status, names[i]))
            return names[i];
    return NULL;
}

int intent_facts(struct apply_source *source,
                 const struct intent_object *intent,
                 const char *status,
                 struct payment_facts *ret)
{
    struct payment_facts facts = {
        .intent_id = intent->id,
        .status = status != NULL ? status : intent_status(intent),
        .is_intent = true,
        .at_ms = source->at_ms,
        .event_id = source->event_id,
        .charge_id = intent->latest_charge,
        .failed_charge_id = intent->failed_charge,
        .currency = intent->currency,
        .customer = intent->customer,
        .customer_email = intent->receipt_email,
        .description = intent->description,
        .amount_minor = intent->amount_minor,
        .platform_fee_minor = intent->application_fee_minor,
        .has_refunded = intent->has_charge,
        .refunded_minor = intent->amount_refunded_minor,
        .seen_ms = source->at_ms,
    };

    if (facts.status != NULL && strcmp(facts.status, "succeeded") == 0) {
        facts.paid_ms = source->at_ms;
        if (intent->amount_received_minor > 0) /* a capture may take less than was authorized */
            facts.amount_minor = intent->amount_received_minor;
    }
    if (facts.status != NULL && strcmp(facts.status, "failed") == 0) {
        facts.failure_code = intent->failure_code;
        facts.failure_message = intent->failure_message;
    }
    int rc = metadata_read(source, intent->metadata, &facts);
    *ret = facts;
    return rc;
}

int charge_facts(struct apply_source *source,
                 const struct charge_object *charge,
                 struct payment_facts *ret)
{
    struct payment_facts facts = {
        .intent_id = charge->payment_intent,
        .customer = charge->customer,
        .event_id = source->event_id,
        .has_refunded = true,
        .refunded_minor = charge->amount_refunded_minor,
        .seen_ms = source->at_ms,
    };

    if (facts.refunded_minor == 0 && charge->refunded)
        facts.refunded_minor =
            charge->amount_captured_minor ? charge->amount_captured_minor : charge->amount_minor;
    if (facts.refunded_minor > 0)
        facts.status = "succeeded";
    int rc = metadata_read(source, charge->metadata, &facts);
    *ret = facts;
    return rc;
}

int refund_facts(struct apply_source *source,
                 const struct refund_object *refund,
                 struct payment_facts *ret)
{
    *ret = (struct payment_facts){
        .intent_id = refund->payment_intent,
        .status = "succeeded",
        .event_id = source->event_id,
        .seen_ms = source->at_ms,
        .refund_id = refund->id,
        .refund_failed = str_is(refund->status, "failed") || str_is(refund->status, "canceled"),
        .refund_minor = refund->amount_minor,
    };
    return 0;
}

int dispute_facts(struct apply_source *source,
                  const struct dispute_object *dispute,
                  struct payment_facts *ret)
{
    (void)source;
    if (dispute->status.len == 0)
        return APPLY_MALFORMED;
    *ret = (struct payment_facts){
        .intent_id = dispute->payment_intent,
        .status = "succeeded",
        .dispute_id = dispute->id,
        .dispute_status = dispute->status,
    };
    return 0;
}

/* A session that is complete but unpaid uses a method that takes days: its intent will decide. */
static const char *session_status(const struct session_object *session)
{
    if (str_is(session->status, "expired"))
        return "canceled";
    if (!str_is(session->status, "complete"))
        return NULL;
    return str_is(session->payment_status, "paid") ||
                   str_is(session->payment_status, "no_payment_required")
               ? "succeeded"
               : "processing";
}

int session_facts(struct apply_source *source,
                  const struct session_object *session,
                  const char *status,
                  struct payment_facts *ret)
{
    struct payment_facts facts = {
        .intent_id = session->payment_intent,
        .session_id = session->id,
        .status = status != NULL ? status : session_status(session),
        .email_replaces = true,
        /* A fetched session says unpaid for ever, so only the status of an event has a time. */
        .at_ms = source->event_id.len > 0 ? source->at_ms : 0,
        .event_id = source->event_id,
        .customer = session->customer,
        .customer_email = session->customer_email,
    };

    if (facts.status != NULL && strcmp(facts.status, "succeeded") == 0)
        facts.paid_ms = source->at_ms;
    int rc = metadata_read(source, session->metadata, &facts);
    *ret = facts;
    return rc;
}
