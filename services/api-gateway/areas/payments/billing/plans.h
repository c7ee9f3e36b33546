#pragma once
/* Subscription plans, and their product and price at the processor. */
#include "app.h"
#include "payments/payment_settings.h"

/* co: Sends a plan to the processor, outside of a transaction: creates, updates and retires product
 * and prices until they match the row. We choose the product's id and give each price its own
 * lookup key. So there is one product per plan, and one price per state of the plan, even when a
 * request is killed midway. Returns 0 also when the processor is unavailable, refuses or is not
 * ready (payment_processor_ready()): the row then keeps what was sent (`synced`), and the next save
 * continues. Otherwise returns the status of an answer that was written, or a negative. */
AWAITS int plan_sync(struct req *r, const struct payment_settings *settings, int64_t plan_id)
    MUSTCHECK;
/* co: Makes product and prices of a plan inactive at the processor, before the plan's row is
 * deleted. Returns 0, also when the plan was never sent or the processor is not ready. Otherwise a
 * PROCESSOR_* or PLAN_LEASE_LOST (*ret_reply says why), the status of an answer that was written,
 * or a negative. */
struct processor_reply;
AWAITS int plan_retire(struct req *r,
                       const struct payment_settings *settings,
                       int64_t plan_id,
                       struct processor_reply *ret_reply) MUSTCHECK;
/* co: Returns the processor's price and product of a plan in the state that its row has now, after
 * a plan_sync() when needed. Each is STR_NONE when the processor does not have it in this state.
 * Arena-owned. */
AWAITS int plan_price(struct req *r,
                      const struct payment_settings *settings,
                      int64_t plan_id,
                      struct str *ret_price,
                      struct str *ret_product) MUSTCHECK;
/* any: Returns a new idempotency key for a call that is harmless to repeat. The processor must
 * carry out each such call, not replay the answer to an earlier one. Arena-owned. */
struct str plan_random_key(struct req *r, const char *what, int64_t id);
