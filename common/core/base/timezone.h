#pragma once
/*
 * Time zones by their IANA names, and dates. Times are seconds since 1970 UTC, offsets seconds east
 * of UTC. Any thread, except for timezone_find(), whose cache belongs to the loop thread.
 */
#include <stdint.h>

#include "base/str.h"

struct timezone_rules; /* of one zone, immutable, cached for the life of the process */
/* Returns the rules of a zone, borrowed for the life of the process, or NULL when there is no such
 * zone. "UTC" always exists. The first call for a zone blocks while it reads the zone's TZif file
 * (RFC 9636). The name is checked, so it cannot name a file outside of the zone directory. Loop
 * thread only. */
const struct timezone_rules *timezone_find(struct str name);

/* The longest known period around a moment in which the offset does not change. */
struct timezone_span {
    int64_t start_s, end_s; /* [start, end); INT64_MIN or INT64_MAX = no change known beyond */
    int32_t offset;
};
/* Returns the period around `at_s`. */
struct timezone_span timezone_span(const struct timezone_rules *zone, int64_t at_s);
/* Returns the first moment at which the zone's clock shows `local_s`, in seconds since 1970 on that
 * clock. For a local time that a change of the clock skips, returns the end of the gap. */
int64_t timezone_from_local(const struct timezone_rules *zone, int64_t local_s);

/* --- dates (proleptic Gregorian) --- */

/* Convert a date into days since 1970-01-01, and back. Months are 1 to 12, days count from 1. */
int64_t civil_days(int64_t year, int month, int day);
void civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
/* Returns the weekday of a day since 1970-01-01; 0 = Sunday. */
int civil_weekday(int64_t days);
/* Returns the number of days of a month. */
int civil_month_days(int64_t year, int month);
/* Divides by a positive number, rounding towards minus infinity. */
int64_t floor_div(int64_t value, int64_t divisor);
