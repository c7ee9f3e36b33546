/* Exact number parsing and printing. */
#include "base/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/panic.h"

#define TEXT_BYTES_MAX    512U               /* longest text that num_parse_f64() takes */
#define EXACT_INTEGER_MAX 9007199254740992.0 /* 2^53: above it doubles skip integers */
#define EXACT_DIGITS      15U                /* decimal digits that a double always preserves */
#define EXACT_POWER       22U                /* 10^22 is the last power of ten that is exact */

static const double powers_of_ten[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static bool num_is_digit(char c)
{
    return (unsigned)(c - '0') < 10U;
}

bool num_parse_i64(struct str text, int64_t *ret_value)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t i = negative ? 1 : 0;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t value = 0;

    if (i == text.len || text.len - i > 19)
        return false;
    if (text.ptr[i] == '0' && text.len > 1)
        return false; /* leading zero, or -0 */
    for (; i < text.len; i++) {
        if (!num_is_digit(text.ptr[i]))
            return false;
        value = value * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    if (value > limit)
        return false;
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* A number as the grammar check reads it. For most numbers this makes strtod() unnecessary. */
struct decimal {
    uint64_t digits;         /* the first EXACT_DIGITS as an integer */
    unsigned digit_count;    /* without leading zeros */
    unsigned fraction_count; /* digits after the point */
    bool negative;
    bool has_exponent;
};

static size_t scan_digits(struct str text, size_t at, struct decimal *decimal)
{
    for (; at < text.len && num_is_digit(text.ptr[at]); at++) {
        if (decimal->digit_count > 0 || text.ptr[at] != '0')
            decimal->digit_count++;
        if (decimal->digit_count <= EXACT_DIGITS)
            decimal->digits = decimal->digits * 10 + (uint64_t)(text.ptr[at] - '0');
    }
    return at;
}

static size_t num_skip_digits(struct str text, size_t at)
{
    while (at < text.len && num_is_digit(text.ptr[at]))
        at++;
    return at;
}

/* Checks the grammar of RFC 8259 section 6: [-] int [frac] [exp]. */
static bool decimal_scan(struct str text, struct decimal *decimal)
{
    size_t at = 0;
    size_t start;

    if (at < text.len && text.ptr[at] == '-') {
        decimal->negative = true;
        at++;
    }
    start = at;
    at = scan_digits(text, at, decimal);
    if (at == start || (text.ptr[start] == '0' && at - start > 1))
        return false;
    if (at < text.len && text.ptr[at] == '.') {
        start = ++at;
        at = scan_digits(text, at, decimal);
        if (at == start)
            return false;
        decimal->fraction_count = (unsigned)(at - start);
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        decimal->has_exponent = true;
        at++;
        if (at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-'))
            at++;
        start = at;
        at = num_skip_digits(text, at);
        if (at == start)
            return false;
    }
    return at == text.len;
}

bool num_is_json(struct str text)
{
    struct decimal ignored = {0};

    return decimal_scan(text, &ignored);
}

/* Returns the C locale, for which glibc has a static object: nothing is allocated. */
static locale_t c_locale(void)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    MUST(locale != (locale_t)0);
    return locale;
}

bool num_parse_f64(struct str text, double *ret_value)
{
    struct decimal decimal = {0};
    char copy[TEXT_BYTES_MAX + 1];
    double value;

    if (text.len > TEXT_BYTES_MAX || !decimal_scan(text, &decimal))
        return false;
    if (!decimal.has_exponent && decimal.digit_count <= EXACT_DIGITS &&
        decimal.fraction_count <= EXACT_POWER) {
        /* Both operands are exact, so the quotient is correctly rounded (Clinger 1990). */
        value = (double)decimal.digits / powers_of_ten[decimal.fraction_count];
        *ret_value = decimal.negative ? -value : value;
        return true;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    value = strtod_l(copy, NULL, c_locale());
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

/* Writes the digits so that they end just before `end`, and returns where they begin. */
static char *print_backwards(char *end, uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        memcpy(end, digit_pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, digit_pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

size_t num_print_i64(char *buf, int64_t value)
{
    char digits[20];
    char *end = digits + sizeof(digits);
    char *start = print_backwards(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);

    if (value < 0)
        *--start = '-';
    memcpy(buf, start, (size_t)(end - start));
    return (size_t)(end - start);
}

/* Prints a number with 1 to 6 decimals and at most 15 digits (a price, a rate). Returns false
 * unless `value` is the double nearest to such a number; the text of this number is then the
 * shortest one. */
static bool print_fixed(char *buf, double value, size_t *ret_len)
{
    for (unsigned decimals = 1; decimals <= 6; decimals++) {
        double scaled = nearbyint(value * powers_of_ten[decimals]);
        char digits[20];
        char *end = digits + sizeof(digits);
        char *start;
        size_t len;

        if (scaled >= 1e15)
            return false;
        if (scaled / powers_of_ten[decimals] != value)
            continue;
        start = print_backwards(end, (uint64_t)scaled);
        while ((size_t)(end - start) <= decimals)
            *--start = '0';
        len = (size_t)(end - start) - decimals;
        memcpy(buf, start, len);
        buf[len] = '.';
        memcpy(buf + len + 1, start + len, decimals);
        *ret_len = len + 1 + decimals;
        return true;
    }
    return false;
}

static size_t print_general(char *buf, double value)
{
    locale_t before = uselocale(c_locale());
    /* Subnormal numbers have fewer significant digits: begin with one. */
    int precision = value < DBL_MIN ? 1 : (int)EXACT_DIGITS;
    char text[32];
    int len;

    do {
        len = snprintf(text, sizeof(text), "%.*g", precision, value);
    } while (precision++ < 17 && strtod(text, NULL) != value);
    (void)uselocale(before);
    MUST(len > 0 && (size_t)len < sizeof(text));
    memcpy(buf, text, (size_t)len);
    return (size_t)len;
}

size_t num_print_f64(char *buf, double value)
{
    static const char null_text[] = {'n', 'u', 'l', 'l'};
    size_t sign = 0;
    size_t len;

    if (!isfinite(value)) {
        memcpy(buf, null_text, sizeof(null_text));
        return sizeof(null_text);
    }
    if (signbit(value)) {
        buf[0] = '-';
        sign = 1;
        value = -value;
    }
    if (value <= EXACT_INTEGER_MAX && value == (double)(int64_t)value)
        return sign + num_print_i64(buf + sign, (int64_t)value);
    if (value >= 1e-4 && print_fixed(buf + sign, value, &len))
        return sign + len;
    return sign + print_general(buf + sign, value);
}

/* --- whole numbers in any notation --- */

/* No number type has an exponent this large: read_exponent() ignores the digits that follow. */
#define EXPONENT_MOST 100000000

static int64_t read_exponent(const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    for (at += at < end && (*at == '-' || *at == '+'); at < end; at++)
        if (value < EXPONENT_MOST)
            value = value * 10 + (*at - '0');
    return negative ? -value : value;
}

#define I64_DIGITS 19

bool num_parse_whole(struct str text, int64_t *ret_value)
{
    char buf[1 + I64_DIGITS];
    size_t len = 0;
    int64_t power = 0;
    bool point = false;
    const char *end = text.ptr + text.len;
    const char *at = text.ptr;

    if (at < end && *at == '-')
        buf[len++] = *at++;
    size_t sign = len;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        power -= point;
        if (len == sign && *at == '0')
            continue;
        /* Skip zeros that do not fit: before the point a zero only raises the power, after the
         * point it does not change the value. */
        if (len - sign == I64_DIGITS) {
            if (*at != '0')
                return false;
            power++;
            continue;
        }
        buf[len++] = *at;
    }
    if (at < end)
        power += read_exponent(at + 1, end);
    for (; power < 0 && len > sign && buf[len - 1] == '0'; power++)
        len--;
    if (len == sign) {
        *ret_value = 0;
        return true;
    }
    if (power < 0 || power > I64_DIGITS - (int64_t)(len - sign))
        return false;
    for (; power > 0; power--)
        buf[len++] = '0';
    return num_parse_i64((struct str){buf, len}, ret_value);
}

/* --- comparison --- */

/* The digits of a number, from its first digit that is not 0. */
struct digits {
    bool negative;
    const char *at, *end; /* rest of the mantissa, with its point; at == end: the number is 0 */
    int64_t exponent;     /* power of ten of the first digit */
};

static struct digits digits_of(struct str text)
{
    struct digits digits = {.negative = text.len > 0 && text.ptr[0] == '-'};
    const char *end = text.ptr + text.len;
    const char *at = text.ptr + digits.negative;
    int64_t whole = 0; /* number of digits before the point, from the first that is not 0 */
    int64_t zeros = 0; /* number of zeros between the point and the first digit that is not 0 */
    bool point = false;

    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        if (digits.at == NULL && *at == '0') {
            zeros += point;
            continue;
        }
        if (digits.at == NULL)
            digits.at = at;
        whole += !point;
    }
    digits.end = at;
    if (digits.at == NULL)
        return (struct digits){.at = at, .end = at};
    digits.exponent = whole > 0 ? whole - 1 : -zeros - 1;
    if (at < end)
        digits.exponent += read_exponent(at + 1, end);
    return digits;
}

static int next_digit(struct digits *digits)
{
    if (digits->at < digits->end && *digits->at == '.')
        digits->at++;
    return digits->at < digits->end ? *digits->at++ : '0';
}

/* Compares absolute values; neither number is 0. */
static int compare_sizes(struct digits a, struct digits b)
{
    if (a.exponent != b.exponent)
        return a.exponent < b.exponent ? -1 : 1;
    while (a.at < a.end || b.at < b.end) {
        int left = next_digit(&a);
        int right = next_digit(&b);
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

int num_compare(struct str left, struct str right)
{
    struct digits a = digits_of(left);
    struct digits b = digits_of(right);
    int left_sign = a.at == a.end ? 0 : (a.negative ? -1 : 1);
    int right_sign = b.at == b.end ? 0 : (b.negative ? -1 : 1);

    if (left_sign != right_sign)
        return left_sign < right_sign ? -1 : 1;
    if (left_sign == 0)
        return 0;
    return left_sign * compare_sizes(a, b);
}

int num_compare_i64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

size_t num_sort_unique(int64_t *numbers, size_t count)
{
    size_t kept_count = 0;

    if (count > 1)
        qsort(numbers, count, sizeof(*numbers), num_compare_i64);
    for (size_t i = 0; i < count; i++)
        if (kept_count == 0 || numbers[kept_count - 1] != numbers[i])
            numbers[kept_count++] = numbers[i];
    return kept_count;
}
