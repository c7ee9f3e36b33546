#pragma once
/*
 * Internal to records/: filter[...] parameters as a tree of checked conditions, and as SQL.
 * Grammar: filter[field]=v, filter[field][op]=v, filter[relation.field]..., filter[or][n]..., and
 * filter[and][n]..., at most FILTER_DEPTH levels and FILTER_MAX conditions.
 */
#include "records/rls.h"

#define FILTER_DEPTH 5
#define FILTER_MAX   50
#define FILTER_ITEMS 500 /* of in and nin */

struct filter;

/* any: *ret_filter is arena-owned (ctx->task), NULL when the query has no filter. Parameters with
 * another name are ignored. 0, or RECORDS_FAILED: invalid_query with findings that name the
 * parameters; a field that may not be read is reported as one that does not exist. */
int filter_parse(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct query *query,
                 struct filter **ret_filter) MUSTCHECK;
/* any: appends " and (...)", or nothing for NULL. `alias` names the row of `entity`. */
void filter_where(const struct records_ctx *ctx,
                  const struct filter *filter,
                  const char *alias,
                  struct strbuf *sql,
                  struct sql_params *params);
