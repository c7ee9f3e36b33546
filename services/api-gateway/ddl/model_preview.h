#pragma once
/*
 * Preview of a change of the data model: `?dry_run=true` of the routes that write entities, fields
 * and enums. Validation, rights and If-Match refuse the preview as they refuse the change. The
 * answer lists conflicts with stored records and the objects that the change affects.
 */
#include "app.h"

/* The entity or field that is changed; the preview lists what refers to it. entity NULL: a new
 * entity or an enum, which nothing of these kinds refers to. */
struct model_subject {
    const struct entity *entity;
    const struct model_field *field;
};

/* co: Runs the change's own checks with r->scope->preview set (ddl_preview.h), and sets *subject.
 * Returns 0 or the status that it has answered. */
typedef int (*model_preview_fn)(struct req *r, void *arg, struct model_subject *subject);

/* co: Checks a change against the current model and records, and answers the findings. Ends a
 * transaction that If-Match has begun; none is open during the checks. Returns the status. */
AWAITS int model_preview(struct req *r, model_preview_fn make, void *arg) MUSTCHECK;

/* any: Sets *ret_dry_run if the request has `dry_run=true`. Returns 0, or 400 for an invalid query.
 */
int model_is_dry_run(struct req *r, bool *ret_dry_run) MUSTCHECK;
/* The routes' .query and .dry_run. */
extern const struct query_param model_dry_run_query[];
extern const struct schema model_preview_schema;
