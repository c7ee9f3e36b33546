#pragma once
/*
 * What was given back of a payment: the newest sum that its charge showed, without the refunds that
 * failed or were canceled behind that, and at least those that are known and did not fail. A refund
 * that failed stays so. In one second a reading stands above events and of two events the larger
 * sum; there is doubt then, which a reading ends.
 */
#include "payments/apply_payment_private.h"

/* any: true when the row is different; `arena` for the row's texts. */
bool refunds_move(struct arena *arena, struct payment_row *row, const struct payment_facts *facts);
/* any: the facts say something new of a second of which more is known. */
bool refunds_in_doubt(struct arena *arena,
                      const struct payment_row *row,
                      const struct payment_facts *facts);
