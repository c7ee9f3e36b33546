#pragma once
/* Balances of users: amounts of a currency, or whole numbers of a unit that the project defines
 * ("credits"). */
#include "app.h"

#define BALANCE_UNIT_MAX 32

/* any: Returns a unit in its stored form: lower case, at most BALANCE_UNIT_MAX letters, digits, '-'
 * and '_', with a letter first. STR_NONE when `text` is no unit. Arena-owned. */
struct str balance_unit(struct arena *arena, struct str text);
/* any: Converts a number of a body into minor units of `unit`. Returns the 400 that names `field`
 * when the value is no number, has more decimals than the unit, or is out of range.
 * `may_be_negative`: negative numbers are allowed. */
int balance_minor(struct req *r,
                  const char *field,
                  const json_t *number,
                  struct str unit,
                  bool may_be_negative,
                  int64_t *ret_minor) MUSTCHECK;

struct balance_change {
    int64_t user_id;
    struct str unit;
    int64_t delta_minor;
    bool may_overdraw;
    struct str reason, reference; /* reference may be STR_NONE */
    int64_t actor_id;
};
/* co: In the open transaction: changes the balance and adds the entry. 409 when the user holds too
 * little, or would hold more than a JSON number carries exactly. *ret_balance: the row of the
 * balance afterwards, arena-owned. */
AWAITS int balance_book(struct req *r,
                        const struct balance_change *change,
                        struct rows *ret_balance) MUSTCHECK;
