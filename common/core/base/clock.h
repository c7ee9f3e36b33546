#pragma once
/* Time is int64_t milliseconds everywhere; microseconds only where named so. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define CLOCK_TEXT_BYTES 32

/* Monotonic, for deadlines and durations. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* Processor time of the calling thread; a system call. */
int64_t clock_thread_us(void);
/* Since 1970-01-01 UTC. */
int64_t clock_wall_ms(void);
/* "2026-01-31T12:00:00.000Z" (RFC 3339, 24 bytes + NUL) into buf; returns buf. Times
 * outside the years 0000-9999 become the nearest one inside. */
char *clock_format(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms);
/* "Sun, 06 Nov 1994 08:49:37" (RFC 9110 5.6.7, RFC 5322 3.3, without the zone, which the one calls
 * GMT and the other +0000; 25 bytes + NUL) into buf; returns buf. */
char *clock_format_mail(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms);
/* RFC 3339 date-time with any offset and 0-9 fraction digits (cut to ms); false if not exact. Leap
 * seconds (:60) are refused, for no millisecond count stands for them. */
bool clock_parse(struct str text, int64_t *ret_wall_ms);
/* "2026-01-31", proleptic Gregorian, validated; false if not a date. */
bool clock_parse_date(struct str text);

/* A date or a time as people write it. */
struct clock_reading {
    int64_t
        local_ms; /* since 1970-01-01 on the clock that it was read from; of a date its midnight */
    int64_t offset_ms; /* of that clock, east of UTC */
    bool has_offset;
};
/* Reads what clock_parse() takes, also with blanks for the T and before the offset, without
 * seconds, with an offset such as +0100 or +01 or without any, and a date alone; false for all
 * else. */
bool clock_read(struct str text, struct clock_reading *ret_reading);
