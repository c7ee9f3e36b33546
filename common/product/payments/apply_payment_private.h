#pragma once
/*
 * One payment row and what somebody says of it. What is said is a join: whatever order it arrives
 * in, the row ends the same.
 *  - An intent says everything (.whole). Of several, the one that stands highest (apply_attempt)
 *    stands, with all of its details. Each decline is remembered, and told once.
 *  - Everything else is evidence: a paid session, an invoice payment, a refund prove a status, and
 *    stand where no intent has said as much.
 *  - When it was paid is the earliest time that anybody gives; what was refunded is what the
 *    charge said last, without the refunds that failed since (apply_refund);
 *    disputes end, and do not begin again.
 */
#include "payments/apply_rows_private.h"

struct payment_facts {
    /* How it is found. */
    struct str intent_id, session_id, invoice_payment_id;
    int64_t payment_id; /* of our metadata; 0 = none */
    /* What is said. */
    const char *status; /* NULL = nothing of it */
    bool whole;
    bool email_wins; /* what was typed at the checkout */
    int64_t at_ms;
    struct str event_id, charge_id, failed_charge_id, currency, customer, customer_email,
        description, failure_code, failure_message, dispute_id, dispute_status;
    int64_t amount_minor, platform_fee_minor, paid_ms;
    /* The sum that a charge has refunded, as of .seen_ms; then the state of one refund. */
    bool has_refunded;
    int64_t refunded_minor, seen_ms;
    struct str refund_id;
    bool refund_failed;
    int64_t refund_minor;
    /* What a row is made of when there is none: type NULL = it is not made. */
    const char *type;
    int64_t subscription_id, subscriber_id;
    struct str metadata; /* JSON text */
    /* Of an event whose order is in doubt: asks for a reading first, and what that said. */
    bool may_ask;
    const struct payment_facts *reading; /* NULL = there is none */
};

/* any, pure: moves the row; true when anything is different. `arena` for texts of the row. */
bool payment_move(struct arena *arena, struct payment_row *row, const struct payment_facts *facts);

/* co: finds and locks the row (makes it), moves it, adds what is to be written. APPLY_AGAIN: there
 * is doubt, and facts->may_ask. */
AWAITS int payment_apply(struct apply_source *source,
                         struct db *tx,
                         const struct payment_facts *facts,
                         struct applied *applied) MUSTCHECK;

/* any: what one of the processor's objects says; `status` NULL = as the object has it. 0,
 * APPLY_FOREIGN or APPLY_BROKEN. */
int intent_facts(struct apply_source *source,
                 const struct intent_object *intent,
                 const char *status,
                 struct payment_facts *ret) MUSTCHECK;
int charge_facts(struct apply_source *source,
                 const struct charge_object *charge,
                 struct payment_facts *ret) MUSTCHECK;
int refund_facts(struct apply_source *source,
                 const struct refund_object *refund,
                 struct payment_facts *ret) MUSTCHECK;
int dispute_facts(struct apply_source *source,
                  const struct dispute_object *dispute,
                  struct payment_facts *ret) MUSTCHECK;
/* Of mode "payment". */
int session_facts(struct apply_source *source,
                  const struct session_object *session,
                  const char *status,
                  struct payment_facts *ret) MUSTCHECK;
/* any: the id in a member of metadata of ours; 0 when there is none. *ret_foreign: it says that it
 * is another project's. */
int64_t metadata_id(const struct apply_source *source,
                    const json_t *metadata,
                    const char *member,
                    bool *ret_ours,
                    bool *ret_foreign);
/* any: a key for those who make a row of this object or find none. */
int64_t apply_alone_key(struct str id);
