#pragma once
/* Internal to timezone.c and timezone_posix.c: how a zone's rules are read. Any thread. */
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
    struct posix_change begin, end;
};
/* 0 or POSIX_TZ_BAD. */
int posix_tz_parse(struct str text, struct posix_rules *ret_rules) MUSTCHECK;

struct timezone_span posix_tz_span(const struct posix_rules *rules, int64_t at_s);

/* --- zones --- */

#define TZIF_MAX_BYTES 65536
/* Rules from the bytes of a TZif file, version 2 or later, without leap seconds; arena-owned. 0 or
 * TZIF_BAD. */
int timezone_parse(struct arena *arena, struct str bytes, struct timezone_rules **ret_rules)
    MUSTCHECK;
/* Letters, digits, _ + - in parts of 1 to 32 characters that begin with a letter, at most three
 * parts. */
bool timezone_name_ok(struct str name);
