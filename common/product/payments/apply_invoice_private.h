#pragma once
/* Payments of a subscription: one payment of type "recurring" for each charge. */
#include "payments/apply_rows_private.h"

/* co: Applies a payment of an invoice. `plan` is NULL when the object is not an event's. When no
 * row of the subscription is known, plan->fetched_subscription is applied. If it is NULL, returns
 * APPLY_LATER: the first time with plan->needs_reading, so that the subscription is fetched; later
 * the event waits for the subscription's own event. */
AWAITS int invoice_payment_apply(struct apply_source *source,
                                 struct db *tx,
                                 const struct invoice_payment_object *payment,
                                 const struct invoice_object *invoice,
                                 struct apply_plan *plan,
                                 struct applied *applied) MUSTCHECK;
/* co: Applies a charge that failed: a payment with the status failed, which a later success moves.
 * Does nothing when the processor does not have the invoice's subscription. */
AWAITS int invoice_failed_apply(struct apply_source *source,
                                struct db *tx,
                                const struct invoice_object *invoice,
                                struct apply_plan *plan,
                                struct applied *applied) MUSTCHECK;
/* co: Applies invoice.paid of API generations without invoice payments, or with its payments
 * expanded. */
AWAITS int invoice_paid_apply(struct apply_source *source,
                              struct db *tx,
                              const struct invoice_object *invoice,
                              struct apply_plan *plan,
                              struct applied *applied) MUSTCHECK;
