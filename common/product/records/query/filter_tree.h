#pragma once
/*
 * Internal to filter_parse.c and filter_sql.c: the checked conditions of a filter.
 */
#include "records/query/filter.h"
#include "records/query/path.h"

/* One comparison, with values in the field's type. */
struct filter_test {
    struct path path;
    enum filter_op op;
    struct db_param values[2]; /* like: the pattern; in, nin: an array; between: both ends */
    bool null;                 /* OP_NULL: null or not null is wanted */
};

/* NODE_ALL and NODE_ANY hold children; a slot ("or[0]") is a NODE_ALL with its index. */
struct filter_node {
    enum { NODE_ALL, NODE_ANY, NODE_TEST } kind;
    int64_t index; /* of a slot; -1 = the group itself */
    struct filter_node *first, *last, *next;
    struct filter_test test;
};

struct filter {
    struct filter_node root; /* NODE_ALL */
};
