#pragma once
/* What was paid for a subscription: one payment of type "recurring" for each charge. */
#include "payments/apply_rows_private.h"

/* co: `plan` (NULL: not of an event) may have the subscription, read because it was not known; it
 * is asked for once, then there is nothing to do but wait for the subscription's own event: both
 * APPLY_AGAIN. */
AWAITS int invoice_payment_apply(struct apply_source *source,
                                 struct db *tx,
                                 const struct invoice_payment_object *payment,
                                 const struct invoice_object *invoice,
                                 struct apply_plan *plan,
                                 struct applied *applied) MUSTCHECK;
/* co: a charge for it that failed: a payment with the status failed, which a later success moves.
 * An invoice whose subscription the processor does not have does nothing. */
AWAITS int invoice_failed_apply(struct apply_source *source,
                                struct db *tx,
                                const struct invoice_object *invoice,
                                struct apply_plan *plan,
                                struct applied *applied) MUSTCHECK;
/* co: invoice.paid of generations that had no invoice payments, or sent with its payments. */
AWAITS int invoice_paid_apply(struct apply_source *source,
                              struct db *tx,
                              const struct invoice_object *invoice,
                              struct apply_plan *plan,
                              struct applied *applied) MUSTCHECK;
