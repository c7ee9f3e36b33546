#pragma once
/* Lists that grow without end (jobs, payments, received events), walked along a number of theirs.
 */
#include "app.h"

/* Statements of a list in both directions of a number, newest first by default. Their parameters
 * are the list's own, then the number to begin behind, limit and offset; `count` has the list's own
 * only. */
struct walk_list {
    const struct sql *newest, *oldest, *count;
    const char
        *key; /* column of the number; also what sort= may name, or the time a row was made */
};
/* page, limit, sort, order, count and cursor: the query of such a list, besides what the list adds.
 */
/* clang-format off */
#define WALK_QUERY                                                                                 \
    PAGE_QUERY,                                                                                    \
    {.name = "cursor", .type = FIELD_STR,                                                          \
     .doc = "'start', then the next_cursor of each answer: walks a list of any size"}
/* clang-format on */
extern const struct query_param walk_query[];
/* co: the whole answer: envelope, and next_cursor when the walk was asked for. */
AWAITS int walk_reply(struct req *r,
                      const struct walk_list *list,
                      const struct db_param *params,
                      size_t count);
/* The same for rows that are not shown as they are: `write` writes one as an object. */
typedef void (*walk_write_fn)(struct jw *w, const struct rows *rows, size_t row);
AWAITS int walk_reply_with(struct req *r,
                           const struct walk_list *list,
                           const struct db_param *params,
                           size_t count,
                           walk_write_fn write);
