#pragma once
/*
 * Borrowed text: a pointer and a length, never owning, not NUL-terminated unless said so.
 * Any thread, no allocation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

/* STR("literal") at run time; STR_INIT("literal") in static tables; printf("%.*s", STR_ARG(s)). */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
#define STR_ARG(s) (int)(s).len, (s).ptr
#define STR_NONE   ((struct str){NULL, 0})

/* Span over a NUL-terminated text; NULL gives the empty span. */
static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

/* ASCII case-insensitive equality (HTTP tokens, header names). */
bool str_ieq(struct str a, struct str b);
bool str_starts(struct str text, struct str prefix);
bool str_ends(struct str text, struct str suffix);
/* Without leading and trailing spaces and tabs. */
struct str str_trim(struct str text);
/* Cuts the part before the first `separator` off *rest and returns it; the whole rest when absent.
 * *rest becomes {NULL, 0} after the last part: loop `while (rest.ptr)`. */
struct str str_split(struct str *rest, char separator);
/* memcmp order, shorter first on a tie. */
int str_cmp(struct str a, struct str b);
/* FNV-1a, 64 bits: for hash maps and statement names, not for anything an attacker profits from. */
unsigned long long str_hash(struct str text);
/* The same of a long text in pieces; begins with STR_HASH_NONE. */
#define STR_HASH_NONE 14695981039346656037ULL
unsigned long long str_hash_more(unsigned long long hash, struct str piece);
