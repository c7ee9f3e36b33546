#pragma once
/*
 * Ranges of bytes (RFC 9110 section 14): which parts of a representation of known length a GET asks
 * for. Pure; any thread.
 *
 * What a server may answer with the whole is answered with the whole: another unit, a header that
 * is malformed, an If-Range that does not fit, more ranges than RANGES_MAX. Ranges that touch or
 * overlap become one, so that nobody is sent more than the representation (14.2); they keep the
 * order in which they were asked for.
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
    RANGE_UNSATISFIABLE, /* 416: none of them begins within the representation */
};

/* any: `header` is the value of Range, STR_NONE without one. */
enum range_answer range_parse(struct str header, int64_t size, struct ranges *ret_ranges);
/* any: whether If-Range allows ranges: absent, or exactly the strong tag, or exactly the date of
 * the last change as it was sent (13.1.5). */
bool range_if(struct str if_range, struct str etag, struct str last_modified);
