#pragma once
/*
 * Spans of the calendar that records are grouped by: days, weeks from Monday on, months, quarters,
 * years. Days are numbered from 1970-01-01, as dates of no zone; any thread.
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

/* "day", "week", ...: by number from BUCKET_DAY on, NULL-terminated. */
extern const char *const bucket_names[];
/* BUCKET_NONE when there is none of that name. */
enum bucket_unit bucket_find(struct str name);
const char *bucket_name(enum bucket_unit unit);

/* "2026-01-31"; false for what is no date of the years 1 to 9999. */
bool bucket_parse(struct str text, int64_t *ret_day);
#define BUCKET_TEXT_BYTES 16
/* Ten bytes and a NUL; returns buf. Days outside those years become the nearest one inside. */
char *bucket_print(char buf[BUCKET_TEXT_BYTES], int64_t day);

/* The first day of the span that the day is in. */
int64_t bucket_start(enum bucket_unit unit, int64_t day);
/* The first day of the span that comes `count` spans later than the one that begins at `start`. */
int64_t bucket_step(enum bucket_unit unit, int64_t start, int64_t count);

/* From the first day of a span to the first behind another one. */
struct bucket_window {
    int64_t from, to;
};
/* The last `count` spans up to the one that `day` is in; or as many before them, `before` times.
 * Of the years 1 to 9999 alone. */
struct bucket_window
bucket_window(enum bucket_unit unit, int64_t count, int64_t day, int64_t before);
