/* Named text formats. The checks are pragmatic: they accept sane values, not every form that a
 * standard allows. */

#include "base/ascii.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/utf8.h"
#include "json/schema.h"

#define EMAIL_MAX       254 /* RFC 5321 section 4.5.3.1.3: 256 less the angle brackets */
#define EMAIL_LOCAL_MAX 64  /* RFC 5321 section 4.5.3.1.1 */
#define LABEL_MAX       63  /* RFC 1035 section 2.3.4 */
#define NAME_MAX_BYTES  48

/* [a-z][a-z0-9<joiner>]{min-1,47} */
static bool identifier_ok(struct str value, const char *joiner, size_t min)
{
    return value.len >= min && value.len <= NAME_MAX_BYTES && ascii_is(value.ptr[0], ASCII_LOWER) &&
           ascii_has_only(value, ASCII_LOWER | ASCII_DIGIT, joiner);
}

static bool slug_ok(struct str value)
{
    return identifier_ok(value, "-", 2);
}

static bool format_name_ok(struct str value)
{
    return identifier_ok(value, "_", 1);
}

/* Whether the byte belongs to a character outside ASCII, which letters_ok() has checked. */
static bool is_non_ascii(char c)
{
    return (unsigned char)c >= 0x80;
}

/* Invisible characters and characters that change the direction of text: spaces, controls, marks of
 * direction and width, surrogates, private use, and code points that are not characters. */
static bool is_invisible(uint32_t point)
{
    return (point >= 0x80 && point <= 0xa0) || point == 0xad || point == 0x61c || point == 0x1680 ||
           point == 0x180e || (point >= 0x2000 && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202f) || (point >= 0x205f && point <= 0x206f) ||
           point == 0x3000 || (point >= 0xd800 && point <= 0xf8ff) || point == 0xfeff ||
           (point >= 0xfff0 && point <= 0xffff) || point >= 0xe0000;
}

/* Whether the text is valid UTF-8 without invisible characters. */
static bool letters_ok(struct str text)
{
    if (!utf8_valid(text))
        return false;
    for (size_t i = 0; i < text.len;) {
        unsigned char lead = (unsigned char)text.ptr[i];
        size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0x80 ? 1 : 0;
        uint32_t point = more ? lead & (0x3fU >> more) : lead;
        for (size_t j = 1; j <= more; j++)
            point = point << 6U | ((unsigned char)text.ptr[i + j] & 0x3fU);
        if (is_invisible(point))
            return false;
        i += more + 1;
    }
    return true;
}

/* Accepts labels of letters, digits and inner hyphens, separated by dots. */
static bool domain_ok(struct str domain)
{
    if (domain.len == 0)
        return false;
    for (struct str rest = domain; rest.ptr != NULL;) {
        struct str label = str_split(&rest, '.');
        if (label.len == 0 || label.len > LABEL_MAX || label.ptr[0] == '-' ||
            label.ptr[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++)
            if (!ascii_is(label.ptr[i], ASCII_ALNUM) && label.ptr[i] != '-' &&
                !is_non_ascii(label.ptr[i]))
                return false;
    }
    return true;
}

/* Accepts letters of all scripts before and after the @ (RFC 6531, RFC 5890). Two addresses that
 * look alike remain two different addresses. */
static bool email_ok(struct str value)
{
    if (value.len > EMAIL_MAX || !letters_ok(value))
        return false;
    struct str domain = value;
    struct str local = str_split(&domain, '@');
    if (local.len == 0 || local.len > EMAIL_LOCAL_MAX || domain.ptr == NULL || !domain_ok(domain))
        return false;
    for (size_t i = 0; i < local.len; i++) {
        char c = local.ptr[i];
        bool edge = i == 0 || i == local.len - 1;
        if (c == '.' && (edge || local.ptr[i - 1] == '.'))
            return false;
        if (!ascii_is(c, ASCII_ALNUM) && !is_non_ascii(c) &&
            !ascii_is_in(c, "!#$%&'*+-/=?^_`{|}~."))
            return false;
    }
    return true;
}

/* Accepts "host", "host:port" and "[v6]:port", each optionally after user information. */
static bool authority_ok(struct str authority)
{
    struct str host = authority;
    const char *at = memrchr(authority.ptr, '@', authority.len);
    if (at != NULL) {
        host.ptr = at + 1;
        host.len = (size_t)(authority.ptr + authority.len - host.ptr);
    }
    struct str port = STR_NONE;
    const char *bracket =
        host.len > 0 && host.ptr[0] == '[' ? memchr(host.ptr, ']', host.len) : NULL;
    const char *from = bracket ? bracket : host.ptr;
    const char *colon = memchr(from, ':', (size_t)(host.ptr + host.len - from));
    if (colon != NULL) {
        port = (struct str){colon + 1, (size_t)(host.ptr + host.len - colon - 1)};
        host.len = (size_t)(colon - host.ptr);
    }
    if (host.len == 0 || (host.ptr[0] == '[') != (bracket != NULL))
        return false;
    if (bracket != NULL && (bracket != host.ptr + host.len - 1 || host.len < 4))
        return false;
    if (port.ptr == NULL)
        return true;
    unsigned number = 0;
    for (size_t i = 0; i < port.len; i++) {
        if (!ascii_is(port.ptr[i], ASCII_DIGIT) || i >= 5)
            return false;
        number = number * 10 + (unsigned)(port.ptr[i] - '0');
    }
    return number >= 1 && number <= 65535;
}

/* Accepts absolute http and https addresses (RFC 3986 section 4.3, RFC 9110 section 4.2). */
static bool url_ok(struct str value)
{
    struct str rest = value;
    struct str scheme = str_split(&rest, ':');
    if (!str_ieq(scheme, STR("http")) && !str_ieq(scheme, STR("https")))
        return false;
    if (!str_starts(rest, STR("//")))
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        char c = rest.ptr[i];
        if ((unsigned char)c <= 0x20 || c == 0x7f || ascii_is_in(c, "\\<>\""))
            return false;
    }
    struct str authority = {rest.ptr + 2, rest.len - 2};
    for (size_t i = 0; i < authority.len; i++)
        if (ascii_is_in(authority.ptr[i], "/?#"))
            authority.len = i;
    return authority.len > 0 && authority_ok(authority);
}

static bool date_time_ok(struct str value)
{
    int64_t wall_ms;
    return clock_parse(value, &wall_ms);
}

/* Accepts both cases (RFC 9562 section 4). */
static bool uuid_ok(struct str value)
{
    if (value.len != 36)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? value.ptr[i] != '-' : ascii_hex(value.ptr[i]) < 0)
            return false;
    }
    return true;
}

/* Accepts #rgb, #rrggbb and #rrggbbaa. */
static bool color_ok(struct str value)
{
    if ((value.len != 4 && value.len != 7 && value.len != 9) || value.ptr[0] != '#')
        return false;
    for (size_t i = 1; i < value.len; i++)
        if (ascii_hex(value.ptr[i]) < 0)
            return false;
    return true;
}

static const struct {
    const char *name;
    bool (*ok)(struct str value);
} formats[] = {
    {"email", email_ok},
    {"slug", slug_ok},
    {"name", format_name_ok},
    {"url", url_ok},
    {"uri", url_ok},
    {"date", clock_parse_date},
    {"date-time", date_time_ok},
    {"uuid", uuid_ok},
    {"color", color_ok},
};

bool schema_format_ok(const char *format, struct str value)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strcmp(format, formats[i].name) == 0)
            return formats[i].ok(value);
    return true;
}
