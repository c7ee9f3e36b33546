#pragma once
/*
 * Query strings: decoded once, in order, with names split at brackets:
 * filter[author.country][in]=a,b has the name "filter" and the keys {"author.country", "in"}. At
 * most 100 parameters with 7 keys each.
 */
#include <stdint.h>

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

/* any: Parses a query string or an application/x-www-form-urlencoded body. Returns 0, or
 * QUERY_INVALID with *ret_reason (static text): malformed escapes, NUL, invalid UTF-8, unbalanced
 * brackets, too many parameters or keys. The items are arena-owned. */
int query_parse(struct arena *arena,
                struct str text,
                struct query *ret_query,
                const char **ret_reason) MUSTCHECK;
/* any: Returns the first value of that name without keys; STR_NONE when absent (an empty value has
 * ptr != NULL). */
struct str query_get(const struct query *query, const char *name);
/* any: Returns the values of a FIELD_STRS parameter, which commas separate. NULL and *ret_count 0
 * when absent. Arena-owned. */
const struct str *
query_texts(struct arena *arena, const struct query *query, const char *name, size_t *ret_count);
/* any: Returns a FIELD_TIME parameter that req_query() has checked, as wall milliseconds; 0 when
 * absent. */
int64_t query_time(const struct query *query, const char *name);

/* The error for sort[]=a&sort[]=b, the lists of other API conventions. */
#define QUERY_BRACKETS_ERROR                                                                       \
    "takes no brackets: send it once, with values separated by commas, as in sort=name,-id"
