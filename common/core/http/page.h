#pragma once
/* Page parameters every list takes: page, limit, sort, order, count. */
#include "base/str.h"
#include "http/query.h"
#include "json/schema.h"

struct page {
    int64_t page;    /* from 1 */
    int64_t limit;   /* 1..500, default 20 */
    struct str sort; /* "-created_at" or a column; empty = default */
    bool descending;
    bool count; /* total wanted */
};
/* any: reads the page parameters out of a query; findings go to errors. page * limit stays below
 * 2^53. */
bool page_parse(struct arena *arena,
                const struct query *query,
                struct page *ret_page,
                struct schema_errors *errors);
/* any: limit and page alone, as texts; STR_NONE = not given. */
bool page_numbers(struct arena *arena,
                  struct str limit,
                  struct str number,
                  struct page *ret_page,
                  struct schema_errors *errors);
static inline int64_t page_offset(const struct page *page)
{
    return (page->page - 1) * page->limit;
}
/* any: the envelope's other members after "items": total_items, page, page_size, has_next_page. */
void page_json(struct jw *w, const struct page *page, int64_t total, bool has_next);
/* any: the same of a list that takes no page parameters, because it is always one page. */
void page_whole_json(struct jw *w, size_t count);
/* The fields that page_whole_json() writes, for the schema of such a list. */
/* clang-format off */
#define PAGE_WHOLE_FIELDS                                                                          \
    {.name = "total_items", .type = FIELD_I64, .required = true},                                  \
    {.name = "page", .type = FIELD_I64, .required = true, .doc = "1: the list has one page"},      \
    {.name = "page_size", .type = FIELD_I64, .required = true, .doc = "total_items, at least 1"},  \
    {.name = "has_next_page", .type = FIELD_BOOL, .required = true, .doc = "false"}
/* clang-format on */
