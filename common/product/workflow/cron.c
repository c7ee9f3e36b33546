/* Cron expressions: parsing, and the next minute that matches. */
#include "workflow/cron.h"
#include "base/timezone.h"

#define MINUTE_S  INT64_C(60)
#define DAY_MIN   1440
#define HOURS_ALL 0xffffffu
#define HORIZON_S (8 * INT64_C(366) * 86400)
/* No two UTC offsets differ by more than this. Only within this period can the clock have shown a
 * later local time than now. */
#define LOOKBACK_S   (52 * INT64_C(3600))
#define YEAR_ZERO_MS (-62167219200000) /* the beginning of the year 0000 */
#define LAST_MS      253402300799000   /* the last second of the year 9999 */

/* --- parsing --- */

struct cron_field {
    const char *name;
    int min, max;
    int range_end;     /* end of * and n/step; 6 for weekdays, because 7 is Sunday again */
    const char *names; /* three letters for each number from first_name on */
    int first_name;
};
enum { FIELD_MINUTE, FIELD_HOUR, FIELD_DAY, FIELD_MONTH, FIELD_WEEKDAY, FIELDS };
static const struct cron_field fields[FIELDS] = {
    {"minute", 0, 59, 59, NULL, 0},
    {"hour", 0, 23, 23, NULL, 0},
    {"day of month", 1, 31, 31, NULL, 0},
    {"month", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1},
    {"day of week", 0, 7, 6, "sunmontuewedthufrisat", 0},
};

struct parser {
    struct arena *arena;
    const struct cron_field *field;
    struct str error;
};

static bool cron_find_name(const struct cron_field *field, struct str text, int *ret_value)
{
    size_t len = field->names ? strlen(field->names) : 0;

    if (text.len != 3)
        return false;
    for (size_t at = 0; at < len; at += 3) {
        if (str_ieq(text, (struct str){field->names + at, 3})) {
            *ret_value = field->first_name + (int)(at / 3);
            return true;
        }
    }
    return false;
}

static bool cron_is_number(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    }
    return text.len > 0;
}

static int
cron_parse_number(struct parser *p, struct str text, const char *what, int min, int max, int *ret)
{
    int value = 0;

    if (!cron_is_number(text)) {
        p->error = arena_printf(p->arena,
                                "%s: %s\"%.*s\" is not a number%s",
                                p->field->name,
                                what,
                                STR_ARG(text),
                                p->field->names && *what == '\0' ? " or a name" : "");
        return CRON_INVALID;
    }
    for (size_t i = 0; i < text.len && value < 1000; i++)
        value = value * 10 + (text.ptr[i] - '0');
    if (value < min || value > max) {
        p->error = arena_printf(p->arena,
                                "%s: %s%.*s is not between %d and %d",
                                p->field->name,
                                what,
                                STR_ARG(text),
                                min,
                                max);
        return CRON_INVALID;
    }
    *ret = value;
    return 0;
}

static int parse_value(struct parser *p, struct str text, int *ret_value)
{
    if (cron_find_name(p->field, text, ret_value))
        return 0;
    return cron_parse_number(p, text, "", p->field->min, p->field->max, ret_value);
}

/* Parses "*", "n" or "n-m". With `stepped`, "n" is the range from n to the end of the field. */
static int parse_range(struct parser *p, struct str text, bool stepped, int *ret_low, int *ret_high)
{
    struct str rest = text;
    struct str first = str_split(&rest, '-');

    if (str_is(text, "*")) {
        *ret_low = p->field->min;
        *ret_high = p->field->range_end;
        return 0;
    }
    TRY(parse_value(p, first, ret_low));
    if (!rest.ptr) {
        *ret_high = stepped && *ret_low < p->field->range_end ? p->field->range_end : *ret_low;
        return 0;
    }
    TRY(parse_value(p, rest, ret_high));
    /* In "fri-sun", sun is the Sunday that ends the week. */
    if (p->field == &fields[FIELD_WEEKDAY] && *ret_high == 0 && *ret_low > 0 &&
        !cron_is_number(rest))
        *ret_high = 7;
    if (*ret_low > *ret_high) {
        p->error = arena_printf(
            p->arena, "%s: the range %.*s ends before it starts", p->field->name, STR_ARG(text));
        return CRON_INVALID;
    }
    return 0;
}

static int cron_parse_item(struct parser *p, struct str item, uint64_t *bits)
{
    struct str step_text = item;
    struct str range = str_split(&step_text, '/');
    int step = 1;
    int low;
    int high;

    if (item.len == 0) {
        p->error = arena_printf(p->arena, "%s: an item of the list is empty", p->field->name);
        return CRON_INVALID;
    }
    TRY(parse_range(p, range, step_text.ptr != NULL, &low, &high));
    if (step_text.ptr)
        TRY(cron_parse_number(p, step_text, "step ", 1, p->field->max, &step));
    for (int value = low; value <= high; value += step)
        *bits |= UINT64_C(1) << value;
    return 0;
}

static int parse_field(struct parser *p, struct str text, uint64_t *ret_bits)
{
    struct str rest = text;

    *ret_bits = 0;
    while (rest.ptr)
        TRY(cron_parse_item(p, str_split(&rest, ','), ret_bits));
    return 0;
}

/* Splits the text at blanks into `parts`, at most FIELDS. Returns the number of all parts. */
static size_t split_fields(struct str text, struct str parts[FIELDS])
{
    size_t count = 0;
    size_t at = 0;

    while (at < text.len) {
        size_t begin = at;
        while (at < text.len && text.ptr[at] != ' ' && text.ptr[at] != '\t')
            at++;
        if (at > begin && count++ < FIELDS)
            parts[count - 1] = (struct str){text.ptr + begin, at - begin};
        at++;
    }
    return count;
}

