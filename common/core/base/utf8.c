/* UTF-8. ASCII is checked eight bytes at a time, other text by the table of RFC 3629 section 4. */
#include "base/utf8.h"

#include "base/arena.h"

#define HIGH_BITS 0x8080808080808080ULL

static bool is_ascii8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return (word & HIGH_BITS) == 0;
}

/* Returns the length in bytes of the sequence at `at`, 0 when the sequence is not valid. */
static size_t sequence_len(const unsigned char *at, size_t left)
{
    unsigned char lead = at[0];
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t len;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0; /* continuation, overlong C0 C1, or beyond U+10FFFF */
    len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (left < len)
        return 0;
    if (lead == 0xe0)
        low = 0xa0; /* overlong */
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        low = 0x90; /* overlong */
    else if (lead == 0xf4)
        high = 0x8f; /* beyond U+10FFFF */
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((at[i] & 0xc0U) != 0x80)
            return 0;
    }
    return len;
}

bool utf8_valid(struct str text)
{
    size_t i = 0;

    while (i < text.len) {
        size_t len;
        if (text.len - i >= 8 && is_ascii8(text.ptr + i)) {
            i += 8;
            continue;
        }
        len = sequence_len((const unsigned char *)text.ptr + i, text.len - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

struct str utf8_clean(struct arena *arena, struct str text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *out = arena_alloc(arena, text.len * 3 + 1);
    size_t used = 0;

    for (size_t i = 0; i < text.len;) {
        size_t len = sequence_len((const unsigned char *)text.ptr + i, text.len - i);
        bool keep = len > 0 && text.ptr[i] != '\0';
        memcpy(out + used, keep ? text.ptr + i : replacement, keep ? len : 3);
        used += keep ? len : 3;
        i += len > 0 ? len : 1;
    }
    out[used] = '\0';
    return (struct str){out, used};
}

struct str utf8_cut(struct str text, size_t max)
{
    if (text.len <= max)
        return text;
    while (max > 0 && ((unsigned char)text.ptr[max] & 0xc0U) == 0x80)
        max--;
    return (struct str){text.ptr, max};
}

size_t utf8_decode(struct str text, size_t at, uint32_t *ret_code)
{
    const unsigned char *from = (const unsigned char *)text.ptr + at;
    size_t len = sequence_len(from, text.len - at);
    uint32_t code = len > 1 ? from[0] & (0x7fU >> len) : from[0];

    for (size_t i = 1; i < len; i++)
        code = code << 6 | (from[i] & 0x3fU);
    *ret_code = code;
    return len;
}

size_t utf8_encode(char *buffer, uint32_t code)
{
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; code >>= 6)
        buffer[i] = (char)(0x80 | (code & 0x3f));
    buffer[0] = (char)(len == 1 ? code : (0xf00U >> len & 0xf0U) | code);
    return len;
}

size_t utf8_length(struct str text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0U) != 0x80;
    return count;
}
