#pragma once
/*
 * Events of payments that workflows listen to: one outbox row per object and kind, in the
 * transaction of the change, when a workflow listens. Emitted when the row enters the state; what
 * arrives late and moves nothing emits nothing. PaymentFailed alone is emitted once per decline,
 * also when the next attempt is under way by then; not when the payment is authorized, paid or
 * canceled.
 */
#include "db/db.h"
#include "payments/apply_rows_private.h"

/* any: which bits (EVENT_PAYMENT_CREATED_BIT ...) of `emitted` a row in this state has to have;
 * the caller emits those that it lacks. */
unsigned payment_events_due(const char *status);

/* co: in `tx`: emits what is due and not emitted yet of the row with this id, and sets its bits:
 * one statement each. The row is locked by the caller and has its new state. *ret_emitted is set
 * when a row was written (the caller emits after commit). Store rows emit nothing. */
AWAITS int announce_payment(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
    MUSTCHECK;
AWAITS int announce_subscription(struct task *task, struct db *tx, int64_t id, bool *ret_emitted)
    MUSTCHECK;

/* any: adds the events that the row's state is due and that were not emitted yet; sets
 * row->emitted. The row itself is written by the caller. */
void announce_payment_row(struct apply_source *source,
                          struct applied *applied,
                          struct payment_row *row);
void announce_subscription_row(struct apply_source *source,
                               struct applied *applied,
                               struct subscription_row *row);
void announce_method_row(struct apply_source *source,
                         struct applied *applied,
                         struct method_row *row);
