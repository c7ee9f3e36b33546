#pragma once
/* References of a write. */
#include "records/write/body.h"

/* co: adds a finding to every row that refers to a record which does not exist for this caller. One
 * row alone leaves to its foreign keys what they can tell: relations to one record of an entity
 * without a row rule. With `all`, for rows that are written together, everything is asked for. */
AWAITS int targets_check(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct write_row *rows,
                         size_t count,
                         bool all) MUSTCHECK;
