/* Dates, and POSIX TZ strings: the rule for times after a zone's last recorded change. */
#include "base/timezone_private.h"

#include "base/ascii.h"

#define DAY_S 86400

int64_t floor_div(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

/* Years are counted from March, so that the leap day is a year's last day. 400 years are an era. */
int64_t civil_days(int64_t year, int month, int day)
{
    int64_t shifted = month <= 2 ? year - 1 : year;
    int64_t era = floor_div(shifted, 400);
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

void civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t shifted = days + 719468;
    int64_t era = floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month = (int)((5 * day_of_year + 2) / 153);

    *ret_day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    *ret_month = month < 10 ? month + 3 : month - 9;
    *ret_year = era * 400 + year_of_era + (*ret_month <= 2);
}

int civil_weekday(int64_t days)
{
    return (int)(days + 4 - floor_div(days + 4, 7) * 7);
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int civil_month_days(int64_t year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return lengths[month - 1] + (month == 2 && is_leap(year));
}

/* --- parsing --- */

static bool posix_take_char(struct str *text, char c)
{
    if (text->len == 0 || text->ptr[0] != c)
        return false;
    text->ptr++;
    text->len--;
    return true;
}

/* Takes one to three digits off the front. Returns false when the number is above `max`. */
static bool take_number(struct str *text, int max, int *ret_value)
{
    size_t digits = 0;
    int value = 0;

    while (digits < text->len && digits < 4 && ascii_is(text->ptr[digits], ASCII_DIGIT))
        value = value * 10 + (text->ptr[digits++] - '0');
    if (digits == 0 || digits > 3 || value > max)
        return false;
    text->ptr += digits;
    text->len -= digits;
    *ret_value = value;
    return true;
}

/* Takes a name off the front: "EST" or "<+0330>". */
static bool take_name(struct str *text)
{
    bool quoted = posix_take_char(text, '<');
    size_t len = 0;

    while (len < text->len && ascii_has_only((struct str){text->ptr + len, 1},
                                             quoted ? ASCII_ALNUM : ASCII_LETTER,
                                             quoted ? "+-" : ""))
        len++;
    text->ptr += len;
    text->len -= len;
    return len >= 3 && len <= 16 && (!quoted || posix_take_char(text, '>'));
}

/* Takes [+-]hh[:mm[:ss]] off the front, as seconds. */
static bool take_time(struct str *text, int max_hours, int32_t *ret_seconds)
{
    int hours;
    int minutes = 0;
    int seconds = 0;
    bool negative = posix_take_char(text, '-');

    if (!negative)
        (void)posix_take_char(text, '+');
    if (!take_number(text, max_hours, &hours))
        return false;
    if (posix_take_char(text, ':')) {
        if (!take_number(text, 59, &minutes))
            return false;
        if (posix_take_char(text, ':') && !take_number(text, 59, &seconds))
            return false;
    }
    int32_t total = hours * 3600 + minutes * 60 + seconds;
    *ret_seconds = negative ? -total : total;
    return true;
}

static bool take_month_rule(struct str *text, struct posix_change *change)
{
    change->kind = POSIX_MONTH;
    return take_number(text, 12, &change->month) && change->month >= 1 &&
           posix_take_char(text, '.') && take_number(text, 5, &change->week) && change->week >= 1 &&
           posix_take_char(text, '.') && take_number(text, 6, &change->day);
}

static bool take_change(struct str *text, struct posix_change *change)
{
    bool ok;

    if (posix_take_char(text, 'M')) {
        ok = take_month_rule(text, change);
    } else if (posix_take_char(text, 'J')) {
        change->kind = POSIX_JULIAN;
        ok = take_number(text, 365, &change->day) && change->day >= 1;
    } else {
        change->kind = POSIX_ZERO_DAY;
        ok = take_number(text, 365, &change->day);
    }
    change->time_s = 2 * 3600;
    /* RFC 9636 section 3.3.2 extends the hours to -167 to 167. */
    return ok && (!posix_take_char(text, '/') || take_time(text, 167, &change->time_s));
}

int posix_tz_parse(struct str text, struct posix_rules *ret_rules)
{
    struct posix_rules rules = {0};
    int32_t west;

    if (!take_name(&text) || !take_time(&text, 24, &west))
        return POSIX_TZ_BAD;
    rules.standard = -west;
    if (text.len > 0) {
        rules.has_daylight = true;
        if (!take_name(&text))
            return POSIX_TZ_BAD;
        rules.daylight = rules.standard + 3600;
        if (text.len > 0 && text.ptr[0] != ',') {
            if (!take_time(&text, 24, &west))
                return POSIX_TZ_BAD;
            rules.daylight = -west;
        }
        /* Refuse a missing rule: POSIX then lets the implementation choose, and no zone relies on
         * that. */
        if (!posix_take_char(&text, ',') || !take_change(&text, &rules.begin) ||
            !posix_take_char(&text, ',') || !take_change(&text, &rules.end) || text.len > 0)
            return POSIX_TZ_BAD;
    }
    *ret_rules = rules;
    return 0;
}

/* --- changes of a year --- */

static int64_t change_day(const struct posix_change *change, int64_t year)
{
    int64_t first = civil_days(year, 1, 1);

    if (change->kind == POSIX_ZERO_DAY)
        return first + change->day;
    if (change->kind == POSIX_JULIAN) /* 29 February is never counted */
        return first + change->day - 1 + (is_leap(year) && change->day >= 60);
    first = civil_days(year, change->month, 1);
    int64_t day = (change->day - civil_weekday(first) + 7) % 7 + (change->week - 1) * 7;
    /* Week 5 means the last week of the month, which may be the fourth. */
    if (day >= civil_month_days(year, change->month))
        day -= 7;
    return first + day;
}

struct timezone_span posix_tz_span(const struct posix_rules *rules, int64_t at_s)
{
    struct timezone_span span = {INT64_MIN, INT64_MAX, rules->standard};
    int64_t year;
    int month;
    int day;

    if (!rules->has_daylight)
        return span;
    /* Check the neighbouring years too: a change may be a week away from its day. When two changes
     * fall on one moment, the change to daylight time wins: zones with daylight time all year are
     * written like this (RFC 9636 section 3.3.1). */
    civil_from_days(floor_div(at_s, DAY_S), &year, &month, &day);
    for (int64_t y = year - 2; y <= year + 2; y++) {
        int64_t end = change_day(&rules->end, y) * DAY_S + rules->end.time_s - rules->daylight;
        int64_t begin =
            change_day(&rules->begin, y) * DAY_S + rules->begin.time_s - rules->standard;
        if (end <= at_s && end >= span.start_s) {
            span.start_s = end;
            span.offset = rules->standard;
        } else if (end > at_s && end < span.end_s) {
            span.end_s = end;
        }
        if (begin <= at_s && begin >= span.start_s) {
            span.start_s = begin;
            span.offset = rules->daylight;
        } else if (begin > at_s && begin < span.end_s) {
            span.end_s = begin;
        }
    }
    return span;
}
