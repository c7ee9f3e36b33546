#pragma once
/*
 * Rights on materialised views: which callers may see a view's definition, which may read its rows,
 * and what is hidden from all others.
 */
#include "areas/dashboards/dashboards.h"

/* any: Returns whether a source entity has row-level security, or there are too many sources to
 * know. Values computed from such records tell a caller more than the rows that it may see. */
bool view_has_row_rules(const struct series_sources *sources);
/* any: Returns whether the caller may see a definition: it is an administrator, or it may read the
 * entity and every field that the stored query names. */
bool view_definition_is_readable(struct req *r, int64_t entity_id, struct str query);
/* any: A reply_row_fn for rows of the part "view" in views.sql. Sets what the caller may not see of
 * the definition, of the rows and of the last error to null. */
void view_hide_members(struct req *r, const struct rows *rows, size_t row);
/* any: Returns whether the caller may read the rows of a view; `row` has the part "made" of
 * views.sql. */
bool view_rows_are_readable(struct req *r, const struct rows *rows, size_t row);
/* co: Answers with the rows of the view of the path, in the form of a list of records. */
AWAITS int view_rows(struct req *r);
/* co: route.guard: refuses callers that may not read the rows, as view_find() does. */
AWAITS int view_rows_guard(struct req *r);
