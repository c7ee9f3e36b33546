#pragma once
/*
 * Materialised views: a series of an entity (series.h) as a table of the project. The gateway
 * stores the query as JSON, the runner makes a table of it, and the gateway reads the table like
 * that of an entity. Results as in records.h.
 */
#include "records/series.h"

#define VIEW_ROWS_MAX 100000

/* any: writes the query as JSON for view_query_read(). */
void view_query_print(struct jw *w, const struct records_series *query);
/* any: parses such JSON; false if it is malformed. Texts are borrowed from the arena. */
bool view_query_read(struct arena *arena, struct str text, struct records_series *ret_query);

/* any: returns 0, or RECORDS_FAILED with findings if two columns of the table would have the same
 * name, or one the name "id". */
int view_columns_check(struct records_ctx *ctx, const struct series_plan *plan) MUSTCHECK;
/* any: writes the columns as JSON: [{"name":"sum_total","type":"float"}]. */
void view_columns_print(struct jw *w, struct arena *arena, const struct series_plan *plan);

/* co: creates and fills the table of this generation. ctx->db must be a transaction that may change
 * schemas. RECORDS_FAILED with too_many_rows above VIEW_ROWS_MAX. */
AWAITS int view_table_create(struct records_ctx *ctx,
                             const struct entity *source,
                             const struct series_plan *plan,
                             int64_t id,
                             int64_t generation,
                             int64_t *ret_rows) MUSTCHECK;
/* co: drops the tables of all generations except `keep` (0 = all). ctx->db as for
 * view_table_create(). */
AWAITS int view_tables_drop(struct records_ctx *ctx, int64_t id, int64_t keep) MUSTCHECK;

/* any: makes an entity that reads the table: its fields are id and the columns. The entity lives as
 * long as the arena. Its id is negative, so that nothing about it is cached. NULL if `columns` was
 * not written by view_columns_print(). */
const struct entity *
view_entity(struct arena *arena, int64_t id, int64_t generation, struct str columns);
