/* Borrowed text: comparison, cutting, trimming. */
#include "base/str.h"

#include "base/ascii.h"

bool str_ieq(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
            return false;
    }
    return true;
}

bool str_starts(struct str text, struct str prefix)
{
    return text.len >= prefix.len && str_eq((struct str){text.ptr, prefix.len}, prefix);
}

bool str_ends(struct str text, struct str suffix)
{
    if (suffix.len == 0)
        return true;
    return text.len >= suffix.len &&
           memcmp(text.ptr + (text.len - suffix.len), suffix.ptr, suffix.len) == 0;
}

static bool str_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim(struct str text)
{
    while (text.len > 0 && str_is_blank(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && str_is_blank(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

struct str str_split(struct str *rest, char separator)
{
    struct str part = *rest;
    const char *cut = part.len > 0 ? memchr(part.ptr, separator, part.len) : NULL;

    if (!cut) {
        *rest = STR_NONE;
        return part;
    }
    part.len = (size_t)(cut - part.ptr);
    rest->ptr = cut + 1;
    rest->len -= part.len + 1;
    return part;
}

int str_cmp(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

unsigned long long str_hash_chunk(unsigned long long hash, struct str chunk)
{
    for (size_t i = 0; i < chunk.len; i++) {
        hash ^= (unsigned char)chunk.ptr[i];
        hash *= 1099511628211ULL;
    }
    return hash;
}

unsigned long long str_hash(struct str text)
{
    return str_hash_chunk(STR_HASH_NONE, text);
}
