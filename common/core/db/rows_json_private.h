#pragma once
/* PostgreSQL's ISO timestamps to RFC 3339. */
#include <stddef.h>

#include "base/str.h"

enum { TIME_TEXT_BYTES = 32 };

/* Turns "2026-01-31 12:00:00.123456+00" into "2026-01-31T12:00:00.123Z" without a NUL and returns
 * its length. 0 if RFC 3339 cannot express it: infinity, years before 1 or beyond 9999. */
size_t time_text(char buf[TIME_TEXT_BYTES], struct str text);
