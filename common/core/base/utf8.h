#pragma once
/* UTF-8 (RFC 3629). Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;

/* The byte order mark. */
#define UTF8_MARK "\xef\xbb\xbf"
/* The text without a byte order mark at its beginning; borrowed. */
static inline struct str utf8_unmarked(struct str text)
{
    size_t mark = str_starts(text, STR(UTF8_MARK)) ? sizeof(UTF8_MARK) - 1 : 0;

    return mark > 0 ? (struct str){text.ptr + mark, text.len - mark} : text;
}
/* No overlong forms, surrogates or code points above U+10FFFF. NUL is allowed here. */
bool utf8_valid(struct str text);
/* A copy in which U+FFFD stands for every byte that is not part of a valid sequence and for every
 * NUL: what PostgreSQL stores as text. Arena-owned. */
struct str utf8_clean(struct arena *arena, struct str text);
/* The longest beginning of at most `max` bytes that ends with a whole character. */
struct str utf8_cut(struct str text, size_t max);
/* The code point at an offset below the length; the bytes of it, 0 when they are not valid. */
size_t utf8_decode(struct str text, size_t at, uint32_t *ret_code);
/* Writes up to 4 bytes of a code point up to U+10FFFF; how many. */
size_t utf8_encode(char *room, uint32_t code);
/* Code points of a valid text. */
size_t utf8_length(struct str text);
