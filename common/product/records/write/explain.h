#pragma once
/* Why a statement touched no row. */
#include "records/records.h"

/* co: fails with not_found, forbidden, precondition_failed or locked, as the row is for this
 * caller; 0 when nothing speaks against the write (any more). */
AWAITS int write_explain(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct db *db,
                         int64_t id,
                         enum perm_action action,
                         int64_t expect_version) MUSTCHECK;
