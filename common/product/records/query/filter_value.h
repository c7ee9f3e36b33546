#pragma once
/* Values of a filter in the types of their fields. */

#include "base/str.h"

struct db_param;
struct model_field;
struct project;

/* any: parses a value in the field's type. Returns NULL, or the fault ("must be a whole number"). A
 * time is PARAM_TIME; without an offset it is in the project's time zone. Texts are borrowed. Not
 * for json and secret fields. */
const char *filter_value(const struct project *project,
                         const struct model_field *field,
                         struct str text,
                         struct db_param *ret_value);
