#pragma once
/* Offers, their codes, and redeeming one. */
#include "app.h"

/* What a redeemed code gives. Texts are arena-owned. */
struct offer {
    int64_t id, redemption_id;
    struct str kind;      /* percent, amount, trial, credit, store */
    int64_t basis_points; /* percent: off the price */
    int64_t amount_minor; /* amount: off the price; credit: onto the balance */
    struct str currency;  /* of amount_minor */
    int64_t trial_days;   /* trial */
    struct str store_offer_id;
};
/* co: in the open transaction (sql_begin): redeems the code for a user, once more than which would
 * be too often or too late is answered: 404, 409 offer_unavailable. `plan_id` 0 = for no plan;
 * `subscription_id` 0 = none. Credit is booked. */
AWAITS int offer_redeem(struct req *r,
                        struct str code,
                        int64_t user_id,
                        int64_t plan_id,
                        int64_t subscription_id,
                        struct offer *ret_offer) MUSTCHECK;
/* any: the price of a plan under the offer: never below 0. */
int64_t offer_price(const struct offer *offer, int64_t amount_minor);
/* any: codes are compared in upper case without surrounding blanks; STR_NONE for what is no code.
 * Arena-owned. */
struct str offer_code_normal(struct arena *arena, struct str code);
