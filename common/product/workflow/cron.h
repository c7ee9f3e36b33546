#pragma once
/*
 * Five-field cron expressions in a time zone (crontab(5) semantics, IANA time zone names).
 *
 * The fields are minute 0-59, hour 0-23, day of month 1-31, month 1-12 or jan-dec, and day of week
 * 0-7 or sun-sat (0 and 7 are Sunday). A field takes lists, ranges (also of names) and steps ("*"
 * "/" "5", "1-30/2", "5/10" = 5-59/10). When both day fields are restricted (neither begins with
 * *), a day matches if either field matches. Otherwise both fields must match.
 *
 * Clock changes: an expression that names hours runs once for each local time that matches. When
 * the change skips that time, the expression runs in the first minute after the gap. When the
 * change repeats that time, the expression runs the first time only. An expression that matches
 * every hour runs by elapsed time: every tenth minute neither pauses in a repeated hour nor runs
 * more often because of a gap.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct timezone_rules;

struct cron {
    uint64_t minutes;
    uint32_t hours, days, months, weekdays;
    bool any_day, any_weekday; /* the field begins with * */
};
#define CRON_MAX_BYTES 256
/* any: Parses an expression. Returns 0, or CRON_INVALID with *ret_error ("hour: 24 is not between 0
 * and 23"), which lives at least as long as the arena. An expression that can never match (30
 * February) is invalid. */
int cron_parse(struct arena *arena, struct str text, struct cron *ret_cron, struct str *ret_error)
    MUSTCHECK;

/* any: Returns the first matching minute strictly after `after_ms`, both in wall-clock milliseconds
 * (UTC), or -1 when no minute within eight years matches. */
int64_t cron_next(const struct cron *cron, const struct timezone_rules *zone, int64_t after_ms);
