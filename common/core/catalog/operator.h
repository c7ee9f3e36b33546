#pragma once
/*
 * Operators of comparisons, in one list: operator.def. Pure data: records/ makes SQL of filters,
 * workflow/ evaluates conditions.
 */
#include "base/str.h"

/* Fields that an operator goes with. */
enum operator_fits { FITS_ANY = 1, FITS_ORDERED = 2, FITS_TEXT = 4, FITS_SET = 8 };
/* The value on its right. */
enum operator_takes {
    TAKES_VALUE,
    TAKES_PART,  /* a text: it stands anywhere in the field's ... */
    TAKES_START, /* ... at its start ... */
    TAKES_END,   /* ... at its end */
    TAKES_LIST,
    TAKES_PAIR, /* a list of the lowest and the highest */
    TAKES_FLAG, /* true or false */
    TAKES_NONE,
};

enum filter_op {
#define FILTER_OPERATOR(constant, name, fits, takes, sql) constant,
#include "catalog/operator.def"
    OP_COUNT,
};

enum condition_op {
#define CONDITION_OPERATOR(constant, name, takes) constant,
#include "catalog/operator.def"
    COND_OPS,
};

struct filter_operator {
    const char *name;
    enum operator_fits fits;
    enum operator_takes takes;
    const char *sql; /* between column and value; NULL: there is more to it */
};
struct condition_operator {
    const char *name;
    enum operator_takes takes;
};

const struct filter_operator *filter_operator(enum filter_op op);
const struct condition_operator *condition_operator(enum condition_op op);
/* OP_COUNT, COND_OPS when there is none of that name. */
enum filter_op filter_op_find(struct str name);
enum condition_op condition_op_find(struct str name);
/* All of them with commas between: "eq, ne, ...". */
extern const char *const filter_op_names, *const condition_op_names;
