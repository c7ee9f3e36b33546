#pragma once
/* Explains why a write touched no row. */
#include "records/records.h"

/* co: Fails with not_found, forbidden, precondition_failed or locked, depending on the row and the
 * caller. Returns 0 when nothing forbids the write, or no longer does. `expect_version`: If-Match,
 * 0 = any. */
AWAITS int write_explain(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct db *db,
                         int64_t id,
                         enum perm_action action,
                         int64_t expect_version) MUSTCHECK;
