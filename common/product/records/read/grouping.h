#pragma once
/*
 * Groups of records with their computed values, as a checked plan and as SQL. Used by the aggregate
 * of a URL (aggregate.c) and by the series of a chart (series.c).
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
    struct str timezone;     /* for buckets and for the window */
    struct path window_path; /* if `has_window`: a date or time with from <= day < to */
    bool has_window;
    struct bucket_window window;
    size_t order_column; /* column that sorts before the keys, from 1; 0 = none */
    bool descending;
    int64_t limit; /* maximum number of groups; one more is read */
};

/* any: the name of the SQL function: "sum", "avg", "min", "max". */
const char *grouping_function(enum metric_kind kind);
/* any: adds a field to group by. Returns false with a finding on `parameter`. */
bool grouping_add_key(struct records_ctx *ctx,
                      struct grouping *in,
                      struct str parameter,
                      struct str name,
                      enum bucket_unit bucket);
/* any: adds a computed value. Returns false with a finding on `parameter`. */
bool grouping_add_metric(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         enum metric_kind kind,
                         struct str name);
/* any: sets the window's field; the caller sets its days. Returns false with a finding on
 * `parameter`. */
bool grouping_add_window(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         struct str name);
/* any: whether a field is a date or a time. */
bool grouping_is_time(const struct model_field *field);
/* any: appends the statement of grouping_read(). */
void grouping_select(struct records_ctx *ctx,
                     const struct grouping *in,
                     struct strbuf *text,
                     struct sql_params *params);
/* co: reads the groups. The columns are the keys, the count (always), then the metrics. */
AWAITS int grouping_read(struct records_ctx *ctx, const struct grouping *in, struct rows *ret_rows)
    MUSTCHECK;
