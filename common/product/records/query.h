#pragma once
/*
 * What readers of records ask for, typed. Fields go by name and values as text: which field a name
 * is, whether the caller may see it and what its values are is found when the query runs, against
 * the model of that moment. Written by the gateway from URLs and bodies (areas/items/items_query.h)
 * and by the runner from the parameters of steps (steps/data.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "catalog/operator.h"
#include "catalog/problem.h"

struct records_ctx;

#define FILTER_GROUPS     3   /* around one condition */
#define FILTER_NAME_BYTES 256 /* conditions with longer names are called "filter" */
#define FILTER_MAX        50
#define FILTER_ITEMS      500 /* of in and nin */

struct records_condition {
    struct str name; /* in findings: "filter[or][0][author.country][ne]" */
    struct filter_group {
        bool any;            /* or, else and */
        int64_t slot;        /* or[0]: those of one slot belong together */
    } groups[FILTER_GROUPS]; /* from the outside in */
    size_t group_count;
    struct str field; /* "author.country"; STR_NONE: none was named, which is refused */
    enum filter_op op;
    struct str value;       /* lists and pairs: several, see list_cut(), or: */
    const struct str *list; /* the values one by one; NULL = value */
    size_t list_count;
};

struct records_filter {
    const struct records_condition *items; /* in the order in which they were written */
    size_t count;
};

enum records_order { ORDER_NONE, ORDER_ASC, ORDER_DESC };

struct records_query {
    struct records_filter filter;
    struct str fields;        /* names with commas between; STR_NONE = all */
    struct str expand;        /* relations with commas between, dotted to go deeper */
    struct str sort;          /* names with commas between, '-' before what descends */
    enum records_order order; /* of one field without '-', or of the ids */
    int64_t limit, page;      /* see http/page.h; page 0 = none was asked for */
    bool count;               /* the total is wanted */
    struct str cursor;        /* of the page before; empty = the first page; STR_NONE = no walk */
    struct str context;       /* filter and order as text: a cursor belongs to them */
};

#define AGGREGATE_GROUPS 1000
enum metric_kind { METRIC_SUM, METRIC_AVG, METRIC_MIN, METRIC_MAX, METRIC_KINDS };

struct records_aggregate {
    struct records_filter filter;
    struct str group_by;              /* names with commas between; STR_NONE = one group */
    struct str metrics[METRIC_KINDS]; /* the same, of each kind */
    struct str count;                 /* "*" or STR_NONE */
    int64_t limit;                    /* groups, at most AGGREGATE_GROUPS */
};
