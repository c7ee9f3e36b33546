#pragma once
/* Default values of fields. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct model_field;
struct project;

/* any: Returns whether default_value of the field, which is not NULL, is a value that a record may
 * have, and that PostgreSQL reads from its JSON text as a write does: the table of the records has
 * the default, too, and PostgreSQL knows no time zone of a project. Otherwise returns false,
 * with the reason in *ret_fault, arena-owned. */
bool record_default_check(struct arena *arena,
                          const struct project *project,
                          const struct model_field *field,
                          struct str *ret_fault);
