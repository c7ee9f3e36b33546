#pragma once
/*
 * The consequence of a change of the data model before it is made: `?dry_run=true` of the routes
 * that write entities and fields. Validation, rights and If-Match refuse it as they refuse the
 * change; what stored records say against it, and what else it concerns, is the answer.
 */
#include "app.h"

/* What refers to it is looked up: an entity, or one of its fields. entity NULL: nothing can. */
struct model_subject {
    const struct entity *entity;
    const struct model_field *field;
};

/* co: the change's own checks with r->scope->preview set (ddl_preview.h); names what is changed.
 * Returns 0 or what it has answered. */
typedef int (*model_look_fn)(struct req *r, void *arg, struct model_subject *subject);

/* co: looks at a change as the model and the records are now, and answers what was found. No
 * transaction is open meanwhile. */
AWAITS int model_preview(struct req *r, model_look_fn look, void *arg) MUSTCHECK;

/* any: whether the request asks for that; 400 for a query that makes no sense. */
int model_is_dry_run(struct req *r, bool *ret_dry_run) MUSTCHECK;
/* .query and .dry_run of such routes. */
extern const struct query_param model_dry_run_query[];
extern const struct schema model_preview_schema;
