#pragma once
/* Filters: checked conditions as a tree, and the tree as SQL. */
#include "records/rules/statement.h"

struct filter;

/* any: checks a filter. *ret_filter is arena-owned (ctx->task), NULL without conditions. Returns 0,
 * or RECORDS_FAILED (invalid_query) with findings that name the conditions. A field that the caller
 * may not read is reported as a field that does not exist. */
int filter_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_filter *from,
                struct filter **ret_filter) MUSTCHECK;
/* any: appends " and (...)", or nothing for NULL. `alias` names the row of `entity`. */
void filter_put_where(const struct records_ctx *ctx,
                      const struct filter *filter,
                      const char *alias,
                      struct strbuf *sql,
                      struct sql_params *params);
