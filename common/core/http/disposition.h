#pragma once
/* Content-Disposition of a response (RFC 6266), with a name in any script (RFC 8187). */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* any: Returns `inline; filename="..."`, or `attachment; ...`. `filename*=UTF-8''...` follows if
 * the name is not plain ASCII; old clients read only the first parameter, in which '_' replaces
 * other characters. `name` must be valid UTF-8, and cannot break out of the quotes. Arena-owned. */
struct str disposition_header(struct arena *arena, bool attachment, struct str name);
