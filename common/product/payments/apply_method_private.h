#pragma once
/*
 * Saved methods. One row for each method, one for each set-up that failed; the latter goes when its
 * set-up succeeds after all. A method that was detached never comes back.
 */
#include "payments/apply_rows_private.h"

/* co: attached (or read while it is), or detached; `customer` is whom a detached one belonged
 * to. */
AWAITS int method_apply(struct apply_source *source,
                        struct db *tx,
                        const struct method_object *method,
                        bool attached,
                        struct str customer,
                        struct applied *applied) MUSTCHECK;
AWAITS int setup_apply_failed(struct apply_source *source,
                              struct db *tx,
                              const struct setup_object *setup,
                              struct applied *applied) MUSTCHECK;
/* co: its method is known by it, whether or not it has been attached yet. */
AWAITS int setup_apply_succeeded(struct apply_source *source,
                                 struct db *tx,
                                 const struct setup_object *setup,
                                 struct applied *applied) MUSTCHECK;
