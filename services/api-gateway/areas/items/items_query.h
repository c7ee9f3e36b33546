#pragma once
/*
 * What a URL asks of records, and what filters in bodies do, as typed queries. Filters are written
 * filter[field]=v, filter[field][operator]=v, filter[relation.field]..., filter[or][n]... and
 * filter[and][n]...
 */
#include "http/query.h"
#include "records/records.h"

struct req;

/* any: of a list, a record or an export whose parameters req_query() has checked. 0, or
 * RECORDS_FAILED with ctx->error: invalid_query. */
int items_query_read(struct records_ctx *ctx,
                     const struct query *query,
                     struct records_query *ret_query) MUSTCHECK;
/* any: the same for groups; what is wrong is refused with the rest. */
struct records_aggregate items_aggregate_read(struct arena *arena, const struct query *query);
/* any: the filter parameters of a query; others are ignored. */
struct records_filter items_filter_read(struct arena *arena, const struct query *query);
/* any: the condition that names in brackets make, without its value: {"or", "0", "price", "gte"}.
 * At most QUERY_KEYS_MAX of them. */
struct records_condition items_condition(struct arena *arena, const struct str *keys, size_t count);
/* any: the filter of a body, an object such as {"status":{"eq":"old"}}: 0, or the status that was
 * put. */
int items_filter_body(struct req *r, const json_t *value, struct records_filter *ret_filter)
    MUSTCHECK;
