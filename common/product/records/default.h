#pragma once
/* Default values of fields. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct model_field;
struct project;

/* any: Checks default_value of the field, which is not NULL, by the rules of a written value. Two
 * rules are stricter, because the table of the records has the default as well: PostgreSQL reads
 * the default there, and knows no time zone of a project. A time needs an offset of at most 14
 * hours and has at most three digits of a fraction; an integer has no fraction. A decimal that is
 * written as text becomes the number. Returns false with the reason in *ret_fault, arena-owned. */
bool record_default_read(struct arena *arena,
                         const struct project *project,
                         struct model_field *field,
                         struct str *ret_fault);
