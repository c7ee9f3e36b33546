#pragma once
/*
 * Events of payments that workflows listen to: one outbox row per object and kind, in the
 * transaction of the change, when a workflow listens. Told when the row enters the state; what
 * arrives late and moves nothing tells nothing.
 */
#include "db/db.h"
#include "payments/objects.h"

/* any: which bits (EVENT_PAYMENT_CREATED_BIT ...) of `told` a row in this state has to have; the
 * caller tells those that it lacks. */
unsigned payment_told_due(const char *status);

/* co: in `tx`: tells what is due and not told yet of the row with this id, and sets its bits: one
 * statement each. The row is locked by the caller and has its new state. *ret_rang is set when a
 * row was written (the caller rings after commit). Store rows tell nothing. */
AWAITS int announce_payment(struct task *task, struct db *tx, int64_t id, bool *ret_rang) MUSTCHECK;
AWAITS int announce_subscription(struct task *task, struct db *tx, int64_t id, bool *ret_rang)
    MUSTCHECK;
