#pragma once
/*
 * Byte ranges (RFC 9110 section 14): which parts of a representation of known length a GET
 * requests. Pure; any thread.
 *
 * Where the RFC permits it, the whole representation is sent instead: for another unit, a malformed
 * header, an If-Range that does not match, or more ranges than RANGES_MAX. Ranges that touch or
 * overlap are merged, so that a client never gets more than the representation (section 14.2). The
 * merged ranges keep the order of the request.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define RANGES_MAX 16

struct range {
    int64_t first;
    int64_t length; /* above 0 */
};

struct ranges {
    struct range items[RANGES_MAX];
    size_t count;
};

enum range_answer {
    RANGE_WHOLE,         /* 200 */
    RANGE_PARTS,         /* 206: one range or several */
    RANGE_UNSATISFIABLE, /* 416: no range begins within the representation */
};

/* any: Parses the Range header (STR_NONE = none) for a representation of `size` bytes. Fills
 * *ret_ranges for RANGE_PARTS. */
enum range_answer range_parse(struct str header, int64_t size, struct ranges *ret_ranges);
/* any: Returns whether If-Range permits ranges: it is absent, equals the strong ETag, or equals the
 * date of the last change exactly as it was sent (RFC 9110 section 13.1.5). */
bool range_if(struct str if_range, struct str etag, struct str last_modified);
