#pragma once
/* Content-Disposition of an answer (RFC 6266), with a name in any script (RFC 8187). */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* any: `inline; filename="..."`, with `filename*=UTF-8''...` beside it when the name is not plain
 * ASCII: old clients read the first, in which '_' stands for what they would not understand. `name`
 * is valid UTF-8; what it holds cannot leave the quotes. Arena-owned. */
struct str disposition_header(struct arena *arena, bool attachment, struct str name);
