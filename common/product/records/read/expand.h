#pragma once
/*
 * Expand=author,lines.product. Related records are read by one more statement
 * per relation and level for the whole page (id = any(...), with row and field rule), and written
 * in place of the ids. What the caller may not see is null, or missing from an array.
 */
#include "records/read/columns.h"

#define EXPAND_DEPTH   4
#define EXPAND_PATHS   20
#define EXPAND_RECORDS 10000 /* of one relation for one page */

/* Related records of one relation field, once loaded. */
struct expansion {
    const struct model_field *field;
    struct columns plan; /* of the target; its own expansions hang there */
    struct rows rows;
    struct expansion_id {
        int64_t id;
        size_t row;
    } * index; /* sorted by id */
    size_t count;
};

/* any: adds the named relations ("author,lines.product") to plan->expansions; a relation that is
 * expanded is also selected. 0 or RECORDS_FAILED (invalid_query). */
int expand_plan(struct records_ctx *ctx, struct str paths, struct columns *plan) MUSTCHECK;
/* co: loads everything that the plan expands for these rows, level by level. */
AWAITS int expand_load(struct records_ctx *ctx, const struct columns *plan, const struct rows *rows)
    MUSTCHECK;
/* any: the row of a record; SIZE_MAX when it was not loaded (invisible). */
size_t expand_find(const struct expansion *expansion, int64_t id);
