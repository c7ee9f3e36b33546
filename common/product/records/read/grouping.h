#pragma once
/*
 * Groups of records with their computed values, as one checked plan and as SQL: what the aggregate
 * of a URL (aggregate.c) and the series of a chart (series.c) become.
 */
#include "records/bucket.h"
#include "records/query/filter.h"
#include "records/query/path.h"

#define GROUPING_KEYS    3
#define GROUPING_METRICS 20

struct grouping {
    const struct entity *entity;
    struct grouping_key {
        struct path path;
        struct str name;
        enum bucket_unit bucket;
    } keys[GROUPING_KEYS];
    size_t key_count;
    struct grouping_metric {
        enum metric_kind kind;
        struct path path;
        struct str name;
    } metrics[GROUPING_METRICS];
    size_t metric_count;
    struct filter *filter;
    struct str timezone; /* of buckets and of the window */
    struct path within;  /* with `windowed`: a date or time of the days from <= ... < to */
    bool windowed;
    struct bucket_window window;
    size_t order; /* column that orders before the keys do, from 1; 0 = none */
    bool descending;
    int64_t limit; /* groups; one more is read */
};

/* any: "sum", "avg", "min", "max". */
const char *grouping_function(enum metric_kind kind);
/* any: finds what is grouped by; false with a finding on `parameter`. */
bool grouping_add_key(struct records_ctx *ctx,
                      struct grouping *in,
                      struct str parameter,
                      struct str name,
                      enum bucket_unit bucket);
/* any: the same of a computed value. */
bool grouping_add_metric(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         enum metric_kind kind,
                         struct str name);
/* any: the same of the window's field; its days are set by the caller. */
bool grouping_add_window(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         struct str name);
/* any: whether a field is a date or a time. */
bool grouping_is_time(const struct model_field *field);
/* any: appends the statement that grouping_read() sends. */
void grouping_select(struct records_ctx *ctx,
                     const struct grouping *in,
                     struct strbuf *text,
                     struct sql_params *params);
/* co: reads the groups: columns are the keys, the count (always), the metrics. */
AWAITS int grouping_read(struct records_ctx *ctx, const struct grouping *in, struct rows *ret_rows)
    MUSTCHECK;
