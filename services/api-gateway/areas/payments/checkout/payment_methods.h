#pragma once
/* Saved payment methods that requests name. */

#include "areas/payments/checkout/payments.h"

struct payment_method {
    int64_t id, subscriber_id;
    struct str provider_id, customer, email, status;
};
/* co: Finds the method of a body's payment_method_id: our id (integer) or the processor's (pm_...).
 * Reads the latter from the processor when it is not stored yet and `settings` is not NULL. 404
 * when the method does not exist; 409 payment_state when it is not active, or belongs to no
 * customer. Texts are arena-owned. */
AWAITS int payment_method_find(struct req *r,
                               const struct payment_settings *settings,
                               const json_t *id,
                               struct payment_method *ret_method) MUSTCHECK;
