#pragma once
/* Values of a filter in their fields' types. */

#include "base/str.h"

struct db_param;
struct model_field;
struct project;

/* any: reads a field's value in its type. NULL when it is right, else what is wrong with it ("must
 * be a whole number"). Times are PARAM_TIME, in the zone of
 * the project where they name none, texts borrow. Not for json and secret fields. */
const char *filter_value(const struct project *project,
                         const struct model_field *field,
                         struct str text,
                         struct db_param *ret_value);
