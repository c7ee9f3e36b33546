/* Records, and JSON text from UTF-16. */
#include "script-sandbox/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLACEMENT 0xFFFD

void text_add(struct text *text, const void *bytes, size_t count)
{
    if (count > text->cap - text->len) {
        size_t cap = text->cap * 2 > text->len + count ? text->cap * 2 : text->len + count + 256;
        char *ptr = realloc(text->ptr, cap);

        if (!ptr)
            _exit(EXIT_NO_MEMORY);
        text->ptr = ptr;
        text->cap = cap;
    }
    if (count > 0)
        memcpy(text->ptr + text->len, bytes, count);
    text->len += count;
}

void text_cstr(struct text *text, const char *words)
{
    text_add(text, words, strlen(words));
}

void text_int(struct text *text, int64_t value)
{
    char digits[24];

    text_add(text, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRId64, value));
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Returns the code point at *at and moves *at past it. A lone surrogate is returned as it is. */
static uint32_t next_point(const uint16_t *units, size_t count, size_t *at)
{
    uint32_t unit = units[(*at)++];

    if (is_high(unit) && *at < count && is_low(units[*at]))
        return 0x10000 + ((unit - 0xD800) << 10) + (units[(*at)++] - 0xDC00U);
    return unit;
}

/* Prints a code point and returns its length, at most four bytes. */
static size_t print_utf8(char out[4], uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | (point >> 6));
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | (point >> 12));
        out[1] = (char)(0x80 | ((point >> 6) & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (point >> 18));
    out[1] = (char)(0x80 | ((point >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((point >> 6) & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

static void add_escaped(struct text *text, uint32_t point)
{
    char out[8];

    if (point == '"' || point == '\\') {
        out[0] = '\\';
        out[1] = (char)point;
        text_add(text, out, 2);
    } else if (point == '\n') {
        text_add(text, "\\n", 2);
    } else if (point < 0x20 || point == 0x7F) {
        text_add(text, out, (size_t)snprintf(out, sizeof(out), "\\u%04x", (unsigned)point));
    } else {
        text_add(text, out, print_utf8(out, point));
    }
}

void text_quoted(struct text *text, const uint16_t *units, size_t count, size_t max_bytes)
{
    size_t at = 0;
    size_t bytes = 0;
    char out[4];

    text_add(text, "\"", 1);
    while (at < count) {
        uint32_t point = next_point(units, count, &at);

        if (point == 0 || is_high(point) || is_low(point))
            point = REPLACEMENT;
        bytes += print_utf8(out, point);
        if (bytes > max_bytes) {
            text_cstr(text, "...");
            break;
        }
        add_escaped(text, point);
    }
    text_add(text, "\"", 1);
}

/* --- results --- */

struct scan {
    const uint16_t *units;
    size_t count;
    size_t at;
    unsigned depth;
};

/* Why an escape sequence is refused, NULL = it is not. JSON.stringify() escapes U+0000 and lone
 * surrogates, and never a surrogate that is part of a pair. */
static const char *refused_escape(const uint16_t *units, size_t count, size_t at)
{
    if (at + 5 >= count || units[at + 1] != 'u')
        return NULL;
    if (units[at + 2] == 'd' && units[at + 3] >= '8')
        return "the result has a text with half a surrogate pair, which is not valid Unicode";
    if (units[at + 2] == '0' && units[at + 3] == '0' && units[at + 4] == '0' &&
        units[at + 5] == '0')
        return "the result has a text with U+0000, which cannot be stored";
    return NULL;
}

static const char *copy_string(struct text *text, struct scan *scan)
{
    char out[4];

    text_add(text, "\"", 1);
    scan->at++;
    while (scan->at < scan->count && scan->units[scan->at] != '"') {
        if (scan->units[scan->at] == '\\') {
            const char *why = refused_escape(scan->units, scan->count, scan->at);

            if (why)
                return why;
            text_add(text, "\\", 1);
            scan->at++;
        }
        text_add(text, out, print_utf8(out, next_point(scan->units, scan->count, &scan->at)));
    }
    scan->at++;
    text_add(text, "\"", 1);
    return NULL;
}

/* Copies a number. A double above 2^63 is printed as an integer that no reader with 64-bit integers
 * accepts, so an integer of 19 or more digits becomes a real. */
static void copy_number(struct text *text, struct scan *scan)
{
    size_t begin = text->len;
    bool real = false;
    char c;

    while (scan->at < scan->count) {
        c = (char)scan->units[scan->at];
        if (scan->units[scan->at] > 0x7F || !strchr("+-.eE0123456789", c) || c == '\0')
            break;
        real = real || c == '.' || c == 'e' || c == 'E';
        text_add(text, &c, 1);
        scan->at++;
    }
    if (!real && text->len - begin >= 19)
        text_cstr(text, ".0");
}

const char *text_json(struct text *text, const uint16_t *units, size_t count)
{
    struct scan scan = {.units = units, .count = count};
    size_t begin = text->len;

    while (scan.at < count) {
        char c = (char)units[scan.at];
        const char *why = NULL;

        if (c == '"') {
            why = copy_string(text, &scan);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            copy_number(text, &scan);
        } else {
            if (c == '[' || c == '{')
                scan.depth++;
            else if (c == ']' || c == '}')
                scan.depth--;
            text_add(text, &c, 1);
            scan.at++;
        }
        if (why)
            return why;
        if (scan.depth > RESULT_DEPTH_MAX)
            return "the result is nested more than 50 levels deep";
        if (text->len - begin > RESULT_BYTES_MAX)
            return "the result is larger than 1 MB as JSON";
    }
    return NULL;
}

/* --- writing --- */

bool write_to(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t done = write(fd, at, count);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        count -= (size_t)done;
    }
    return true;
}

void write_all(const void *bytes, size_t count)
{
    if (!write_to(STDOUT_FILENO, bytes, count))
        _exit(0);
}

void record_write(char kind, const struct text *text)
{
    char head[RECORD_HEAD_BYTES];
    uint32_t len = (uint32_t)text->len;

    head[0] = kind;
    memcpy(head + 1, &len, sizeof(len));
    write_all(head, sizeof(head));
    write_all(text->ptr, text->len);
}
