#pragma once
/*
 * Comparison operators. operator.def is the list. Pure data: records/ converts filters to SQL,
 * workflow/ evaluates conditions.
 */
#include "base/str.h"

/* The fields to which an operator applies. */
enum operator_scope { FITS_ANY = 1, FITS_ORDERED = 2, FITS_TEXT = 4, FITS_SET = 8 };
/* The value that an operator compares the field with. */
enum operator_operand {
    TAKES_VALUE,
    TAKES_PART,  /* a text that occurs anywhere in the field */
    TAKES_START, /* a text with which the field begins */
    TAKES_END,   /* a text with which the field ends */
    TAKES_LIST,
    TAKES_PAIR, /* a list of the lowest and the highest value */
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
    COND_COUNT,
};

struct filter_operator {
    const char *name;
    enum operator_scope scope;
    enum operator_operand operand;
    const char *sql; /* between column and value; NULL = filter_sql.c writes the SQL */
};
struct condition_operator {
    const char *name;
    enum operator_operand operand;
};

/* Return the static properties of an operator. */
const struct filter_operator *filter_operator(enum filter_op op);
const struct condition_operator *condition_operator(enum condition_op op);
/* Return the operator of this name; OP_COUNT or COND_COUNT when there is none. */
enum filter_op filter_op_find(struct str name);
enum condition_op condition_op_find(struct str name);
/* The names of all operators, separated by commas: "eq, ne, ...". */
extern const char *const filter_op_names, *const condition_op_names;
