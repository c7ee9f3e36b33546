#pragma once
/*
 * The processor's objects as we read them, drift-proof: a reference is an id or an expanded object;
 * what moved between API generations is looked for in its new place, then in its old one; every
 * number may be null; enums are open. Nothing is ever required but the id. All texts are borrowed
 * from the JSON; STR_NONE / 0 = absent; a negative amount, a time or a count out of any sense is
 * absent too. Where 0 is a value of its own a member has_... tells it from absent. Pure; any
 * thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

/* A member that is an id or an object with one. */
struct str object_ref(const json_t *object, const char *member);
/* Seconds since 1970 in a member -> milliseconds; 0 = absent. */
int64_t object_time_ms(const json_t *object, const char *member);

struct intent_object {
    struct str id, status, currency, customer, payment_method, latest_charge, description,
        client_secret, receipt_email;
    int64_t amount_minor, amount_received_minor, application_fee_minor, created_ms,
        amount_refunded_minor;
    struct str failure_code, decline_code, failure_message, failed_charge; /* last_payment_error */
    struct str next_action_type;
    struct str invoice;        /* up to acacia */
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
    /* What a period costs before discounts and taxes: unit amount times quantity of all items that
     * are billed in the first item's interval, without what is billed by its use. */
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
    /* The intent of its first payment when that is expanded; NULL otherwise. */
    const json_t *intent_object;
    struct str invoice_payment; /* of its first payment, when its payments are expanded */
    const json_t *metadata;     /* of the subscription */
};
struct invoice_payment_object {
    struct str id, invoice, payment_intent, charge, status, currency;
    const json_t *invoice_object; /* when it was expanded */
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
    const json_t *method_object; /* when it was expanded */
    const json_t *metadata;
};
struct account_object {
    struct str id, country, email, business_type;
    bool charges_enabled, payouts_enabled, details_submitted;
    const json_t *requirements; /* NULL when absent */
};

/* 0, or OBJECT_BAD: not an object, no id, or "object" says that it is another kind. (Of an event
 * the type is required, too; its .object is NULL when it has none.) */
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

/* The event around them. */
struct event_object {
    struct str id, type, api_version, account;
    int64_t created_ms;
    const json_t *object;              /* data.object */
    const json_t *previous_attributes; /* NULL when absent */
    bool thin;                         /* "object": "v2.core.event" */
};
int event_read(const json_t *json, struct event_object *ret) MUSTCHECK;
