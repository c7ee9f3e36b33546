#pragma once
/* UTF-8 (RFC 3629). Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;

/* The byte order mark. */
#define UTF8_MARK "\xef\xbb\xbf"
/* Returns the text without a leading byte order mark; borrowed. */
static inline struct str utf8_unmarked(struct str text)
{
    size_t mark = str_starts(text, STR(UTF8_MARK)) ? sizeof(UTF8_MARK) - 1 : 0;

    return mark > 0 ? (struct str){text.ptr + mark, text.len - mark} : text;
}
/* Returns whether the text is UTF-8 without overlong forms, surrogates and code points above
 * U+10FFFF. NUL is valid. */
bool utf8_valid(struct str text);
/* Returns a copy that PostgreSQL accepts as text: U+FFFD replaces each byte that is not part of a
 * valid sequence, and each NUL. Arena-owned. */
struct str utf8_clean(struct arena *arena, struct str text);
/* Returns the longest beginning of at most `max` bytes that ends with a whole character. */
struct str utf8_cut(struct str text, size_t max);
/* Decodes the code point at offset `at`, which is below the length. Returns its length in bytes, 0
 * when the bytes are not valid. */
size_t utf8_decode(struct str text, size_t at, uint32_t *ret_code);
/* Writes a code point up to U+10FFFF as 1 to 4 bytes and returns their number. */
size_t utf8_encode(char *buffer, uint32_t code);
/* Returns the number of code points of a valid text. */
size_t utf8_length(struct str text);
