/* Values as cells of CSV. */
#include "records/transfer/cell.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/result.h"

bool cell_is_guarded(struct str text)
{
    size_t at = 0;

    while (at < text.len && text.ptr[at] == '\'')
        at++;
    return at < text.len && ascii_is_in(text.ptr[at], "=+-@\t\r\n");
}

struct str cell_unguarded(struct str cell)
{
    if (cell.len > 0 && cell.ptr[0] == '\'' && cell_is_guarded(cell))
        return (struct str){cell.ptr + 1, cell.len - 1};
    return cell;
}

/* --- parts of a text --- */

static void cell_text_add(struct cell_text *text, struct str part)
{
    if (part.len > sizeof(text->bytes) - text->len) {
        text->overflow = true;
        return;
    }
    if (part.len > 0)
        memcpy(text->bytes + text->len, part.ptr, part.len);
    text->len += part.len;
}

static struct str cell_text_view(const struct cell_text *text)
{
    return (struct str){text->bytes, text->len};
}

static struct str text_after(struct str text, size_t bytes)
{
    return (struct str){text.ptr + bytes, text.len - bytes};
}

static bool cell_take_mark(struct str *rest, const char *marks, char *ret_mark)
{
    if (rest->len == 0 || !ascii_is_in(rest->ptr[0], marks))
        return false;
    *ret_mark = rest->ptr[0];
    *rest = text_after(*rest, 1);
    return true;
}

static bool cell_take_digits(struct str *rest, size_t least, size_t most, struct str *ret_digits)
{
    size_t count = ascii_span(*rest, ASCII_DIGIT);

    if (count < least || count > most)
        return false;
    *ret_digits = (struct str){rest->ptr, count};
    *rest = text_after(*rest, count);
    return true;
}

/* Returns the number of bytes of the mark that the text begins with; 0 = none. */
static size_t mark_length(struct str text, const struct str *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(text, marks[i]))
            return marks[i].len;
    return 0;
}

/* Space, U+00A0, U+202F. Between thousands also a point and two apostrophes (U+0027, U+2019). */
static const struct str blanks[] = {STR_INIT(" "), STR_INIT("\xc2\xa0"), STR_INIT("\xe2\x80\xaf")};
static const struct str thousands[] = {STR_INIT("."),
                                       STR_INIT("'"),
                                       STR_INIT("\xe2\x80\x99"),
                                       STR_INIT(" "),
                                       STR_INIT("\xc2\xa0"),
                                       STR_INIT("\xe2\x80\xaf")};

static struct str cell_without_blanks(struct str text)
{
    size_t bytes;

    while ((bytes = mark_length(text, blanks, ARRAY_LEN(blanks))) > 0)
        text = text_after(text, bytes);
    return text;
}

/* --- numbers --- */

bool cell_number_read(struct str cell, struct cell_text *text, struct str *ret_number)
{
    struct str rest = str_trim(cell);
    struct str digits;
    size_t mark_bytes;
    double number;
    char mark;

    text->len = 0;
    text->overflow = false;
    if (cell_take_mark(&rest, "+-", &mark) && mark == '-')
        cell_text_add(text, STR("-"));
    if (!cell_take_digits(&rest, 1, sizeof(text->bytes), &digits))
        return false;
    cell_text_add(text, digits);
    while (digits.len <= 3 &&
           (mark_bytes = mark_length(rest, thousands, ARRAY_LEN(thousands))) > 0) {
        rest = text_after(rest, mark_bytes);
        if (!cell_take_digits(&rest, 3, 3, &digits))
            return false;
        cell_text_add(text, digits);
    }
    if (cell_take_mark(&rest, ",", &mark)) {
        if (!cell_take_digits(&rest, 1, sizeof(text->bytes), &digits))
            return false;
        cell_text_add(text, STR("."));
        cell_text_add(text, digits);
    }
    if (rest.len > 0 && !ascii_is_in(rest.ptr[0], "eE"))
        return false;
    cell_text_add(text, rest);
    *ret_number = cell_text_view(text);
    return !text->overflow && num_parse_f64(*ret_number, &number);
}

const char *cell_number_expected(void)
{
    return "expected a number with a decimal comma, such as 1234,5";
}

/* --- dates --- */

static void cell_text_add_two(struct cell_text *text, struct str digits)
{
    if (digits.len == 1)
        cell_text_add(text, STR("0"));
    cell_text_add(text, digits);
}

