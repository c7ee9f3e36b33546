#pragma once
/* Audit log of administrative changes: one row in the transaction of the change. */
#include "db/db.h"
#include "rights/rights.h"

/* any: a call for db_batch; `detail` is JSON text (no secrets) or empty. */
struct db_call audit_call(struct arena *arena,
                          const struct caller *caller,
                          const char *action,
                          const char *target,
                          int64_t target_id,
                          struct str detail,
                          struct str request_id);
