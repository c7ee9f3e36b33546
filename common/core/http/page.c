/* Reads page parameters, and writes the page members of lists. */
#include "http/page.h"

#include "base/num.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX     500
#define EXACT_MAX     (1LL << 53) /* the largest integer that JSON clients read exactly */

/* Reads a whole number between 1 and `most`. */
static bool page_read_number(struct arena *arena,
                             struct str text,
                             const char *name,
                             int64_t most,
                             int64_t *value,
                             struct schema_errors *errors)
{
    int64_t number;

    if (text.ptr == NULL)
        return true;
    if (!num_parse_i64(text, &number)) {
        schema_error_add(
            arena, errors, str_from(name), PROBLEM_TYPE_MISMATCH, "must be a whole number");
        return false;
    }
    if (number < 1 || number > most) {
        schema_error_add(arena,
                         errors,
                         str_from(name),
                         PROBLEM_OUT_OF_RANGE,
                         "must be between 1 and %lld",
                         (long long)most);
        return false;
    }
    *value = number;
    return true;
}

static void read_order(struct arena *arena,
                       const struct query *query,
                       struct page *page,
                       struct schema_errors *errors)
{
    struct str order = query_get(query, "order");

    if (order.ptr == NULL)
        return;
    page->descending = str_is(order, "desc");
    if (!page->descending && !str_is(order, "asc"))
        schema_error_add(arena, errors, STR("order"), PROBLEM_OUT_OF_RANGE, "must be asc or desc");
}

static void read_count(struct arena *arena,
                       const struct query *query,
                       struct page *page,
                       struct schema_errors *errors)
{
    struct str count = query_get(query, "count");

    if (count.ptr == NULL)
        return;
    page->count = str_is(count, "true");
    if (!page->count && !str_is(count, "false"))
        schema_error_add(
            arena, errors, STR("count"), PROBLEM_TYPE_MISMATCH, "must be true or false");
}

bool page_numbers(struct arena *arena,
                  struct str limit,
                  struct str number,
                  struct page *ret_page,
                  struct schema_errors *errors)
{
    *ret_page = (struct page){.page = 1, .limit = LIMIT_DEFAULT};
    return page_read_number(arena, limit, "limit", LIMIT_MAX, &ret_page->limit, errors) &&
           page_read_number(
               arena, number, "page", EXACT_MAX / ret_page->limit, &ret_page->page, errors);
}

bool page_parse(struct arena *arena,
                const struct query *query,
                struct page *ret_page,
                struct schema_errors *errors)
{
    struct str limit = query_get(query, "limit");
    size_t before = errors->count;
    struct page page;

    (void)page_numbers(arena, limit, query_get(query, "page"), &page, errors);
    page.count = true;
    page.sort = query_get(query, "sort");
    read_order(arena, query, &page, errors);
    read_count(arena, query, &page, errors);
    if (errors->count > before)
        return false;
    *ret_page = page;
    return true;
}

void page_json(struct jw *w, const struct page *page, int64_t total, bool has_next)
{
    JW_I64(w, "total_items", total);
    JW_I64(w, "page", page->page);
    JW_I64(w, "page_size", page->limit);
    JW_BOOL(w, "has_next_page", has_next);
}

void page_whole_json(struct jw *w, size_t count)
{
    const struct page whole = {.page = 1, .limit = count > 0 ? (int64_t)count : 1};

    page_json(w, &whole, (int64_t)count, false);
}
