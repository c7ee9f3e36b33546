#pragma once
/* Audit log of administrative changes: one row per change, in the transaction of the change. */
#include "db/db.h"
#include "rights/rights.h"

/* any: Returns a call for db_batch() that adds the row; arena-owned. `target_id`: 0 = none.
 * `detail`: JSON text without secrets, or empty. */
struct db_call audit_call(struct arena *arena,
                          const struct caller *caller,
                          const char *action,
                          const char *target,
                          int64_t target_id,
                          struct str detail,
                          struct str request_id);
