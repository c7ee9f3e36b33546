#pragma once
/* Times are int64_t milliseconds, or microseconds where a name ends in _us. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define CLOCK_TEXT_BYTES 32

/* Return monotonic time, for deadlines and durations. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* Returns the processor time of the calling thread, by a system call. */
int64_t clock_thread_us(void);
/* Returns the time since 1970-01-01 UTC. */
int64_t clock_wall_ms(void);
/* Writes "2026-01-31T12:00:00.000Z" (RFC 3339, 24 bytes and a NUL) into buf and returns buf. A time
 * outside of the years 0000-9999 becomes the nearest time inside. */
char *clock_format(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms);
/* Writes "Sun, 06 Nov 1994 08:49:37" (25 bytes and a NUL) into buf and returns buf. The caller adds
 * the zone: GMT in HTTP (RFC 9110 section 5.6.7), +0000 in mail (RFC 5322 section 3.3). `wall_ms`
 * is not negative. */
char *clock_format_mail(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms);
/* Parses an RFC 3339 date-time with any offset and 0-9 fraction digits, cut to milliseconds.
 * Returns false for any other text. Refuses leap seconds (:60), because no number of milliseconds
 * represents them. */
bool clock_parse(struct str text, int64_t *ret_wall_ms);
/* Returns whether the text is a date like "2026-01-31" that exists (proleptic Gregorian). */
bool clock_parse_date(struct str text);

/* A date or a time as people write it. */
struct clock_reading {
    int64_t local_ms;  /* since 1970-01-01 in local time; of a date: its midnight */
    int64_t offset_ms; /* of local time, east of UTC */
    bool has_offset;
};
/* Parses the texts that clock_parse() takes, and more: blanks in place of the T and before the
 * offset, no seconds, an offset such as +0100 or +01, no offset, or a date alone. Returns false for
 * any other text. */
bool clock_read(struct str text, struct clock_reading *ret_reading);
