#pragma once
/*
 * Materialised views: a series of an entity (series.h) as a table of the project. The gateway
 * stores its query in a form that the runner reads; the runner makes a table of it; the gateway
 * reads that like an entity's. Results as those of records.h.
 */
#include "records/series.h"

#define VIEW_ROWS_MAX 100000

/* any: the query as JSON that view_query_read() understands. */
void view_query_print(struct jw *w, const struct records_series *query);
/* any: false when the text is none. Texts borrow from the arena. */
bool view_query_read(struct arena *arena, struct str text, struct records_series *ret_query);

/* any: 0, or findings where columns of the table would have one name, or that of its own "id". */
int view_check(struct records_ctx *ctx, const struct series_plan *plan) MUSTCHECK;
/* any: its columns as JSON: [{"name":"sum_total","type":"float"}]. */
void view_columns_print(struct jw *w, struct arena *arena, const struct series_plan *plan);

/* co: in ctx->db, a transaction that changes schemas: makes the table of this generation and fills
 * it. RECORDS_FAILED with too_many_rows above VIEW_ROWS_MAX. */
AWAITS int view_make(struct records_ctx *ctx,
                     const struct entity *source,
                     const struct series_plan *plan,
                     int64_t id,
                     int64_t generation,
                     int64_t *ret_rows) MUSTCHECK;
/* co: in such a transaction: drops the tables of all its generations but one (0 = all). */
AWAITS int view_drop(struct records_ctx *ctx, int64_t id, int64_t keep) MUSTCHECK;

/* any: the table as an entity that can be read: rows have an id and the columns. It lives as long
 * as the arena, and its id is negative: nothing is kept of it; NULL when `columns` is not what
 * view_columns_print() wrote. */
const struct entity *
view_entity(struct arena *arena, int64_t id, int64_t generation, struct str columns);
