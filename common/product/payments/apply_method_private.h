#pragma once
/*
 * Saved methods. Each method has one row, and so has each set-up that failed. The row of a failed
 * set-up is deleted when the set-up succeeds after all. A method that was detached never becomes
 * active again.
 */
#include "payments/apply_rows_private.h"

/* co: Applies a method that is attached, or that was detached. `customer`: the customer that a
 * detached method belonged to. */
AWAITS int method_apply(struct apply_source *source,
                        struct db *tx,
                        const struct method_object *method,
                        bool attached,
                        struct str customer,
                        struct applied *applied) MUSTCHECK;
/* co: Records a failed set-up. Does nothing when the set-up has succeeded since. */
AWAITS int setup_apply_failed(struct apply_source *source,
                              struct db *tx,
                              const struct setup_object *setup,
                              struct applied *applied) MUSTCHECK;
/* co: Creates or completes the method's row, even if the method has not been attached yet. */
AWAITS int setup_apply_succeeded(struct apply_source *source,
                                 struct db *tx,
                                 const struct setup_object *setup,
                                 struct applied *applied) MUSTCHECK;
