/* The shape of a payment. */
#include "areas/payments/payments.h"

const char *const payment_statuses[] = {
    "requires_payment_method",
    "requires_confirmation",
    "requires_action",
    "processing",
    "requires_capture",
    "succeeded",
    "failed",
    "canceled",
    "refunded",
    "partially_refunded",
    "disputed",
    NULL,
};

static const char *const types[] = {"one_off", "recurring", "saved_method", NULL};
static const char *const providers[] = {"processor", "iap_store", NULL};

static const struct schema next_action_schema = {
    .name = "PaymentNextAction",
    .raw = "{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"What the payer "
           "has to do, as the "
           "processor says "
           "it\",\"example\":{\"type\":\"redirect_to_url\",\"redirect_to_url\":{\"url\":"
           "\"https://hooks.example.com/redirect\"}}}",
};

static const struct field payment_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .example = "12"},
    {.name = "type", .type = FIELD_STR, .required = true, .values = types},
    {.name = "provider", .type = FIELD_STR, .required = true, .values = providers},
    {.name = "amount", .type = FIELD_F64, .required = true, .example = "12.5"},
    {.name = "amount_minor",
     .type = FIELD_I64,
     .required = true,
     .doc = "In the currency's minor unit",
     .example = "1250"},
    {.name = "currency",
     .type = FIELD_STR,
     .required = true,
     .doc = "ISO 4217, lower case",
     .example = "\"usd\""},
    {.name = "status", .type = FIELD_STR, .required = true, .values = payment_statuses},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "reference",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The processor's or the store's id",
     .example = "\"pi_3Q0aBcD\""},
    {.name = "customer_email", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "subscriber_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "subscription_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "payment_method_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "checkout_url",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Where the payer pays, while that is open"},
    {.name = "client_secret",
     .type = FIELD_STR,
     .doc = "For the processor's library on the payer's device; only where a payment is made, "
            "confirmed or looked up "
            "as an intent, while the payer has something to do"},
    {.name = "next_action",
     .type = FIELD_OBJ,
     .nullable = true,
     .sub = &next_action_schema,
     .doc = "Beside client_secret"},
    {.name = "failure_code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .example = "\"card_declined\""},
    {.name = "failure_message", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "amount_refunded", .type = FIELD_F64, .required = true},
    {.name = "amount_refunded_minor", .type = FIELD_I64, .required = true},
    {.name = "platform_fee", .type = FIELD_F64, .required = true},
    {.name = "platform_fee_minor", .type = FIELD_I64, .required = true},
    {.name = "paid_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "metadata", .type = FIELD_MAP, .required = true, .doc = "As it was given"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema payment_schema = SCHEMA_OUT("Payment", payment_fields);
