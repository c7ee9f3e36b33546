#pragma once
/*
 * Reads URLs, and the filters of request bodies, as typed queries of records. Filters are written
 * filter[field]=v, filter[field][operator]=v, filter[relation.field]..., filter[or][n]... and
 * filter[and][n]...
 */
#include "http/query.h"
#include "records/records.h"

struct req;

/* any: Reads the query of a list, a record or an export, whose parameters req_query() has checked.
 * Returns 0, or RECORDS_FAILED with invalid_query in ctx->error. *ret_query lives as long as
 * `query` and the task's arena. */
int items_query_read(struct records_ctx *ctx,
                     const struct query *query,
                     struct records_query *ret_query) MUSTCHECK;
/* any: Reads the query of an aggregate. records_aggregate() refuses invalid values. */
struct records_aggregate items_aggregate_read(struct arena *arena, const struct query *query);
/* any: Reads the filter parameters of a query and ignores all other parameters. */
struct records_filter items_filter_read(struct arena *arena, const struct query *query);
/* any: Returns the condition that a list of at most QUERY_KEYS_MAX names in brackets describes,
 * without its value: {"or", "0", "price", "gte"}. */
struct records_condition
items_condition_read(struct arena *arena, const struct str *keys, size_t count);
/* any: Reads the filter of a body, an object such as {"status":{"eq":"old"}}. Returns 0, or the
 * HTTP status of the error response that was set. */
int items_filter_body(struct req *r, const json_t *value, struct records_filter *ret_filter)
    MUSTCHECK;
