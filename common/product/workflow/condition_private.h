#pragma once
/* Internal to condition_*.c: conditions as they are parsed, and the comparison of values. */
#include "catalog/operator.h"
#include "workflow/condition.h"
#include "workflow/template_private.h"

/* A side of a comparison: a reference, a member name, or a value as written. */
struct operand {
    struct reference *reference;
    struct str name;
    const json_t *value;
    struct str place; /* for findings: "all[1].value[0]" */
};

struct condition {
    enum { CONDITION_ALL, CONDITION_ANY, CONDITION_TEST } kind;
    struct condition *members; /* all, any */
    size_t count;
    enum condition_op op;
    struct operand left;
    struct operand *right; /* one, the items of a list, or none */
    size_t right_count;
    bool list; /* right are the items of a list as written */
};

/* any: equality as condition.h defines it. */
bool values_equal(const json_t *a, const json_t *b);
/* any: false when the two cannot be ordered; else *ret_order is < 0, 0 or > 0. */
bool values_order(const json_t *a, const json_t *b, int *ret_order);
