#pragma once
/*
 * Reads the processor's objects of any API generation. A reference is an id or an expanded object.
 * A member that moved between generations is searched in its new place, then in its old one. Every
 * number may be null, and enums are open. Only the id is required. Texts are borrowed from the
 * JSON. STR_NONE and 0 mean absent; negative amounts, and times or counts out of range, are absent
 * too. Where 0 is a valid value, a member has_... distinguishes it from absent. Pure; any thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

/* Returns the id in a member that is an id or an object with an id; STR_NONE = absent. */
struct str object_ref(const json_t *object, const char *member);
/* Converts a member in seconds since 1970 to milliseconds; 0 = absent. */
int64_t object_time_ms(const json_t *object, const char *member);

struct intent_object {
    struct str id, status, currency, customer, payment_method, latest_charge, description,
        client_secret, receipt_email;
    int64_t amount_minor, amount_received_minor, application_fee_minor, created_ms,
        amount_refunded_minor;
    struct str failure_code, decline_code, failure_message, failed_charge; /* last_payment_error */
    struct str next_action_type;
    struct str invoice;        /* in API generations up to acacia */
    const json_t *next_action; /* NULL when absent */
    const json_t *metadata;
    bool has_charge, disputed; /* of an expanded latest_charge */
};
struct session_object {
    struct str id, mode, status, payment_status, client_reference_id, payment_intent, subscription,
        setup_intent, customer, customer_email, currency, url;
    int64_t amount_total_minor, expires_ms;
    const json_t *metadata;
};
struct subscription_object {
    struct str id, status, customer, price, product, currency, interval, latest_invoice;
    int64_t created_ms, period_start_ms, period_end_ms, trial_start_ms, trial_end_ms, canceled_ms,
        ended_ms, interval_count;
    /* Price of a period before discounts and taxes: unit amount times quantity, summed over the
     * items that are billed at the first item's interval, without metered items. */
    int64_t amount_minor;
    bool has_amount;
    bool cancel_at_period_end;
    const json_t *metadata;
};
struct invoice_object {
    struct str id, subscription, customer, customer_email, currency, payment_intent, charge,
        billing_reason, number;
    int64_t amount_paid_minor, amount_due_minor, created_ms;
    bool paid, attempted;
    /* The intent of the invoice's paid (else first) payment, if that payment is expanded; else
     * NULL. */
    const json_t *intent_object;
    struct str invoice_payment; /* id of the same payment, if the invoice's payments are expanded */
    const json_t *metadata;     /* of the subscription */
};
struct invoice_payment_object {
    struct str id, invoice, payment_intent, charge, status, currency;
    const json_t *invoice_object; /* if expanded, else NULL */
    int64_t amount_paid_minor, paid_ms, created_ms;
};
struct method_object {
    struct str id, customer, type, brand, last4, email;
    int64_t exp_month, exp_year, created_ms;
};
struct refund_object {
    struct str id, payment_intent, status;
    int64_t amount_minor, created_ms;
};
struct charge_object {
    struct str id, payment_intent, customer, currency;
    int64_t amount_minor, amount_captured_minor, amount_refunded_minor;
    bool refunded, disputed;
    const json_t *metadata; /* a copy of the intent's */
};
struct dispute_object {
    struct str id, charge, payment_intent, status, currency;
};
struct setup_object {
    struct str id, status, customer, payment_method, client_secret, failure_code, failure_message;
    const json_t *method_object; /* if expanded, else NULL */
    const json_t *metadata;
};
struct account_object {
    struct str id, country, email, business_type;
    bool charges_enabled, payouts_enabled, details_submitted;
    const json_t *requirements; /* NULL when absent */
};

/* Each function reads one kind of object. 0, or OBJECT_MALFORMED: `json` is no object, has no id,
 * or its "object" names another kind. */
int intent_read(const json_t *json, struct intent_object *ret) MUSTCHECK;
int session_read(const json_t *json, struct session_object *ret) MUSTCHECK;
int subscription_read(const json_t *json, struct subscription_object *ret) MUSTCHECK;
int invoice_read(const json_t *json, struct invoice_object *ret) MUSTCHECK;
int invoice_payment_read(const json_t *json, struct invoice_payment_object *ret) MUSTCHECK;
int refund_read(const json_t *json, struct refund_object *ret) MUSTCHECK;
int charge_read(const json_t *json, struct charge_object *ret) MUSTCHECK;
int dispute_read(const json_t *json, struct dispute_object *ret) MUSTCHECK;
int method_read(const json_t *json, struct method_object *ret) MUSTCHECK;
int setup_read(const json_t *json, struct setup_object *ret) MUSTCHECK;
int account_read(const json_t *json, struct account_object *ret) MUSTCHECK;

/* The event that carries an object. */
struct event_object {
    struct str id, type, api_version, account;
    int64_t created_ms;
    const json_t *object;              /* data.object; NULL when absent */
    const json_t *previous_attributes; /* NULL when absent */
    bool thin;                         /* "object": "v2.core.event" */
};
/* Reads an event. 0, or OBJECT_MALFORMED in the cases of intent_read() and when the event has no
 * type. */
int event_read(const json_t *json, struct event_object *ret) MUSTCHECK;
