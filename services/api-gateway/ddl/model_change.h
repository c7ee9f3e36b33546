#pragma once
/*
 * A change of the data model: one transaction that locks the model's version row. The lock
 * serialises model changes of a project; other requests are not blocked by it. The change uses the
 * model as read under the lock (r->scope->model), so its checks hold until the commit.
 */
#include "app.h"

/* The audit log entry of the change; `detail` is JSON text or empty. */
struct model_audit {
    const char *action;
    const char *target;
    int64_t target_id;
    struct str detail;
};

/* co: Makes the change on r->scope->db and describes it in *audit. Returns 0 or the status that it
 * has answered. The function may run several times, so it must not change `arg` in a way that a
 * second run would misread. */
typedef int (*model_change_fn)(struct req *r, void *arg, struct model_audit *audit);

/* co: Runs the change, raises the model's version, writes the audit row, commits and notifies all
 * processes. A change that waits too long for a table in use is rolled back and retried a few
 * times, so that requests waiting for its lock can proceed. Returns 0 or the status of the answer:
 * 503 after the last try. */
AWAITS int model_change(struct req *r, model_change_fn change, void *arg) MUSTCHECK;

/* co: Inserts the rows of `count` fields and sets their ids and columns. */
AWAITS int model_fields_add(struct req *r,
                            const struct entity *entity,
                            struct model_field *fields,
                            size_t count) MUSTCHECK;
/* co: Updates the row of a changed field. */
AWAITS int model_field_store(struct req *r, const struct model_field *field) MUSTCHECK;
