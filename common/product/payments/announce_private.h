#pragma once
/*
 * Events about payments, subscriptions and methods that workflows listen to. An outbox row is
 * written in the transaction of the change, when a workflow listens. A late report that changes
 * nothing emits nothing.
 *  - payment: PaymentCreated and PaymentSucceeded once; PaymentFailed once per decline, even when
 *    the next attempt has begun by then, but not after the payment is authorized, paid or canceled.
 *  - subscription: each time that it enters a state of the event.
 *  - method: once, and once per failed set-up.
 */
#include "db/db.h"
#include "payments/apply_rows_private.h"

/* any: Returns the bits (EVENT_PAYMENT_CREATED_BIT ...) that `emitted` of a row with this status
 * must have. The caller emits the events whose bits are missing. */
unsigned payment_events_due(const char *status);

/* co: In `tx`: emits the events of row `id` that are due and not emitted yet, and sets their bits.
 * The caller has locked the row and written its new state. *ret_emitted is set to true when an
 * outbox row was written: the caller then calls events_notify() after the commit. Rows of the store
 * emit nothing. */
AWAITS int announce_payment(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
    MUSTCHECK;
AWAITS int announce_subscription(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
    MUSTCHECK;

/* any: Add the events that are due and not emitted yet, and set their bits in row->emitted. The
 * caller writes the row. */
void announce_payment_row(struct apply_source *source,
                          struct applied *applied,
                          struct payment_row *row);
void announce_subscription_row(struct apply_source *source,
                               struct applied *applied,
                               struct subscription_row *row);
void announce_method_row(struct apply_source *source,
                         struct applied *applied,
                         struct method_row *row);
