#pragma once
/*
 * One payment row and the facts that the processor's objects report about it. Facts are joined: the
 * row ends in the same state in any order of arrival.
 *  - An intent reports everything (.is_intent). Of several reports, the one with the highest
 *    position (payment_position_compare()) wins, with all of its details. Each decline is
 *    remembered and emitted once.
 *  - Everything else is evidence: a paid session, an invoice payment or a refund proves a status,
 *    and counts where no intent has reported as much.
 *  - The time of payment is the earliest time that is reported. The refunded sum is the one that
 *    the charge showed last, without the refunds that failed since (apply_refund_private.h). A
 *    dispute that has ended does not begin again.
 */
#include "payments/apply_rows_private.h"

struct payment_facts {
    /* How the row is found. */
    struct str intent_id, session_id, invoice_payment_id;
    int64_t payment_id; /* of our metadata; 0 = none */
    /* Reported facts. */
    const char *status; /* NULL = no status is reported */
    bool is_intent;
    bool email_replaces; /* the address was typed at the checkout and replaces the row's */
    int64_t at_ms;
    struct str event_id, charge_id, failed_charge_id, currency, customer, customer_email,
        description, failure_code, failure_message, dispute_id, dispute_status;
    int64_t amount_minor, platform_fee_minor, paid_ms;
    /* The refunded sum that a charge shows, as of .seen_ms; then the state of one refund. */
    bool has_refunded;
    int64_t refunded_minor, seen_ms;
    struct str refund_id;
    bool refund_failed;
    int64_t refund_minor;
    /* Values of a row that is created. type NULL: these facts create no row. */
    const char *type;
    int64_t subscription_id, subscriber_id;
    struct str metadata; /* JSON text */
    /* For an event whose order may be unknown: may_request_reading requests a reading first;
     * `reading` has the facts of that reading. */
    bool may_request_reading;
    const struct payment_facts *reading; /* NULL = none */
};

/* any, pure: Applies the facts to the row. Returns true when anything changed. `arena` holds new
 * texts of the row. */
bool payment_update(struct arena *arena,
                    struct payment_row *row,
                    const struct payment_facts *facts);

/* co: Finds and locks the row, or creates it, applies the facts and adds the statements to run.
 * APPLY_LATER: the order is unknown and facts->may_request_reading is set. */
AWAITS int payment_apply(struct apply_source *source,
                         struct db *tx,
                         const struct payment_facts *facts,
                         struct applied *applied) MUSTCHECK;

/* any: Each function reads the facts that one of the processor's objects reports. `status` NULL:
 * the object's own. Returns 0, APPLY_OTHER_PROJECT or APPLY_MALFORMED. */
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
/* For a session of mode "payment". */
int session_facts(struct apply_source *source,
                  const struct session_object *session,
                  const char *status,
                  struct payment_facts *ret) MUSTCHECK;
/* any: Returns the id in a member of metadata that names this project (*ret_ours); 0 when there is
 * none. *ret_other_project: the metadata names another project. */
int64_t metadata_id(const struct apply_source *source,
                    const json_t *metadata,
                    const char *member,
                    bool *ret_ours,
                    bool *ret_other_project);
/* any: Returns the key for SQL_APPLY_LOCK: transactions that create the row of this object, or find
 * none, wait for each other. */
int64_t apply_lock_key(struct str id);
