#pragma once
/*
 * Materialised views as they are read: who may know a materialised view's definition, who is served
 * its rows, and what the rest is shown of both.
 */
#include "areas/dashboards/dashboards.h"

/* any: some of the records are under a row rule (or there are too many entities to know): what is
 * computed of them shows each caller more than its own rows. */
bool view_is_ruled(const struct series_sources *sources);
/* any: the caller may read the entity and every field that a stored query names, and so may know
 * the definition. */
bool view_is_known(struct req *r, int64_t entity_id, struct str query);
/* any: a reply_row_fn for rows of the part "view" in views.sql: what the caller may not know of the
 * definition, or of the rows, becomes null. */
void view_show(struct req *r, const struct rows *rows, size_t row);
/* any: whether the caller is served the rows of the view of a row with the part "made". */
bool view_is_open(struct req *r, const struct rows *rows, size_t row);
/* co: answers with the rows of the view of the path, as records are listed. */
AWAITS int view_rows(struct req *r);
/* co: a guard: whether the caller is served these rows. */
AWAITS int view_rows_guard(struct req *r);
