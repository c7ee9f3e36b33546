#pragma once
/*
 * Queries over records, as typed structs. Fields are named by text, and values are text. Which
 * field a name means, whether the caller may read it and which type its values have is decided when
 * the query runs, against the model at that time. The gateway makes queries from URLs and bodies
 * (items/items_query.h), the runner from the parameters of steps (steps/data.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "catalog/operator.h"
#include "catalog/problem.h"

struct records_ctx;

#define FILTER_GROUPS     3   /* nested groups around one condition */
#define FILTER_NAME_BYTES 256 /* longer names appear as "filter" in findings */
#define FILTER_MAX        50
#define FILTER_ITEMS      500 /* values of in and nin */

struct records_condition {
    struct str name; /* name in findings: "filter[or][0][author.country][ne]" */
    struct filter_group {
        bool is_or;          /* true: or, false: and */
        int64_t slot;        /* n of or[n]: conditions with the same slot belong together */
    } groups[FILTER_GROUPS]; /* outermost first */
    size_t group_count;
    struct str field; /* "author.country"; STR_NONE: no field was named, which is refused */
    enum filter_op op;
    struct str value; /* one value, or a list for in, nin and between, see list_take_value() */
    const struct str *list; /* separate values instead of `value`; NULL = use `value` */
    size_t list_count;
};

struct records_filter {
    const struct records_condition *items; /* in the order in which the caller wrote them */
    size_t item_count;                     /* number of `items` */
};

enum records_order { ORDER_NONE, ORDER_ASC, ORDER_DESC };

struct records_query {
    struct records_filter filter;
    struct str fields;        /* names, comma-separated; STR_NONE = all */
    struct str expand;        /* relations, comma-separated; dotted paths go deeper */
    struct str sort;          /* names, comma-separated; '-' before a name = descending */
    enum records_order order; /* of a single field without '-', or of the ids if there is no sort */
    int64_t limit, page;      /* see http/page.h; page 0 = not given */
    bool with_total;          /* whether to count the total */
    struct str cursor;  /* cursor of the previous page; empty = first page; STR_NONE = no cursors */
    struct str context; /* filter and order as text; a cursor is valid only with the same text */
};

#define AGGREGATE_GROUPS 1000
enum metric_kind { METRIC_SUM, METRIC_AVG, METRIC_MIN, METRIC_MAX, METRIC_KINDS };

struct records_aggregate {
    struct records_filter filter;
    struct str group_by;              /* names, comma-separated; STR_NONE = one group */
    struct str metrics[METRIC_KINDS]; /* names for each kind, comma-separated; STR_NONE = none */
    struct str count;                 /* "*": with the count; STR_NONE: only without metrics */
    int64_t limit;                    /* maximum number of groups, at most AGGREGATE_GROUPS */
};