static bool has_day(const struct cron *cron)
{
    if (!cron->any_day && !cron->any_weekday)
        return true; /* every week has each weekday */
    for (int month = 1; month <= 12; month++) {
        if (!(cron->months & 1u << month))
            continue;
        for (int day = 1; day <= civil_month_days(2000, month); day++) {
            if (cron->days & 1u << day)
                return true;
        }
    }
    return false;
}

int cron_parse(struct arena *arena, struct str text, struct cron *ret_cron, struct str *ret_error)
{
    struct parser p = {.arena = arena};
    struct str parts[FIELDS];
    uint64_t bits[FIELDS];

    if (text.len > CRON_MAX_BYTES) {
        *ret_error = arena_printf(arena, "must be at most %d bytes", CRON_MAX_BYTES);
        return CRON_INVALID;
    }
    size_t count = split_fields(text, parts);
    if (count != FIELDS) {
        *ret_error = arena_printf(arena, "must have %d fields, not %zu", FIELDS, count);
        return CRON_INVALID;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        p.field = &fields[i];
        if (parse_field(&p, parts[i], &bits[i]) != 0) {
            *ret_error = p.error;
            return CRON_INVALID;
        }
    }
    struct cron cron = {
        .minutes = bits[FIELD_MINUTE],
        .hours = (uint32_t)bits[FIELD_HOUR],
        .days = (uint32_t)bits[FIELD_DAY],
        .months = (uint32_t)bits[FIELD_MONTH],
        /* 7 is Sunday as well. */
        .weekdays = (uint32_t)((bits[FIELD_WEEKDAY] | bits[FIELD_WEEKDAY] >> 7) & 0x7f),
        .any_day = parts[FIELD_DAY].ptr[0] == '*',
        .any_weekday = parts[FIELD_WEEKDAY].ptr[0] == '*',
    };
    if (!has_day(&cron)) {
        *ret_error = STR("none of its months has such a day");
        return CRON_INVALID;
    }
    *ret_cron = cron;
    return 0;
}

/* --- matching --- */

static bool day_matches(const struct cron *cron, int64_t days)
{
    int64_t year;
    int month;
    int day;

    civil_from_days(days, &year, &month, &day);
    if (!(cron->months & 1u << month))
        return false;
    bool by_day = cron->days & 1u << day;
    bool by_weekday = cron->weekdays & 1u << civil_weekday(days);
    return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* Returns the first matching minute of a day from `minute` on, or -1. */
static int minute_of_day(const struct cron *cron, int minute)
{
    for (int hour = minute / 60; hour < 24; hour++) {
        int from = hour == minute / 60 ? minute % 60 : 0;
        uint64_t left = cron->minutes >> from;
        if ((cron->hours & 1u << hour) && left)
            return hour * 60 + from + __builtin_ctzll(left);
    }
    return -1;
}

/* Returns the first matching local minute (minutes since 1970 on the local clock) in [from, to], or
 * INT64_MAX. */
static int64_t next_local(const struct cron *cron, int64_t from, int64_t to)
{
    int64_t days = floor_div(from, DAY_MIN);
    int minute = (int)(from - days * DAY_MIN);

    for (; days * DAY_MIN <= to; days++, minute = 0) {
        int found = day_matches(cron, days) ? minute_of_day(cron, minute) : -1;
        if (found >= 0)
            return days * DAY_MIN + found <= to ? days * DAY_MIN + found : INT64_MAX;
    }
    return INT64_MAX;
}

static int64_t local_minute(int64_t minute, int32_t offset)
{
    return floor_div(minute * MINUTE_S + offset, MINUTE_S);
}

/* Returns the latest local minute that the zone's clock showed before minute `before` (UTC). A
 * local time that a clock change repeats is not later than this minute. A local time that a change
 * skips lies between this minute and the next one shown. */
static int64_t latest_local(const struct timezone_rules *zone, int64_t before)
{
    int64_t at = before - 1;
    int64_t floor_s = before * MINUTE_S - LOOKBACK_S;
    int64_t latest = INT64_MIN;

    for (;;) {
        struct timezone_span span = timezone_span(zone, at * MINUTE_S);
        int64_t shown = local_minute(at, span.offset);
        if (shown > latest)
            latest = shown;
        if (span.start_s <= floor_s)
            return latest;
        at = floor_div(span.start_s - 1, MINUTE_S);
    }
}

int64_t cron_next(const struct cron *cron, const struct timezone_rules *zone, int64_t after_ms)
{
    if (after_ms > LAST_MS)
        return -1;
    int64_t minute =
        floor_div(after_ms < YEAR_ZERO_MS ? YEAR_ZERO_MS : after_ms, MINUTE_S * 1000) + 1;
    int64_t limit = minute + HORIZON_S / MINUTE_S;
    bool every_hour = cron->hours == HOURS_ALL;
    int64_t latest = latest_local(zone, minute);

    /* Each round searches one span of constant UTC offset. */
    while (minute < limit) {
        struct timezone_span span = timezone_span(zone, minute * MINUTE_S);
        int64_t last = limit;
        if (span.end_s < limit * MINUTE_S)
            last = floor_div(span.end_s - 1, MINUTE_S);
        int64_t shown = local_minute(minute, span.offset);
        int64_t to = local_minute(last, span.offset);
        int64_t found = next_local(cron, every_hour ? shown : latest + 1, to);
        if (found != INT64_MAX) {
            /* A local time that the clock skipped is due at once. */
            int64_t at = minute + (found > shown ? found - shown : 0);
            return at * MINUTE_S * 1000;
        }
        if (to > latest)
            latest = to;
        minute = last + 1;
    }
    return -1;
}
