#pragma once
/* The order in which writers of many records take them. */
#include "records/write/body.h"

/* any: the places of `rows` in the order in which all writers take the records that have these
 * values of `key`, so that those who meet wait for each other and never in a circle; equal ones as
 * they came. As they came altogether when `key` is NULL. Arena-owned. */
size_t *write_order(struct arena *arena,
                    const struct write_row *rows,
                    size_t count,
                    const struct model_field *key);

/* any: both rows have the same value of a unique field, and one that counts: null never does. */
bool write_same(const struct write_row *one,
                const struct write_row *other,
                const struct model_field *field);
