#pragma once
/* Checks the records that a write refers to. */
#include "records/write/body.h"

/* co: Adds a finding to every row that refers to a record which does not exist for this caller.
 * Without `all`, a relation to one record of an entity without a row rule is left to its foreign
 * key, which reports a missing record. `all`: checks every reference; use it for rows that are
 * written together. */
AWAITS int targets_check(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct write_row *rows,
                         size_t count,
                         bool all) MUSTCHECK;
