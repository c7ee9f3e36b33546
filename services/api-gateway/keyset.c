/* Lists that grow without bound, read page by page along a number of their rows (keyset
 * pagination). A deep page costs as much as the first one. */
#include "keyset.h"

#include <string.h>

#include "base/codec.h"
#include "base/num.h"
#include "http/query.h"

#define CURSOR_BYTES 24
#define CURSOR_CHARS 32 /* in base64url */

const struct query_param keyset_query[] = {KEYSET_QUERY, {0}};

struct keyset_page {
    struct page page;
    bool ascending;
    bool by_cursor; /* the request has a cursor */
    int64_t after_number;
};

/* Prints a cursor: "d90" = newest first, after number 90. A cursor grants nothing: a forged one
 * only names another position in the same list. */
static struct str print_cursor(struct arena *arena, const struct keyset_page *page, int64_t number)
{
    char text[CURSOR_BYTES];
    size_t len = 1;

    text[0] = page->ascending ? 'a' : 'd';
    len += num_print_i64(text + len, number);
    return codec_b64url(arena, (struct str){text, len});
}

static bool keyset_read_cursor(struct arena *arena, struct str cursor, struct keyset_page *page)
{
    struct str text;

    if (!cursor.len || str_is(cursor, "start"))
        return true;
    if (cursor.len > CURSOR_CHARS || !codec_b64url_decode(arena, cursor, &text) || !text.len ||
        text.ptr[0] != (page->ascending ? 'a' : 'd'))
        return false;
    return num_parse_i64((struct str){text.ptr + 1, text.len - 1}, &page->after_number);
}

static int keyset_refuse(struct req *r, const char *param, const char *message)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    schema_error_add(r->task.arena, errors, str_from(param), PROBLEM_INVALID_QUERY, "%s", message);
    return fail_with(r,
                     PROBLEM_INVALID_QUERY,
                     arena_printf(r->task.arena, "Query parameter '%s': %s.", param, message),
                     errors);
}

/* Returns whether `sort` names the list's number or the time at which rows are made. Both give the
 * same order, because rows are numbered as they are made. */
static bool is_creation_order(const struct req *r, const struct keyset_list *list, struct str sort)
{
    static const char *const times[] = {"created_at", "queued_at", "received_at", "at"};
    const struct schema *item = r->route->success.schema;

    if (str_is(sort, list->key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        for (size_t k = 0; str_is(sort, times[i]) && k < item->count; k++) {
            if (strcmp(item->fields[k].name, times[i]) == 0)
                return true;
        }
    }
    return false;
}

/* sort= and order= only choose the direction. */
static int keyset_read_page(struct req *r, const struct keyset_list *list, struct keyset_page *page)
{
    const struct query *query;
    struct str sort;

    *page = (struct keyset_page){0};
    TRY(req_page(r, &page->page));
    TRY(req_query(r, &query));
    sort = page->page.sort;
    page->ascending = sort.len ? !page->page.descending : str_is(query_get(query, "order"), "asc");
    if (sort.len && sort.ptr[0] == '-') {
        page->ascending = false;
        sort = (struct str){sort.ptr + 1, sort.len - 1};
    }
    if (sort.len && !is_creation_order(r, list, sort))
        return keyset_refuse(
            r, "sort", arena_printf(r->task.arena, "this list sorts by %s", list->key).ptr);
    page->after_number = page->ascending ? 0 : INT64_MAX;
    struct str cursor = query_get(query, "cursor");
    page->by_cursor = cursor.ptr != NULL;
    if (page->by_cursor && !keyset_read_cursor(r->task.arena, cursor, page))
        return keyset_refuse(r, "cursor", "is not a cursor of this list");
    /* The total would be the same on every page, so it is counted only on request. */
    if (page->by_cursor && !query_get(query, "count").ptr)
        page->page.count = false;
    return 0;
}

AWAITS static void put_items(
    struct task *task, struct jw *w, keyset_write_fn write, const struct rows *rows, size_t shown)
{
    if (!write) {
        rows_json_array(task, w, rows, shown);
        return;
    }
    jw_arr(w);
    for (size_t i = 0; i < shown; i++) {
        write(w, rows, i);
        task_pause_if_due(task);
    }
    jw_arr_end(w);
}

AWAITS static int put_page(struct req *r,
                           const struct keyset_list *list,
                           const struct keyset_page *page,
                           const struct rows *rows,
                           int64_t total,
                           keyset_write_fn write)
{
    bool has_next = (int64_t)rows->count > page->page.limit;
    size_t shown = has_next ? (size_t)page->page.limit : rows->count;
    struct jw w = resp_json(r);

    jw_obj(&w);
    jw_lit(&w, "items");
    put_items(&r->task, &w, write, rows, shown);
    page_json(&w, &page->page, total, has_next);
    if (page->by_cursor && has_next)
        JW_STR(&w,
               "next_cursor",
               print_cursor(
                   r->task.arena, page, rows_i64(rows, shown - 1, rows_column(rows, list->key))));
    else if (page->by_cursor)
        JW_NULL(&w, "next_cursor");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

int keyset_reply_rows(struct req *r,
                      const struct keyset_list *list,
                      const struct db_param *params,
                      size_t count,
                      keyset_write_fn write)
{
    struct db_param *paged = ARENA_ARRAY(r->task.arena, paged, count + 3);
    struct sql *total = ARENA_NEW(r->task.arena, total);
    struct keyset_page page;

    TRY(keyset_read_page(r, list, &page));
    if (count)
        memcpy(paged, params, count * sizeof(*params));
    paged[count] = P_I64(page.after_number);
    paged[count + 1] = P_I64(page.page.limit + 1);
    paged[count + 2] = P_I64(page_offset(&page.page));

    *total = *list->count;
    total->heavy = true; /* counts all rows: must not delay others */
    struct rows rows;
    struct rows counted;
    int64_t found = -1;
    const struct sql *sql = page.ascending ? list->oldest : list->newest;
    TRY(sql_all(r, &rows, sql, paged, count + 3));
    if (page.page.count) {
        TRY(sql_one(r, &counted, total, params, count));
        found = rows_i64(&counted, 0, 0);
    }
    return put_page(r, list, &page, &rows, found, write);
}

int keyset_reply(struct req *r,
                 const struct keyset_list *list,
                 const struct db_param *params,
                 size_t count)
{
    return keyset_reply_rows(r, list, params, count, NULL);
}
