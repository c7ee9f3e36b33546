#pragma once
/* Files as an entity, for the row rule. */
#include "model/model.h"

/* The table of files under its row rule, for rls_put_where(). */
extern const struct entity owned_files;
