#pragma once
/* The order in which bulk writers lock records. */
#include "records/write/body.h"

/* any: Returns the indexes of `rows`, sorted by the rows' values of `key`. All writers lock records
 * in this order, so concurrent writers wait for each other without a deadlock. Rows with equal
 * values keep their order, as do all rows when `key` is NULL. Arena-owned. */
size_t *rows_lock_order(struct arena *arena,
                        const struct write_row *rows,
                        size_t count,
                        const struct model_field *key);

/* any: Returns true when both rows have the same non-null value of a unique field. Null values do
 * not conflict. */
bool rows_have_same_value(const struct write_row *one,
                          const struct write_row *other,
                          const struct model_field *field);
