#pragma once
/*
 * Query strings: decoded once, in order, bracket names split: filter[author.country][in]=a,b has
 * the name "filter" and the keys {"author.country", "in"}. At most 100 parameters, 7 keys each.
 */
#include "base/arena.h"
#include "base/str.h"

#define QUERY_KEYS_MAX 7

struct query_item {
    struct str name;
    struct str keys[QUERY_KEYS_MAX];
    size_t key_count;
    struct str value;
};

struct query {
    struct query_item *items;
    size_t count;
};

/* any: 0 or QUERY_INVALID with *ret_reason (static text): broken escapes, NUL, unbalanced brackets,
 * too many. Arena-owned. Also reads application/x-www-form-urlencoded bodies. */
int query_parse(struct arena *arena,
                struct str text,
                struct query *ret_query,
                const char **ret_reason) MUSTCHECK;
/* First value without keys of that name; STR_NONE when absent (an empty value has ptr != NULL). */
struct str query_get(const struct query *query, const char *name);

/* What is said of sort[]=a&sort[]=b, as clients of other conventions write lists. */
#define QUERY_NO_BRACKETS                                                                          \
    "takes no brackets: it is given once, several values with commas between, as in sort=name,-id"