static bool moment_read_date(struct str *rest, enum csv_dates dates, struct cell_text *text)
{
    struct str first;
    struct str second;
    struct str year;
    char mark;
    char again;

    if (!cell_take_digits(rest, 1, 2, &first) || !cell_take_mark(rest, "./-", &mark) ||
        !cell_take_digits(rest, 1, 2, &second) || !cell_take_mark(rest, "./-", &again) ||
        again != mark || !cell_take_digits(rest, 2, 4, &year) || year.len == 3)
        return false;
    if (year.len == 2)
        cell_text_add(text, year.ptr[0] < '3' ? STR("20") : STR("19"));
    cell_text_add(text, year);
    cell_text_add(text, STR("-"));
    cell_text_add_two(text, dates == CSV_DATES_DMY ? second : first);
    cell_text_add(text, STR("-"));
    cell_text_add_two(text, dates == CSV_DATES_DMY ? first : second);
    return clock_parse_date(cell_text_view(text));
}

/* Converts an hour of the 12-hour clock into two digits. Returns false for other hours. */
static bool moment_read_half_day(struct str digits, bool is_afternoon, char *ret_hour)
{
    int64_t hour = 0;

    for (size_t i = 0; i < digits.len; i++)
        hour = hour * 10 + (digits.ptr[i] - '0');
    if (hour < 1 || hour > 12)
        return false;
    hour = hour % 12 + (is_afternoon ? 12 : 0);
    ret_hour[0] = (char)('0' + hour / 10);
    ret_hour[1] = (char)('0' + hour % 10);
    return true;
}

static bool moment_read_time(struct str rest, struct cell_text *text)
{
    struct str hour;
    struct str minute;
    struct str second = STR_NONE;
    char half[2];
    char mark;

    if (!cell_take_digits(&rest, 1, 2, &hour) || !cell_take_mark(&rest, ":", &mark) ||
        !cell_take_digits(&rest, 2, 2, &minute))
        return false;
    if (cell_take_mark(&rest, ":", &mark) && !cell_take_digits(&rest, 2, 2, &second))
        return false;
    struct str word = cell_without_blanks(rest);
    bool is_afternoon = str_ieq(word, STR("pm"));
    if (is_afternoon || str_ieq(word, STR("am"))) {
        if (!moment_read_half_day(hour, is_afternoon, half))
            return false;
        hour = (struct str){half, sizeof(half)};
        rest = STR_NONE;
    }
    cell_text_add(text, STR("T"));
    cell_text_add_two(text, hour);
    cell_text_add(text, STR(":"));
    cell_text_add(text, minute);
    if (second.ptr != NULL)
        cell_text_add(text, STR(":"));
    cell_text_add(text, second);
    cell_text_add(text, rest); /* fractions of a second and offsets are copied unchanged */
    return true;
}

bool cell_moment_read(struct str cell,
                      enum csv_dates dates,
                      struct cell_text *text,
                      struct str *ret_moment)
{
    struct str rest = str_trim(cell);
    char mark;

    *ret_moment = rest;
    if (ascii_span(rest, ASCII_DIGIT) == 4)
        return true;
    text->len = 0;
    text->overflow = false;
    if (!moment_read_date(&rest, dates, text))
        return false;
    (void)cell_take_mark(&rest, ",T", &mark);
    rest = cell_without_blanks(rest);
    if (rest.len > 0 && !moment_read_time(rest, text))
        return false;
    *ret_moment = cell_text_view(text);
    return !text->overflow;
}

const char *cell_moment_expected(enum csv_dates dates)
{
    return dates == CSV_DATES_DMY ? "expected a date such as 31.01.2026"
                                  : "expected a date such as 01/31/2026";
}

struct str cell_moment_print(struct str moment, enum csv_dates dates, struct cell_text *text)
{
    enum { DATE_BYTES = 10, SECOND_BYTES = 19, TIME_BYTES = 23 };
    struct str month = {moment.ptr + 5, 2};
    struct str day = {moment.ptr + 8, 2};

    text->len = 0;
    text->overflow = false;
    cell_text_add(text, dates == CSV_DATES_DMY ? day : month);
    cell_text_add(text, STR("/"));
    cell_text_add(text, dates == CSV_DATES_DMY ? month : day);
    cell_text_add(text, STR("/"));
    cell_text_add(text, (struct str){moment.ptr, 4});
    if (moment.len < TIME_BYTES)
        return cell_text_view(text);
    bool is_whole = str_starts(text_after(moment, SECOND_BYTES), STR(".000"));
    size_t end = is_whole ? SECOND_BYTES : TIME_BYTES;
    cell_text_add(text, STR(" "));
    cell_text_add(text, (struct str){moment.ptr + DATE_BYTES + 1, end - DATE_BYTES - 1});
    return cell_text_view(text);
}
