/* Spans of the calendar. */
#include "records/bucket.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"

#define MONTHS_A_QUARTER 3
#define MONTHS_A_YEAR    12
#define DAYS_A_WEEK      7
#define FIRST_DAY        (-719162) /* 0001-01-01 */
#define LAST_DAY         2932896   /* 9999-12-31 */
#define TEXT_CHARS       10

const char *const bucket_names[] = {"day", "week", "month", "quarter", "year", NULL};

enum bucket_unit bucket_find(struct str name)
{
    for (int unit = BUCKET_DAY; unit < BUCKET_UNITS; unit++)
        if (str_is(name, bucket_names[unit - BUCKET_DAY]))
            return (enum bucket_unit)unit;
    return BUCKET_NONE;
}

const char *bucket_name(enum bucket_unit unit)
{
    MUST(unit > BUCKET_NONE && unit < BUCKET_UNITS);
    return bucket_names[unit - BUCKET_DAY];
}

static int64_t bucket_floor(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* --- days and months: months are numbered from January of the year 0 --- */

/* Days before the first of March of a year. Years begin in March here, so that a leap day is the
 * last day. */
static int64_t days_before_march(int64_t year)
{
    return 365 * year + bucket_floor(year, 4) - bucket_floor(year, 100) + bucket_floor(year, 400);
}

/* From March on the months have 31 30 31 30 31 days, twice, and then the beginning of a third such
 * run. */
static int64_t month_start(int64_t month)
{
    int64_t from_march = month - 2;
    int64_t year = bucket_floor(from_march, MONTHS_A_YEAR);
    int64_t in_year = from_march - year * MONTHS_A_YEAR;

    return days_before_march(year) + (153 * in_year + 2) / 5 - 719468;
}

static int64_t day_month(int64_t day)
{
    int64_t month = bucket_floor((day + 719468) * 400, 146097) * MONTHS_A_YEAR + 2;

    /* The guess assumes years of average length, so it is wrong by at most one year. */
    while (month_start(month) > day)
        month -= MONTHS_A_YEAR;
    while (month_start(month + 1) <= day)
        month++;
    return month;
}

bool bucket_parse(struct str text, int64_t *ret_day)
{
    struct str rest = text;
    int64_t part[3];

    if (text.len != TEXT_CHARS || !clock_parse_date(text))
        return false;
    for (int i = 0; i < 3; i++) {
        struct str digits = str_split(&rest, '-');
        while (digits.len > 1 && digits.ptr[0] == '0')
            digits = (struct str){digits.ptr + 1, digits.len - 1};
        if (!num_parse_i64(digits, &part[i]))
            return false;
    }
    if (part[0] < 1)
        return false;
    *ret_day = month_start(part[0] * MONTHS_A_YEAR + part[1] - 1) + part[2] - 1;
    return true;
}

static int64_t day_clamp(int64_t day)
{
    return day < FIRST_DAY ? FIRST_DAY : day > LAST_DAY ? LAST_DAY : day;
}

char *bucket_print(char buf[BUCKET_TEXT_BYTES], int64_t day)
{
    day = day_clamp(day);
    int64_t month = day_month(day);
    int year = (int)(month / MONTHS_A_YEAR);

    (void)snprintf(buf,
                   BUCKET_TEXT_BYTES,
                   "%04d-%02d-%02d",
                   year % 10000,
                   (int)(month % MONTHS_A_YEAR) + 1,
                   (int)((day - month_start(month)) % 31) + 1);
    return buf;
}

/* --- spans --- */

/* Returns how many months a unit has; 0 if the unit is not made of months. */
static int64_t unit_months(enum bucket_unit unit)
{
    switch (unit) {
    case BUCKET_MONTH:
        return 1;
    case BUCKET_QUARTER:
        return MONTHS_A_QUARTER;
    case BUCKET_YEAR:
        return MONTHS_A_YEAR;
    default:
        return 0;
    }
}

int64_t bucket_start(enum bucket_unit unit, int64_t day)
{
    int64_t months = unit_months(unit);

    if (months > 0)
        return month_start(bucket_floor(day_month(day), months) * months);
    if (unit == BUCKET_WEEK) /* 1970-01-01 was a Thursday */
        return bucket_floor(day + 3, DAYS_A_WEEK) * DAYS_A_WEEK - 3;
    return day;
}

int64_t bucket_step(enum bucket_unit unit, int64_t start, int64_t count)
{
    int64_t months = unit_months(unit);

    if (months > 0)
        return month_start(day_month(start) + count * months);
    return start + count * (unit == BUCKET_WEEK ? DAYS_A_WEEK : 1);
}

struct bucket_window
bucket_window(enum bucket_unit unit, int64_t count, int64_t day, int64_t before)
{
    int64_t last = bucket_start(unit, day);
    int64_t back = count * before;

    return (struct bucket_window){
        .from = day_clamp(bucket_step(unit, last, 1 - count - back)),
        .to = day_clamp(bucket_step(unit, last, 1 - back)),
    };
}
