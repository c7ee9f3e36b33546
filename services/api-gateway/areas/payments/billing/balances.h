#pragma once
/* Balances: what users hold in a currency or in a unit of the project's own ("credits", whole
 * numbers). */
#include "app.h"

#define BALANCE_UNIT_MAX 32

/* any: a unit as it is stored: lower case; letters, digits, '-' and '_'; STR_NONE for what is none.
 * Arena-owned. */
struct str balance_unit(struct arena *arena, struct str text);
/* any: a number of `unit` as the body has it -> minor units; the 400 that names `field` when it is
 * none, has more decimals than the unit, or is out of bounds. `may_be_negative`: below 0 is fine.
 */
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
/* co: in the open transaction: changes the balance and notes the entry. 409 when the user holds too
 * little, or would hold more than can be counted. *ret_balance: the balance afterwards. */
AWAITS int balance_book(struct req *r,
                        const struct balance_change *change,
                        struct rows *ret_balance) MUSTCHECK;
