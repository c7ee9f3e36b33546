#pragma once
/* Internal to timezone.c and timezone_posix.c: parsers of a zone's rules. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "base/timezone.h"

/* --- POSIX TZ strings (RFC 9636 section 3.3.1, IEEE 1003.1 8.3) --- */

struct posix_change {
    enum { POSIX_JULIAN, POSIX_ZERO_DAY, POSIX_MONTH } kind; /* Jn, n, Mm.w.d */
    int month, week, day;
    int32_t time_s; /* local, may be negative or beyond a day */
};
struct posix_rules {
    int32_t standard, daylight; /* seconds east */
    bool has_daylight;
    struct posix_change begin, end; /* of daylight time */
};
/* Parses a TZ string. Returns 0 or POSIX_TZ_BAD. */
int posix_tz_parse(struct str text, struct posix_rules *ret_rules) MUSTCHECK;

/* Returns the period around `at_s` in which the offset does not change. */
struct timezone_span posix_tz_span(const struct posix_rules *rules, int64_t at_s);

/* --- zones --- */

#define TZIF_MAX_BYTES 65536
/* Parses a TZif file of version 2 or later without leap seconds; the rules are arena-owned. Returns
 * 0 or TZIF_BAD. */
int timezone_parse(struct arena *arena, struct str bytes, struct timezone_rules **ret_rules)
    MUSTCHECK;
/* Returns whether the name is well-formed: at most three parts with slashes between them, each a
 * letter and up to 31 letters, digits, _ + and -. False for files that are not IANA zones. */
bool timezone_is_name(struct str name);
