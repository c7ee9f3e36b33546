#pragma once
/*
 * A change of the data model: one transaction that locks the model's version row, so that changes
 * of one project come one after the other while its traffic goes on. The change runs against the
 * model as it is under that lock (r->scope->model), so its checks hold until the commit.
 */
#include "app.h"

/* What the audit log says about the change; detail is JSON text or empty. */
struct model_audit {
    const char *action;
    const char *target;
    int64_t target_id;
    struct str detail;
};

/* co: makes the change on r->scope->db, describes it in *audit; returns 0 or what it has answered.
 * It may run several times and so must not change `arg` in a way that a second run would misread.
 */
typedef int (*model_change_fn)(struct req *r, void *arg, struct model_audit *audit);

/* co: runs the change, raises the model's version, writes the audit row, commits and notifies
 * everyone. A change that waits too long for a table in use is rolled back and tried again a few
 * times, so that the requests queued behind it are let through; then 503. */
AWAITS int model_change(struct req *r, model_change_fn change, void *arg) MUSTCHECK;

/* co: adds the rows of `count` fields and gives them their ids and columns. */
AWAITS int model_fields_add(struct req *r,
                            const struct entity *entity,
                            struct model_field *fields,
                            size_t count) MUSTCHECK;
/* co: stores what a field has become. */
AWAITS int model_field_store(struct req *r, const struct model_field *field) MUSTCHECK;
