#pragma once
/* Subscription plans, and what the processor knows of them. */
#include "app.h"
#include "payments/payment_settings.h"

/*
 * co: sends a plan to the processor: product and price are made, renewed or retired until it knows
 * what the row says. Outside of a transaction. The product's id is chosen by us, a price has a
 * lookup key of its own, so that there is one product per plan and one price per state of it,
 * whatever dies when. 0 also when the processor is away, refuses or is not ready: the row keeps
 * what it knows (`synced`) and the next save goes on. Else a status that has been answered, or a
 * negative.
 */
AWAITS int plan_sync(struct req *r, const struct payment_settings *settings, int64_t plan_id)
    MUSTCHECK;
/* co: retires product and price of a plan that is to be removed, before its row goes. 0; a
 * PROCESSOR_* or PLAN_LEASE_LOST when the processor could not be called (*ret_reply says why); a
 * status that has been answered, or a negative below it. */
struct processor_reply;
AWAITS int plan_retire(struct req *r,
                       const struct payment_settings *settings,
                       int64_t plan_id,
                       struct processor_reply *ret_reply) MUSTCHECK;
/* co: the processor's price and product of a plan in the state that the row has now, synced first
 * when needed; both STR_NONE when the processor does not know it. */
AWAITS int plan_price(struct req *r,
                      const struct payment_settings *settings,
                      int64_t plan_id,
                      struct str *ret_price,
                      struct str *ret_product) MUSTCHECK;
/* any: the key of a call that sets a state, is right however often it is made, and must not be
 * answered from the processor's memory: another one each time. Arena-owned. */
struct str plan_fresh_key(struct req *r, const char *what, int64_t id);
