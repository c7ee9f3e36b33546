#pragma once
/*
 * Time zones by their IANA names, and dates. Times are seconds since 1970 UTC, offsets seconds east
 * of UTC. Any thread, except timezone_find(), whose cache is the loop's.
 */
#include <stdint.h>

#include "base/str.h"

struct timezone_rules; /* of one zone, immutable, cached for the life of the process */
/* any: reads the TZif file of the zone (RFC 9636) once; NULL when there is no such zone. "UTC"
 * always exists. Names are checked: no path can be built from them. Blocks for one small file on
 * first use. Loop thread only. */
const struct timezone_rules *timezone_find(struct str name);

/* The longest known time around a moment in which the offset is constant. */
struct timezone_span {
    int64_t start_s, end_s; /* [start, end); INT64_MIN and INT64_MAX when nothing is known beyond */
    int32_t offset;
};
struct timezone_span timezone_span(const struct timezone_rules *zone, int64_t at_s);
/* The first moment at which the zone's clock shows `local_s`, the seconds since 1970 on that clock;
 * the end of the gap for a time that a change skips. */
int64_t timezone_moment(const struct timezone_rules *zone, int64_t local_s);

/* --- dates (proleptic Gregorian) --- */

/* Days since 1970-01-01. Month 1-12, day from 1. */
int64_t civil_days(int64_t year, int month, int day);
void civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
/* 0 = Sunday. */
int civil_weekday(int64_t days);
int civil_month_days(int64_t year, int month);
/* Rounds towards minus infinity. */
int64_t floor_div(int64_t value, int64_t divisor);
