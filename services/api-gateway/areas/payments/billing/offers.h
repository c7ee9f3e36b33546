#pragma once
/* Offers, their codes, and redeeming a code. */
#include "app.h"

/* The offer of a redeemed code. Texts are arena-owned. */
struct offer {
    int64_t id, redemption_id;
    struct str kind;      /* percent, amount, trial, credit, store */
    int64_t basis_points; /* kind percent: discount in hundredths of a percent */
    int64_t amount_minor; /* kind amount: discount; kind credit: added to the balance */
    struct str currency;  /* of amount_minor: a currency, for credit also a unit */
    int64_t trial_days;   /* kind trial */
    struct str store_offer_id;
};
/* co: In the open transaction (sql_begin): redeems a code for a user. Records the redemption,
 * counts the use of the code and books a credit. `plan_id` 0 = for no plan; `subscription_id` 0 =
 * none. 404 when the code does not exist; 409 offer_unavailable when the code or the offer is
 * inactive, out of its time, used up, or is for another user or plan. */
AWAITS int offer_redeem(struct req *r,
                        struct str code,
                        int64_t user_id,
                        int64_t plan_id,
                        int64_t subscription_id,
                        struct offer *ret_offer) MUSTCHECK;
/* any: Returns a plan's price in minor units after the discount of the offer, never below 0. */
int64_t offer_price(const struct offer *offer, int64_t amount_minor);
/* any: Returns a code in the form in which codes are stored and compared: upper case, without
 * surrounding blanks. STR_NONE when `code` is malformed. Arena-owned. */
struct str offer_code_normalize(struct arena *arena, struct str code);
