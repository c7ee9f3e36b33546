#pragma once
/*
 * What the areas of payments and saved methods share: rows as they are shown, and calls about one
 * payment.
 */
#include "areas/payments/pay_call.h"

/* --- rows --- */

/* One payment; texts borrow from its row. */
struct payment {
    struct rows rows; /* row 0 */
    int64_t id, amount_minor, refunded_minor, fee_minor;
    struct str status, currency, provider, failure_code, failure_message;
    struct str customer;                       /* of the processor; empty: none */
    struct str intent_id, session_id;          /* empty: not known (yet) */
    struct str call_key, call_path, call_form; /* empty: no call is open */
};
extern const struct schema payment_schema;
extern const char *const payment_statuses[];

/* Shown once, to whoever acts: texts and tree borrowed. */
struct payment_extra {
    struct str client_secret;
    const json_t *next_action; /* NULL = none */
};
/* any: writes row `row` of a statement with the columns of payments.sql as an object. */
void payment_write(struct jw *w, const struct rows *rows, size_t row);
/* any: a payment as the answer; `extra` may be NULL. */
int payment_reply(struct req *r,
                  int status,
                  const struct payment *payment,
                  const struct payment_extra *extra);
/* co: 404 when there is none. `lock`: for update, in the open transaction. */
AWAITS int payment_load(struct req *r, int64_t id, bool lock, struct payment *ret_payment)
    MUSTCHECK;
/* co: the payment of {id} in the path: ours or the processor's pi_... */
AWAITS int payment_load_path(struct req *r, struct payment *ret_payment) MUSTCHECK;
/* any: amount of a body as it was written. */
int payment_amount(struct req *r,
                   const struct in_f64 *amount,
                   struct str currency,
                   int64_t *ret_minor,
                   struct str *ret_currency) MUSTCHECK;
/* any: the platform's share of an amount: none where the key is the project's own. */
int64_t
payment_fee(const struct payment_settings *settings, int64_t amount_minor, struct str currency);

/* --- making one --- */

extern const char *const payment_capture_methods[];
/* Members of a body's schema, for a struct with members of these names. */
/* clang-format off */
#define PAYMENT_MEMBERS(body)                                                                      \
    {.name = "amount", FIELD_AT(body, amount), .type = FIELD_F64, .required = true,                \
     .doc = "In the currency's major unit, with no more decimals than it has",                     \
     .example = "12.5"},                                                                           \
    {.name = "currency", FIELD_AT(body, currency), .type = FIELD_STR, .required = true,            \
     .max = 10, .doc = "ISO 4217", .example = "\"usd\""},                                          \
    {.name = "description", FIELD_AT(body, description), .type = FIELD_STR, .nullable = true,      \
     .max = 500, .doc = "What is paid for, as the payer sees it",                                  \
     .example = "\"Season ticket\""},                                                              \
    {.name = "metadata", FIELD_AT(body, metadata), .type = FIELD_MAP, .nullable = true,            \
     .doc = "At most 40 members; texts of at most 500 characters",                                 \
     .example = "{\"order\":\"A-17\"}"},                                                           \
    {.name = "capture_method", FIELD_AT(body, capture_method), .type = FIELD_STR,                  \
     .values = payment_capture_methods,                                                            \
     .doc = "manual: the amount is reserved until it is captured"},                                \
    IDEM_MEMBER(body)
/* clang-format on */

struct payment_draft {
    const char *type;                                                  /* one_off, saved_method */
    int64_t amount_minor, fee_minor, subscriber_id, payment_method_id; /* 0 = none */
    struct str currency, description, customer, customer_email;
    json_t *metadata; /* the caller's */
};

/* any: the parameters of an intent, however it is paid. `capture_method` may be empty. */
void payment_put_intent(struct req *r,
                        struct form *form,
                        const struct payment_draft *draft,
                        int64_t payment_id,
                        struct str capture_method);
/* co: opens a transaction (r->scope->db) and adds the row: *ret_id. */
AWAITS int payment_add(struct req *r, const struct payment_draft *draft, int64_t *ret_id) MUSTCHECK;
/* any: a call about a payment, which this request makes or changes (`creates`); its settings, row,
 * path and form are filled by the caller. Refused, a payment that it creates fails. */
struct pay_call payment_call(struct req *r, struct idem *idem, bool creates);
/* co: the row that an abandoned request made (idem->target). */
AWAITS int payment_load_target(struct req *r, const struct idem *idem, struct payment *ret_payment)
    MUSTCHECK;
/* any: whether the payment's open call was noted by this request or one that it has taken over. */
bool payment_call_is_ours(const struct idem *idem, const struct payment *payment);
/* co: goes on where an abandoned request ended (idem->target): repeats the call that is still open,
 * else says how the payment stands. */
AWAITS int payment_call_resume(struct pay_call *pay) MUSTCHECK;
/* co: reads the payment's object from the processor and applies it; *payment is what is known now,
 * also when the processor cannot be asked. *extra is filled. */
AWAITS int payment_reread(struct req *r,
                          const struct payment_settings *settings,
                          struct payment *payment,
                          struct payment_extra *ret_extra) MUSTCHECK;
