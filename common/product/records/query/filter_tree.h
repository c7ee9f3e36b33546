#pragma once
/* Checked conditions of a filter, shared by filter_parse.c and filter_sql.c. */
#include "records/query/filter.h"
#include "records/query/path.h"

/* One comparison. The values have the field's type. */
struct filter_test {
    struct path path;
    enum filter_op op;
    struct db_param values[2]; /* like: the pattern; in, nin: an array; between: both bounds */
    bool wants_null;           /* OP_NULL: true = is null, false = is not null */
};

/* NODE_ALL (and) and NODE_ANY (or) have children. A slot such as "or[0]" is a NODE_ALL with its
 * index. */
struct filter_node {
    enum { NODE_ALL, NODE_ANY, NODE_TEST } kind;
    int64_t index; /* n of a slot; -1 = the group itself */
    struct filter_node *first, *last, *next;
    struct filter_test test;
};

struct filter {
    struct filter_node root; /* NODE_ALL */
};
