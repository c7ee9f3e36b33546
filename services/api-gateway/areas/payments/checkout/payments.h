#pragma once
/* Shared by payments and saved methods: rows of payments, answers, and calls about a payment. */
#include "areas/payments/pay_call.h"

/* --- rows --- */

/* One payment. Texts borrow from its row. */
struct payment {
    struct rows rows; /* the payment is row 0 */
    int64_t id, amount_minor, refunded_minor, fee_minor;
    struct str status, currency, provider, failure_code, failure_message;
    struct str customer;                       /* at the processor; empty = none */
    struct str intent_id, session_id;          /* empty = not known yet */
    struct str call_key, call_path, call_form; /* empty = no call is open */
};
extern const struct schema payment_schema;
extern const char *const payment_statuses[];

/* Members that are never stored, shown only in the answer to this request. Text and tree are
 * borrowed. */
struct payment_next_step {
    struct str client_secret;
    const json_t *next_action; /* NULL = none */
};
/* any: Writes row `row` as an object. The statement must have the columns of payments.sql. */
void payment_write(struct jw *w, const struct rows *rows, size_t row);
/* any: Answers with a payment. `extra` may be NULL. Returns the status. */
int payment_reply(struct req *r,
                  int status,
                  const struct payment *payment,
                  const struct payment_next_step *extra);
/* co: Reads a payment. `lock`: locks the row for update, in the open transaction. 404 when the
 * payment does not exist. */
AWAITS int payment_load(struct req *r, int64_t id, bool lock, struct payment *ret_payment)
    MUSTCHECK;
/* co: Reads the payment of {id} in the path, which is our id or the processor's pi_... 404 when the
 * payment does not exist. */
AWAITS int payment_load_path(struct req *r, struct payment *ret_payment) MUSTCHECK;
/* any: Reads the amount and currency of a body as pay_amount() does, from an amount that is a
 * number. null is the same as left out. */
int payment_amount(struct req *r,
                   const struct in_f64 *amount,
                   struct str currency,
                   int64_t *ret_minor,
                   struct str *ret_currency) MUSTCHECK;
/* any: Returns the platform's fee on an amount in minor units; 0 when the key belongs to the
 * project's own account. */
int64_t
payment_fee(const struct payment_settings *settings, int64_t amount_minor, struct str currency);

/* --- creating --- */

extern const char *const payment_capture_methods[];
/* Fields of a body's schema, for a struct with members of these names. */
/* clang-format off */
#define PAYMENT_MEMBERS(body)                                                                      \
    {.name = "amount", FIELD_AT(body, amount), .type = FIELD_F64, .required = true,                \
     .doc = "In the currency's major unit, with at most the decimals of the currency",             \
     .example = "12.5"},                                                                           \
    {.name = "currency", FIELD_AT(body, currency), .type = FIELD_STR, .required = true,            \
     .max = 10, .doc = "ISO 4217", .example = "\"usd\""},                                          \
    {.name = "description", FIELD_AT(body, description), .type = FIELD_STR, .nullable = true,      \
     .max = 500, .doc = "What the payment is for; the payer sees it",                              \
     .example = "\"Season ticket\""},                                                              \
    {.name = "metadata", FIELD_AT(body, metadata), .type = FIELD_MAP, .nullable = true,            \
     .doc = "At most 40 texts, numbers or booleans of at most 500 characters, which are stored "   \
            "as texts. Names have 1 to 40 characters and no square brackets; names that the "      \
            "service sets, such as project_id, are refused",                                       \
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
    json_t *metadata; /* given by the caller */
};

/* any: Adds the parameters of an intent to `form`, however it is paid. `capture_method` may be
 * empty. */
void payment_put_intent(struct req *r,
                        struct form *form,
                        const struct payment_draft *draft,
                        int64_t payment_id,
                        struct str capture_method);
/* co: Begins a transaction (r->scope->db) and adds the row. *ret_id: the id of the payment. */
AWAITS int payment_add(struct req *r, const struct payment_draft *draft, int64_t *ret_id) MUSTCHECK;
/* any: Returns a call that creates (`creates`) or changes a payment. The caller fills its settings,
 * row id, path and form. A payment becomes failed when the processor refuses the call that creates
 * it. */
struct pay_call payment_call_begin(struct req *r, struct idem *idem, bool creates);
/* co: Reads the payment that an abandoned request created or changed (idem->target). */
AWAITS int payment_load_target(struct req *r, const struct idem *idem, struct payment *ret_payment)
    MUSTCHECK;
/* any: Whether this request, or a request that it has taken over, noted the payment's open call. */
bool payment_call_is_own(const struct idem *idem, const struct payment *payment);
/* co: Continues an abandoned request (idem->target): repeats its call when that is still open,
 * otherwise answers with the payment's current state. */
AWAITS int payment_call_resume(struct pay_call *pay) MUSTCHECK;
/* co: Reads the payment's object from the processor and applies it. *payment is the current state,
 * or the stored one when the processor cannot be reached. *ret_extra is always set. */
AWAITS int payment_refresh(struct req *r,
                           const struct payment_settings *settings,
                           struct payment *payment,
                           struct payment_next_step *ret_extra) MUSTCHECK;
