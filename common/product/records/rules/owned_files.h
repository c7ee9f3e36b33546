#pragma once
/* Files as something that rows of records refer to. */
#include "model/model.h"

/* Their table under its row rule, for rls_where(). */
extern const struct entity owned_files;
