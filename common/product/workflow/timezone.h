#pragma once
/* Time zones by their IANA names. */
#include <stdint.h>

#include "base/str.h"

struct timezone_rules; /* of one zone, immutable, cached for the life of the process */
/* any: reads the TZif file of the zone (RFC 9636) once; NULL when there is no such zone. "UTC"
 * always exists. Names are checked: no path can be built from them. Blocks for one small file on
 * first use. Loop thread only. */
const struct timezone_rules *timezone_find(struct str name);
