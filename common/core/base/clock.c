/* Time and its texts. Days are counted by the civil-calendar method of Howard Hinnant (eras of 400
 * years beginning on 1 March), which needs no table and no time zone database. */
#include "base/clock.h"

#include <time.h>

#include "base/ascii.h"
#include "base/panic.h"

#define DAY_MS       INT64_C(86400000)
#define DAYS_TO_1970 719468                     /* from 0000-03-01 */
#define WALL_MIN     (INT64_C(-62167219200000)) /* 0000-01-01T00:00:00.000Z */
#define WALL_MAX     (INT64_C(253402300799999)) /* 9999-12-31T23:59:59.999Z */

static int64_t clock_us(clockid_t id)
{
    struct timespec now;
    MUST(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_wall_ms(void)
{
    return clock_us(CLOCK_REALTIME) / 1000;
}

static void put_digits(char *at, unsigned count, int64_t value)
{
    while (count-- > 0) {
        at[count] = (char)('0' + value % 10);
        value /= 10;
    }
}

char *clock_format(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms)
{
    if (wall_ms < WALL_MIN)
        wall_ms = WALL_MIN;
    if (wall_ms > WALL_MAX)
        wall_ms = WALL_MAX;

    int64_t ms = wall_ms % DAY_MS;
    int64_t days = wall_ms / DAY_MS;
    if (ms < 0) {
        ms += DAY_MS;
        days--;
    }
    days += DAYS_TO_1970;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;

    memcpy(buf, "0000-00-00T00:00:00.000Z", 25);
    put_digits(buf, 4, era * 400 + year_of_era + (month <= 2));
    put_digits(buf + 5, 2, month);
    put_digits(buf + 8, 2, day_of_year - (153 * month_from_march + 2) / 5 + 1);
    put_digits(buf + 11, 2, ms / 3600000);
    put_digits(buf + 14, 2, ms / 60000 % 60);
    put_digits(buf + 17, 2, ms / 1000 % 60);
    put_digits(buf + 20, 3, ms % 1000);
    return buf;
}

char *clock_format_mail(char buf[CLOCK_TEXT_BYTES], int64_t wall_ms)
{
    /* 1970-01-01 was a Thursday. */
    static const char days[7][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char months[12][4] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char iso[CLOCK_TEXT_BYTES]; /* 1994-11-06T08:49:37.000Z */

    MUST(wall_ms >= 0);
    (void)clock_format(iso, wall_ms);
    memcpy(buf, "DDD, 00 MMM 0000 00:00:00", 26);
    memcpy(buf, days[wall_ms / DAY_MS % 7], 3);
    memcpy(buf + 5, iso + 8, 2);
    memcpy(buf + 8, months[(iso[5] - '0') * 10 + iso[6] - '0' - 1], 3);
    memcpy(buf + 12, iso, 4);
    memcpy(buf + 17, iso + 11, 8);
    return buf;
}

/* Takes exactly `count` digits off the front. */
static bool take_digits(struct str *text, unsigned count, int *ret_value)
{
    int value = 0;

    if (text->len < count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned digit = (unsigned)(text->ptr[i] - '0');
        if (digit > 9)
            return false;
        value = value * 10 + (int)digit;
    }
    text->ptr += count;
    text->len -= count;
    *ret_value = value;
    return true;
}

/* Takes one character off the front when it is `upper` or its lower case. */
static bool clock_take_char(struct str *text, char upper)
{
    if (text->len == 0)
        return false;
    if (ascii_upper(text->ptr[0]) != upper)
        return false;
    text->ptr++;
    text->len--;
    return true;
}

/* Takes a full-date of RFC 3339 off the front, as days since 1970-01-01. */
static bool take_date(struct str *text, int64_t *ret_days)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year;
    int month;
    int day;

    if (!take_digits(text, 4, &year) || !clock_take_char(text, '-') ||
        !take_digits(text, 2, &month) || !clock_take_char(text, '-') || !take_digits(text, 2, &day))
        return false;
    if (month < 1 || month > 12)
        return false;
    bool leap_day = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day < 1 || day > month_days[month - 1] + leap_day)
        return false;

    int64_t march_year = month <= 2 ? year - 1 : year;
    int64_t era = (march_year >= 0 ? march_year : march_year - 399) / 400;
    int64_t year_of_era = march_year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    *ret_days = era * 146097 + day_of_era - DAYS_TO_1970;
    return true;
}

/* Takes "." and 1-9 digits off the front, or nothing. */
static bool take_fraction(struct str *text, int *ret_ms)
{
    int ms = 0;
    int digit;
    unsigned count = 0;

    *ret_ms = 0;
    if (!clock_take_char(text, '.'))
        return true;
    for (; take_digits(text, 1, &digit); count++) {
        if (count < 3)
            ms = ms * 10 + digit;
    }
    if (count < 1 || count > 9)
        return false;
    for (; count < 3; count++)
        ms *= 10;
    *ret_ms = ms;
    return true;
}

/* Takes "Z", "+hh:mm" or "-hh:mm" off the front; for `people` also "+hhmm" and "+hh". */
static bool take_offset(struct str *text, bool people, int *ret_minutes)
{
    int hours;
    int minutes = 0;
    int sign = 1;

    *ret_minutes = 0;
    if (clock_take_char(text, 'Z'))
        return true;
    if (!clock_take_char(text, '+')) {
        if (!clock_take_char(text, '-'))
            return false;
        sign = -1;
    }
    if (!take_digits(text, 2, &hours))
        return false;
    bool has_colon = clock_take_char(text, ':');
    if (!has_colon && !people)
        return false;
    if ((has_colon || text->len > 0) && !take_digits(text, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    *ret_minutes = sign * (hours * 60 + minutes);
    return true;
}

/* Takes "12:00:00.5" off the front as milliseconds of a day; for `people` also "12:00". */
static bool clock_take_time(struct str *text, bool people, int64_t *ret_ms)
{
    int hour;
    int minute;
    int second = 0;
    int ms = 0;

    if (!take_digits(text, 2, &hour) || !clock_take_char(text, ':') ||
        !take_digits(text, 2, &minute))
        return false;
    bool has_second = clock_take_char(text, ':');
    if (!has_second && !people)
        return false;
    if (has_second && (!take_digits(text, 2, &second) || !take_fraction(text, &ms)))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_ms = ((hour * 60 + minute) * INT64_C(60) + second) * 1000 + ms;
    return true;
}

bool clock_parse(struct str text, int64_t *ret_wall_ms)
{
    int64_t days;
    int64_t ms;
    int offset;

    if (!take_date(&text, &days) || !clock_take_char(&text, 'T') ||
        !clock_take_time(&text, false, &ms) || !take_offset(&text, false, &offset) || text.len > 0)
        return false;
    *ret_wall_ms = days * DAY_MS + ms - offset * INT64_C(60000);
    return true;
}

static bool take_blanks(struct str *text)
{
    bool taken = false;

    while (clock_take_char(text, ' '))
        taken = true;
    return taken;
}

bool clock_read(struct str text, struct clock_reading *ret_reading)
{
    struct clock_reading reading = {.has_offset = false};
    int64_t days;
    int64_t ms;
    int offset;

    if (!take_date(&text, &days))
        return false;
    reading.local_ms = days * DAY_MS;
    if (text.len > 0) {
        if ((!clock_take_char(&text, 'T') && !take_blanks(&text)) ||
            !clock_take_time(&text, true, &ms))
            return false;
        reading.local_ms += ms;
        reading.has_offset = take_blanks(&text) || text.len > 0;
    }
    if (reading.has_offset) {
        if (!take_offset(&text, true, &offset) || text.len > 0)
            return false;
        reading.offset_ms = offset * INT64_C(60000);
    }
    *ret_reading = reading;
    return true;
}

bool clock_parse_date(struct str text)
{
    int64_t days;
    return take_date(&text, &days) && text.len == 0;
}
