#pragma once
/*
 * A look over a JSON text without reading it: brackets, commas and where strings and numbers begin,
 * for whoever counts before a parser allocates or recurses. Checks no grammar. Any thread.
 */
#include "base/str.h"

/* The byte at *at, which is moved behind it, and behind the whole of a string, for which '"'
 * stands; -1 at the end. White space and all else come as they are. */
static inline int json_scan(struct str text, size_t *at)
{
    if (*at >= text.len)
        return -1;
    char c = text.ptr[(*at)++];
    if (c == '"') {
        while (*at < text.len && text.ptr[*at] != '"')
            *at += text.ptr[*at] == '\\' ? 2 : 1;
        *at = *at < text.len ? *at + 1 : text.len;
    }
    return (unsigned char)c;
}

/* What a byte of json_scan() adds to the depth: 1, -1 or 0. */
static inline int json_scan_depth(int c)
{
    return (c == '{' || c == '[') - (c == '}' || c == ']');
}
