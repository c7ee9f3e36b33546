#pragma once
/*
 * Spans of the calendar by which records are grouped: days, weeks that begin on Monday, months,
 * quarters, years. A day is the number of days since 1970-01-01, without a time zone. All functions
 * may be called from any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum bucket_unit {
    BUCKET_NONE,
    BUCKET_DAY,
    BUCKET_WEEK,
    BUCKET_MONTH,
    BUCKET_QUARTER,
    BUCKET_YEAR,
    BUCKET_UNITS,
};

/* "day", "week", ...: indexed by unit - BUCKET_DAY, NULL-terminated. */
extern const char *const bucket_names[];
/* any: bucket_find() returns BUCKET_NONE for an unknown name. bucket_name() takes any unit but
 * BUCKET_NONE. */
enum bucket_unit bucket_find(struct str name);
const char *bucket_name(enum bucket_unit unit);

/* any: parses a date such as "2026-01-31". Returns false for anything but a date of the years 1 to
 * 9999. */
bool bucket_parse(struct str text, int64_t *ret_day);
#define BUCKET_TEXT_BYTES 16
/* any: writes ten bytes and a NUL and returns buf. A day outside of the years 1 to 9999 is written
 * as the nearest day inside. */
char *bucket_print(char buf[BUCKET_TEXT_BYTES], int64_t day);

/* any: returns the first day of the span that contains `day`. */
int64_t bucket_start(enum bucket_unit unit, int64_t day);
/* any: returns the first day of the span `count` spans after the span that begins at `start`. */
int64_t bucket_step(enum bucket_unit unit, int64_t start, int64_t count);

/* A range of whole spans: from the first day of a span up to, but not including, `to`. */
struct bucket_window {
    int64_t from, to;
};
/* any: returns the last `count` spans up to and including the span of `day`. `before` moves the
 * window back by that many times its own length. The days are cut to the years 1 to 9999. */
struct bucket_window
bucket_window(enum bucket_unit unit, int64_t count, int64_t day, int64_t before);
