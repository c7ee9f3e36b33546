#pragma once
/*
 * Five-field cron expressions in a time zone (crontab(5) semantics, IANA time zone names).
 *
 * minute 0-59, hour 0-23, day of month 1-31, month 1-12 or jan-dec, day of week 0-7 or sun-sat (0
 * and 7 are Sunday); lists, ranges (also of names), steps ("*" "/" "5", "1-30/2", "5/10" =
 * 5-59/10). When both day fields are restricted (do not begin with *), either may match, else both
 * must.
 *
 * Clock changes: an expression that names hours fires once for each local time that it matches: at
 * the first minute after the gap when the change skips that time, the first time when the change
 * repeats it. An expression that matches every hour runs by elapsed time: every tenth minute
 * neither pauses in a repeated hour nor gains by a gap.
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
/* any: 0, or CRON_INVALID with *ret_error ("hour: 24 is not between 0 and 23"). An expression that
 * can never match (30 February) is invalid. */
int cron_parse(struct arena *arena, struct str text, struct cron *ret_cron, struct str *ret_error)
    MUSTCHECK;

/* any: the first matching minute strictly after `after_ms` (wall ms, UTC), or -1 when none within
 * eight years. */
int64_t cron_next(const struct cron *cron, const struct timezone_rules *zone, int64_t after_ms);
