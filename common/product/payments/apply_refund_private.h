#pragma once
/*
 * Refunds of a payment. The refunded sum is the newest sum that the charge showed, without the
 * refunds that failed or were canceled since then, and at least the sum of the known refunds that
 * did not fail. A refund that failed stays so. Within one second a reading outranks events, and of
 * two events the larger sum wins; the sum is then in doubt until a reading resolves it.
 */
#include "payments/apply_payment_private.h"

/* any: Applies the facts' refunds to the row. Returns true when the row changed. `arena` holds the
 * row's new texts. */
bool refunds_update(struct arena *arena,
                    struct payment_row *row,
                    const struct payment_facts *facts);
/* any: Returns whether the facts of an event would change the refunded sum within a second of which
 * the row already knows a sum of the charge, or the failure of a refund. */
bool refunds_in_doubt(struct arena *arena,
                      const struct payment_row *row,
                      const struct payment_facts *facts);
