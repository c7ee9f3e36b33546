#pragma once
/* Classes of ASCII characters, the same in every locale. Bytes above 0x7f belong to no class. Any
 * thread. */
#include <stdbool.h>

#include "base/str.h"

enum ascii_class {
    ASCII_DIGIT = 1,
    ASCII_LOWER = 2,
    ASCII_UPPER = 4,
    ASCII_LETTER = ASCII_LOWER | ASCII_UPPER,
    ASCII_ALNUM = ASCII_LETTER | ASCII_DIGIT,
};

/* Characters of an HTTP token other than letters and digits (RFC 9110 section 5.6.2), for
 * ascii_has_only(). */
#define ASCII_TOKEN_MARKS "!#$%&'*+-.^_`|~"

/* Returns whether the character belongs to one of these classes. */
static inline bool ascii_is(char c, unsigned classes)
{
    return (classes & ASCII_DIGIT && c >= '0' && c <= '9') ||
           (classes & ASCII_LOWER && c >= 'a' && c <= 'z') ||
           (classes & ASCII_UPPER && c >= 'A' && c <= 'Z');
}

/* Returns a letter in lower case, any other character as it is. */
static inline char ascii_lower(char c)
{
    return ascii_is(c, ASCII_UPPER) ? (char)(c - 'A' + 'a') : c;
}

/* Returns a letter in upper case, any other character as it is. */
static inline char ascii_upper(char c)
{
    return ascii_is(c, ASCII_LOWER) ? (char)(c - 'a' + 'A') : c;
}

/* Returns the value of a hexadecimal digit in either case, -1 for any other character. */
static inline int ascii_hex(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns whether the character is in `set`, which never contains NUL. */
static inline bool ascii_is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Returns how many characters of these classes the text begins with. */
size_t ascii_span(struct str text, unsigned classes);
/* Returns whether each character belongs to these classes or is in `others`: true for the empty
 * text, false for a text with a NUL. */
bool ascii_has_only(struct str text, unsigned classes, const char *others);
