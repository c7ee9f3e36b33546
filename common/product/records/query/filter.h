#pragma once
/*
 * A filter's conditions as a tree of checked ones, and as SQL.
 */
#include "records/rules/statement.h"

struct filter;

/* any: *ret_filter is arena-owned (ctx->task), NULL without conditions. 0, or RECORDS_FAILED:
 * invalid_query with findings that name the conditions; a field that may not be read is reported as
 * one that does not exist. */
int filter_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_filter *from,
                struct filter **ret_filter) MUSTCHECK;
/* any: appends " and (...)", or nothing for NULL. `alias` names the row of `entity`. */
void filter_where(const struct records_ctx *ctx,
                  const struct filter *filter,
                  const char *alias,
                  struct strbuf *sql,
                  struct sql_params *params);
