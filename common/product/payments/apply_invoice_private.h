#pragma once
/* Payments of a subscription: one payment of type "recurring" for each charge. */
#include "payments/apply_rows_private.h"

/* co: Applies a payment of an invoice. `plan` (NULL when the object is not an event's) may hold the
 * subscription, fetched because its row is unknown. It is fetched once (plan->ask); then the event
 * has to wait for the subscription's own event. Both return APPLY_LATER. */
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
