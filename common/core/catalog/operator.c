/* Operator tables, generated from operator.def. */
#include "catalog/operator.h"

#include <stddef.h>

#include "base/panic.h"
#include "base/result.h"

static const struct filter_operator filter_operators[OP_COUNT] = {
#define FILTER_OPERATOR(constant, name, fits, takes, sql) [constant] = {name, fits, takes, sql},
#include "catalog/operator.def"
};

static const struct condition_operator condition_operators[COND_COUNT] = {
#define CONDITION_OPERATOR(constant, name, takes) [constant] = {name, takes},
#include "catalog/operator.def"
};

/* Each name has ", " before it; filter_op_names and condition_op_names skip the first ", ". */
static const char filter_names[] =
#define FILTER_OPERATOR(constant, name, fits, takes, sql) ", " name
#include "catalog/operator.def"
    ;
static const char condition_names[] =
#define CONDITION_OPERATOR(constant, name, takes) ", " name
#include "catalog/operator.def"
    ;
const char *const filter_op_names = filter_names + 2;
const char *const condition_op_names = condition_names + 2;

const struct filter_operator *filter_operator(enum filter_op op)
{
    MUST(op < OP_COUNT);
    return &filter_operators[op];
}

const struct condition_operator *condition_operator(enum condition_op op)
{
    MUST(op < COND_COUNT);
    return &condition_operators[op];
}

enum filter_op filter_op_find(struct str name)
{
    for (size_t i = 0; i < OP_COUNT; i++)
        if (str_is(name, filter_operators[i].name))
            return (enum filter_op)i;
    return OP_COUNT;
}

enum condition_op condition_op_find(struct str name)
{
    for (size_t i = 0; i < COND_COUNT; i++)
        if (str_is(name, condition_operators[i].name))
            return (enum condition_op)i;
    return COND_COUNT;
}
