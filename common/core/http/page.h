#pragma once
/* Page parameters that every list accepts: page, limit, sort, order, count. */
#include "base/str.h"
#include "http/query.h"
#include "json/schema.h"

struct page {
    int64_t page;    /* from 1 */
    int64_t limit;   /* 1..500, default 20 */
    struct str sort; /* "-created_at" or a column; empty = default */
    bool descending;
    bool count; /* the client wants the total */
};
/* any: Reads the page parameters of a query. False: errors were added. page * limit is at most
 * 2^53. */
bool page_parse(struct arena *arena,
                const struct query *query,
                struct page *ret_page,
                struct schema_errors *errors);
/* any: Reads only limit and page, from texts; STR_NONE = not given. page_offset() returns how many
 * rows precede the page. */
bool page_numbers(struct arena *arena,
                  struct str limit,
                  struct str number,
                  struct page *ret_page,
                  struct schema_errors *errors);
static inline int64_t page_offset(const struct page *page)
{
    return (page->page - 1) * page->limit;
}
/* any: Writes the envelope's members after "items": total_items, page, page_size, has_next_page. */
void page_json(struct jw *w, const struct page *page, int64_t total, bool has_next);
/* any: Like page_json(), for a list without page parameters, which is always one page. */
void page_whole_json(struct jw *w, size_t count);
/* The fields that page_whole_json() writes, for the schema of such a list. */
/* clang-format off */
#define PAGE_WHOLE_FIELDS                                                                          \
    {.name = "total_items", .type = FIELD_I64, .required = true},                                  \
    {.name = "page", .type = FIELD_I64, .required = true, .doc = "Always 1: all items are on it"}, \
    {.name = "page_size", .type = FIELD_I64, .required = true, .doc = "total_items, at least 1"},  \
    {.name = "has_next_page", .type = FIELD_BOOL, .required = true, .doc = "Always false"}
/* clang-format on */
