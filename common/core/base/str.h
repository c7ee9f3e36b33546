#pragma once
/*
 * Borrowed text: a pointer and a length. A str never owns its bytes, and a NUL follows them only
 * where a comment says so. Any thread, no allocation.
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

/* Returns a NUL-terminated text as a str; NULL gives the empty str. */
static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

/* Returns whether the bytes are equal. */
static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Returns whether the bytes equal a NUL-terminated text. */
static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

/* Returns whether the texts are equal when the case of ASCII letters is ignored (HTTP tokens,
 * header names). */
bool str_ieq(struct str a, struct str b);
/* Return whether the text begins with `prefix` or ends with `suffix`. */
bool str_starts(struct str text, struct str prefix);
bool str_ends(struct str text, struct str suffix);
/* Returns the text without leading and trailing spaces and tabs. */
struct str str_trim(struct str text);
/* Cuts the part before the first `separator` off *rest and returns the part; the whole rest when
 * there is no separator. *rest becomes {NULL, 0} after the last part: loop `while (rest.ptr)`. */
struct str str_split(struct str *rest, char separator);
/* Compares bytes as memcmp() does; of two texts that begin alike, the shorter text is less. */
int str_cmp(struct str a, struct str b);
/* Returns the FNV-1a hash, 64 bits, e.g. for names of statements. Not for uses in which an attacker
 * profits from collisions. */
unsigned long long str_hash(struct str text);
#define STR_HASH_NONE 14695981039346656037ULL
/* Hashes a text in chunks: takes the hash of the chunks before this one, STR_HASH_NONE at first. */
unsigned long long str_hash_chunk(unsigned long long hash, struct str chunk);
