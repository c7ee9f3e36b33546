/* Amounts as decimal text, as JSON, and in minor units. */
#include "payments/money.h"

#include <jansson.h>
#include <stdio.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/num.h"
#include "base/panic.h"
#include "currencies.h"
#include "json/jr.h"
#include "json/jw.h"

#define CODE_LETTERS     3U
#define NUMBER_BYTES_MAX 512U
#define MINOR_DIGITS     8     /* of MONEY_MINOR_MAX */
#define EXPONENT_MAX     10000 /* far beyond the digits of any text of NUMBER_BYTES_MAX */
#define NAME_BYTES_MAX   64U

/* Finds a currency by its code in any case; NULL when it is unknown. */
static const struct currency *currency_find(struct str code)
{
    size_t low = 0;
    size_t high = ARRAY_LEN(currencies);

    if (code.len != CODE_LETTERS)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncasecmp(code.ptr, currencies[middle].code, CODE_LETTERS);
        if (order == 0)
            return &currencies[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static struct currency money_class_of(struct str code)
{
    const struct currency *found = currency_find(code);

    return found != NULL ? *found : (struct currency){.decimals = 2, .allowed = 2};
}

const char *money_message(int result)
{
    switch (result) {
    case MONEY_BAD_CURRENCY:
        return "must be an ISO 4217 currency code, such as usd";
    case MONEY_NOT_A_NUMBER:
        return "must be a decimal number";
    case MONEY_NEGATIVE:
        return "must not be negative";
    case MONEY_TOO_PRECISE:
        return "has more decimals than the currency allows";
    case MONEY_TOO_LARGE:
        return "is larger than the payment processor accepts";
    default:
        PANIC("no message for money result %d", result);
    }
}

int money_decimals(struct str currency)
{
    return money_class_of(currency).decimals;
}

int money_currency(struct arena *arena, struct str text, struct str *ret_currency)
{
    if (text.len != CODE_LETTERS)
        return MONEY_BAD_CURRENCY;
    struct str lower = arena_lower(arena, text);
    if (!ascii_has_only(lower, ASCII_LOWER, "") || currency_find(lower) == NULL)
        return MONEY_BAD_CURRENCY;
    *ret_currency = lower;
    return 0;
}

/* --- text to minor units --- */

/* A number's digits without zeros at either end; its value is digits * 10^power. */
struct decimal {
    char digits[NUMBER_BYTES_MAX];
    int count; /* 0 = zero */
    int power;
    bool negative;
};

static size_t digits_span(struct str text, size_t at)
{
    return ascii_span((struct str){text.ptr + at, text.len - at}, ASCII_DIGIT);
}

static void money_decimal_digits(struct decimal *decimal, struct str digits, bool fraction)
{
    for (size_t i = 0; i < digits.len; i++) {
        if (fraction)
            decimal->power--;
        if (decimal->count > 0 || digits.ptr[i] != '0')
            decimal->digits[decimal->count++] = digits.ptr[i];
    }
}

/* Reads an exponent such as "-07". It stops growing at EXPONENT_MAX, where the number is out of
 * range anyway. Returns false when `text` is no exponent. */
static bool decimal_exponent(struct decimal *decimal, struct str text)
{
    size_t at = 0;
    bool negative = false;
    int value = 0;

    if (text.len > 0 && (text.ptr[0] == '+' || text.ptr[0] == '-')) {
        negative = text.ptr[0] == '-';
        at = 1;
    }
    size_t count = digits_span(text, at);
    if (count == 0 || at + count != text.len)
        return false;
    for (; at < text.len; at++)
        if (value < EXPONENT_MAX)
            value = value * 10 + (text.ptr[at] - '0');
    decimal->power += negative ? -value : value;
    return true;
}

/* RFC 8259 section 6: [-] int [frac] [exp] */
static bool decimal_parse(struct decimal *decimal, struct str text)
{
    size_t at = 0;

    decimal->count = 0;
    decimal->power = 0;
    decimal->negative = text.len > 0 && text.ptr[0] == '-';
    if (text.len > NUMBER_BYTES_MAX)
        return false;
    at += decimal->negative ? 1 : 0;
    size_t count = digits_span(text, at);
    if (count == 0 || (count > 1 && text.ptr[at] == '0'))
        return false;
    money_decimal_digits(decimal, (struct str){text.ptr + at, count}, false);
    at += count;
    if (at < text.len && text.ptr[at] == '.') {
        count = digits_span(text, ++at);
        if (count == 0)
            return false;
        money_decimal_digits(decimal, (struct str){text.ptr + at, count}, true);
        at += count;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        if (!decimal_exponent(decimal, (struct str){text.ptr + at, text.len - at}))
            return false;
        at = text.len;
    }
    while (decimal->count > 0 && decimal->digits[decimal->count - 1] == '0') {
        decimal->count--;
        decimal->power++;
    }
    return at == text.len;
}

int money_parse(struct str text, struct str currency, int64_t *ret_minor)
{
    const struct currency class = money_class_of(currency);
    struct decimal decimal;
    int64_t minor = 0;

    if (!decimal_parse(&decimal, text))
        return MONEY_NOT_A_NUMBER;
    if (decimal.count == 0) {
        *ret_minor = 0;
        return 0;
    }
    if (decimal.negative)
        return MONEY_NEGATIVE;
    if (decimal.power + class.allowed < 0)
        return MONEY_TOO_PRECISE;
    int zeros = decimal.power + class.decimals;
    if (decimal.count + zeros > MINOR_DIGITS)
        return MONEY_TOO_LARGE;
    for (int i = 0; i < decimal.count; i++)
        minor = minor * 10 + (decimal.digits[i] - '0');
    for (int i = 0; i < zeros; i++)
        minor *= 10;
    *ret_minor = minor;
    return 0;
}

int money_from_json(const json_t *value, struct str currency, int64_t *ret_minor)
{
    char buf[32];

    if (json_is_string(value))
        return money_parse(
            (struct str){json_string_value(value), json_string_length(value)}, currency, ret_minor);
    struct str number = jr_number(value, buf);
    if (number.ptr == NULL)
        return MONEY_NOT_A_NUMBER;
    return money_parse(number, currency, ret_minor);
}

/* --- minor units to text --- */

struct str money_text(struct arena *arena, int64_t minor, struct str currency)
{
    int decimals = money_class_of(currency).decimals;
    uint64_t value = minor < 0 ? 0 - (uint64_t)minor : (uint64_t)minor;
    uint64_t unit = 1;

    for (int i = 0; i < decimals; i++)
        unit *= 10;
    uint64_t fraction = value % unit;
    while (decimals > 0 && fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    const char *sign = minor < 0 ? "-" : "";
    unsigned long long whole = value / unit;
    if (decimals == 0)
        return arena_printf(arena, "%s%llu", sign, whole);
    return arena_printf(
        arena, "%s%llu.%0*llu", sign, whole, decimals, (unsigned long long)fraction);
}

void money_json(struct jw *w, const char *name, int64_t minor, struct str currency)
{
    char minor_name[NAME_BYTES_MAX];

    int len = snprintf(minor_name, sizeof(minor_name), "%s_minor", name);
    MUST(len > 0 && (size_t)len < sizeof(minor_name));
    jw_lit(w, name);
    jw_raw(w, money_text(w->out->arena, minor, currency));
    JW_I64(w, minor_name, minor);
}
