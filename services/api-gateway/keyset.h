#pragma once
/* Lists that grow without bound (jobs, payments, received events), read page by page along a number
 * of their rows (keyset pagination). */
#include "app.h"

/* Statements of a list in both directions of its number; newest first is the default. Their
 * parameters are the list's own, then the number to begin after, the limit and the offset. `count`
 * has only the list's own parameters. */
struct keyset_list {
    const struct sql *newest, *oldest, *count;
    /* Column of the number; sort= may name this column, or the time at which a row was made. */
    const char *key;
};
/* Query parameters of such a list: page, limit, sort, order, count and cursor. A list may add its
 * own. */
/* clang-format off */
#define KEYSET_QUERY                                                                               \
    PAGE_QUERY,                                                                                    \
    {.name = "cursor", .type = FIELD_STR,                                                          \
     .doc = "'start' for the first page, then next_cursor of the previous answer; reads a list of "  \
            "any size"}
/* clang-format on */
extern const struct query_param keyset_query[];
/* co: Puts the whole answer: the envelope, and next_cursor when the request has a cursor. `params`:
 * the list's own parameters, `count` of them. Returns the status that was put, or a negative. */
AWAITS int keyset_reply(struct req *r,
                        const struct keyset_list *list,
                        const struct db_param *params,
                        size_t count);
/* co: keyset_reply_rows() does the same as keyset_reply() for rows that are not shown as they are
 * stored: `write` writes the row of index `row` as an object. */
typedef void (*keyset_write_fn)(struct jw *w, const struct rows *rows, size_t row);
AWAITS int keyset_reply_rows(struct req *r,
                             const struct keyset_list *list,
                             const struct db_param *params,
                             size_t count,
                             keyset_write_fn write);
