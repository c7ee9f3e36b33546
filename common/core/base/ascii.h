#pragma once
/* Classes of ASCII characters, in every locale; what is above 0x7f belongs to none. Any thread. */
#include <stdbool.h>

#include "base/str.h"

enum ascii_class {
    ASCII_DIGIT = 1,
    ASCII_LOWER = 2,
    ASCII_UPPER = 4,
    ASCII_LETTER = ASCII_LOWER | ASCII_UPPER,
    ASCII_ALNUM = ASCII_LETTER | ASCII_DIGIT,
};

/* What an HTTP token has besides letters and digits (RFC 9110 section 5.6.2), for ascii_only(). */
#define ASCII_TOKEN_MARKS "!#$%&'*+-.^_`|~"

/* Whether the character is of one of these classes. */
static inline bool ascii_is(char c, unsigned classes)
{
    return (classes & ASCII_DIGIT && c >= '0' && c <= '9') ||
           (classes & ASCII_LOWER && c >= 'a' && c <= 'z') ||
           (classes & ASCII_UPPER && c >= 'A' && c <= 'Z');
}

static inline char ascii_lower(char c)
{
    return ascii_is(c, ASCII_UPPER) ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
    return ascii_is(c, ASCII_LOWER) ? (char)(c - 'a' + 'A') : c;
}

/* Of a hexadecimal digit in either case; -1 = none. */
static inline int ascii_hex(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Whether the character is one of `set`; a NUL is not. */
static inline bool ascii_among(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* How many characters of these classes the text begins with. */
size_t ascii_span(struct str text, unsigned classes);
/* Whether all of it is of these classes or one of `others`; the empty text is, a NUL is not. */
bool ascii_only(struct str text, unsigned classes, const char *others);
