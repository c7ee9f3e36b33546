#pragma once
/* Methods of payment that requests name. */

#include "areas/payments/checkout/payments.h"

struct payment_method {
    int64_t id, subscriber_id;
    struct str provider_id, customer, email, status;
};
/* co: a body's payment_method_id: ours (integer) or the processor's (pm_...), which is looked up
 * there when it is not known here. Unknown 404; not active, or nobody's 409 payment_state. */
AWAITS int payment_method_find(struct req *r,
                               const struct payment_settings *settings,
                               const json_t *id,
                               struct payment_method *ret_method) MUSTCHECK;
