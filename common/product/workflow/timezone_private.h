#pragma once
/*
 * Internal to cron and timezone: how a zone's rules are read and walked. Times are seconds since
 * 1970 UTC; offsets are seconds east of UTC. Any thread, except timezone_find() (timezone.h), whose
 * cache is the loop's.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "workflow/timezone.h"

/* --- dates (proleptic Gregorian) --- */

/* Days since 1970-01-01. Month 1-12, day from 1. */
int64_t civil_days(int64_t year, int month, int day);
void civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
/* 0 = Sunday. */
int civil_weekday(int64_t days);
int civil_month_days(int64_t year, int month);
/* Rounds towards minus infinity. */
int64_t floor_div(int64_t value, int64_t divisor);

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

/* The longest known time around a moment in which the offset is constant. */
struct timezone_span {
    int64_t start_s, end_s; /* [start, end); INT64_MIN and INT64_MAX when nothing is known beyond */
    int32_t offset;
};
struct timezone_span posix_tz_span(const struct posix_rules *rules, int64_t at_s);

/* --- zones --- */

#define TZIF_MAX_BYTES 65536
/* Rules from the bytes of a TZif file, version 2 or later, without leap seconds; arena-owned. 0 or
 * TZIF_BAD. */
int timezone_parse(struct arena *arena, struct str bytes, struct timezone_rules **ret_rules)
    MUSTCHECK;
struct timezone_span timezone_span(const struct timezone_rules *zone, int64_t at_s);
/* Letters, digits, _ + - in parts of 1 to 32 characters that begin with a letter, at most three
 * parts. */
bool timezone_name_ok(struct str name);
