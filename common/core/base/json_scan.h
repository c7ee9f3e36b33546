#pragma once
/*
 * Scans a JSON text without parsing it: callers see brackets, commas, and where strings and numbers
 * begin, and can count them before a parser allocates or recurses. The grammar is not checked. Any
 * thread.
 */
#include "base/str.h"

/* Returns the byte at *at and advances *at past it; returns -1 at the end. For a string, returns
 * '"' and advances *at past the whole string. White space and all other bytes are returned as they
 * are. */
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

/* Returns how a byte from json_scan() changes the nesting depth: 1, -1 or 0. */
static inline int json_scan_depth(int c)
{
    return (c == '{' || c == '[') - (c == '}' || c == ']');
}
