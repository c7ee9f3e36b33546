#pragma once
/* Internal to condition_*.c: parsed conditions, and the comparison of values. */
#include "catalog/operator.h"
#include "workflow/condition.h"
#include "workflow/template_private.h"

/* One side of a comparison: a reference, a member name, or a literal value. */
struct operand {
    struct reference *reference;
    struct str name;
    const json_t *value;
    struct str path; /* member path within the condition, for findings: "all[1].value[0]" */
};

struct condition {
    enum { CONDITION_ALL, CONDITION_ANY, CONDITION_TEST } kind;
    struct condition *members; /* of a group */
    size_t count;
    enum condition_op op;
    struct operand left;
    struct operand *right; /* no operand, one operand, or the items of a list */
    size_t right_count;
    bool is_literal_list; /* `right` has the items of a literal list */
};

/* any: Whether two values are equal, as condition.h defines equality. */
bool values_equal(const json_t *a, const json_t *b);
/* any: Returns false when the two values cannot be ordered. Else *ret_order is < 0, 0 or > 0. */
bool values_order(const json_t *a, const json_t *b, int *ret_order);
