#pragma once
/*
 * The parameter expand, as in expand=author,lines.product. For each relation and level, one more
 * statement reads the related records of the whole page (id = any(...), with row and field rule).
 * The related records are written instead of their ids. A record that the caller may not see is
 * null, or missing from an array.
 */
#include "records/read/columns.h"

#define EXPAND_DEPTH   4
#define EXPAND_PATHS   20
#define EXPAND_RECORDS 10000 /* for one relation and one page */

/* Related records of one relation field, once loaded. */
struct expansion {
    const struct model_field *field;
    struct columns plan; /* plan of the target; contains the expansions of the next level */
    struct rows rows;
    struct expansion_id {
        int64_t id;
        size_t row;
    } * index; /* sorted by id */
    size_t count;
};

/* any: adds the named relations ("author,lines.product") to plan->expansions, and selects them if
 * they are not selected. Returns 0 or RECORDS_FAILED (invalid_query). */
int expand_plan(struct records_ctx *ctx, struct str paths, struct columns *plan) MUSTCHECK;
/* co: loads all expansions of the plan for these rows, level by level. */
AWAITS int expand_load(struct records_ctx *ctx, const struct columns *plan, const struct rows *rows)
    MUSTCHECK;
/* any: the row of a record; SIZE_MAX if it was not loaded because it is invisible. */
size_t expand_find(const struct expansion *expansion, int64_t id);
