/* Lists: one page of records. */
#include "http/page.h"
#include "records/query/cursor.h"
#include "records/query/filter.h"
#include "records/read/columns.h"
#include "records/read/expand.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

enum { NARROW_BYTES = 256 * 1024, UTF8_BYTES = 4 };

/* A checked list query, and its rows. */
struct listing {
    const struct entity *entity;
    struct page page;
    struct columns plan;
    struct filter *filter;
    struct sort sort;
    struct cursor cursor;
    struct rows rows; /* of the page, and one more row if there is a next page */
};

static int
plan_list(struct records_ctx *ctx, const struct records_query *query, struct listing *list)
{
    const struct entity *entity = list->entity;

    list->page = (struct page){.page = query->page > 0 ? query->page : 1,
                               .limit = query->limit,
                               .count = query->with_total};
    TRY(columns_plan(ctx, entity, query->fields, &list->plan));
    TRY(expand_plan(ctx, query->expand, &list->plan));
    TRY(filter_plan(ctx, entity, &query->filter, &list->filter));
    TRY(sort_plan(ctx, entity, query, &list->sort));
    return cursor_open(ctx, entity, query, &list->sort, &list->cursor);
}

static void list_put_from(struct records_ctx *ctx,
                          const struct listing *list,
                          struct strbuf *text,
                          struct sql_params *params)
{
    strbuf_str(text, STR(" from {p}."));
    strbuf_str(text, list->entity->table);
    strbuf_str(text, STR(" t where true"));
    (void)rls_put_where(ctx, list->entity, ACT_READ, "t", text, params);
    filter_put_where(ctx, list->filter, "t", text, params);
}

/* The maximum size of a value in an answer, in bytes; SIZE_MAX = unlimited. */
static size_t value_width(const struct model_field *field)
{
    size_t width = model_type_info(field->type)->width;

    if (field->type == TYPE_VARCHAR && field->max_length > 0)
        return (size_t)field->max_length * UTF8_BYTES;
    return !field->is_many && width > 0 ? width : SIZE_MAX;
}

/* Whether the page's rows are small for any values: it then costs less to count its bytes at the
 * end. */
static bool is_narrow(const struct listing *list)
{
    size_t capacity = NARROW_BYTES / ((size_t)list->page.limit + 1);

    for (size_t i = 0; i < list->plan.count; i++) {
        size_t width = value_width(list->plan.fields[i]);
        if (width > capacity)
            return false;
        capacity -= width;
    }
    return !list->cursor.is_requested; /* sort keys may be large */
}

/* The limit is part of the text, so that PostgreSQL plans for a page and not for all rows. */
AWAITS static int list_read_rows(struct records_ctx *ctx, struct listing *list)
{
    struct arena *arena = ctx->task->arena;
    struct strbuf text;
    struct sql_params params;

    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &list->plan, "t", &text, &params);
    if (list->cursor.is_requested)
        cursor_put_select(ctx, &list->sort, "t", &text, &params);
    list_put_from(ctx, list, &text, &params);
    cursor_put_where(ctx, &list->cursor, &list->sort, "t", &text, &params);
    sort_put_order(ctx, &list->sort, "t", &text, &params);
    strbuf_str(&text, STR(" limit "));
    strbuf_i64(&text, list->page.limit + 1);
    if (list->page.page > 1) {
        strbuf_str(&text, STR(" offset "));
        sql_bind(&text, &params, P_I64(page_offset(&list->page)), "bigint");
    }
    struct sql *sql = sql_dynamic(ctx, "records.list", &text, params.count, SQL_MANY);
    sql->narrow = is_narrow(list);
    int rc = db_query(ctx->task, ctx->db, sql, params.items, params.count, &list->rows);
    if (rc == DB_CHECK && list->cursor.has_position)
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("cursor"),
                                  PROBLEM_INVALID_QUERY,
                                  "is not a cursor of this query");
    return records_db_result(ctx, list->entity, rc);
}

/* Counting reads every visible row, so it is a heavy statement, which does not delay other
 * statements. */
AWAITS static int
list_count_rows(struct records_ctx *ctx, const struct listing *list, int64_t *ret_total)
{
    struct arena *arena = ctx->task->arena;
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select count(*)"));
    list_put_from(ctx, list, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.count", &text, params.count, SQL_ONE);
    sql->heavy = true;
    TRY(records_db_result(
        ctx, list->entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    *ret_total = rows_i64(&rows, 0, 0);
    return 0;
}

/* co: Sets *ret_total, to -1 if no total is wanted. The last page gives the total without a count,
 * unless the page begins at a cursor, or is empty and not the first. */
AWAITS static int
find_total(struct records_ctx *ctx, const struct listing *list, int64_t *ret_total)
{
    int64_t found = (int64_t)list->rows.count;

    if (!list->page.count) {
        *ret_total = -1;
        return 0;
    }
    if (!list->cursor.has_position && found <= list->page.limit &&
        (found > 0 || list->page.page == 1)) {
        *ret_total = page_offset(&list->page) + found;
        return 0;
    }
    return list_count_rows(ctx, list, ret_total);
}

static int write_cursor(struct records_ctx *ctx, const struct listing *list, struct jw *w)
{
    size_t column = list->rows.columns - list->sort.count;

    jw_lit(w, "next_cursor");
    if ((int64_t)list->rows.count <= list->page.limit) {
        jw_null(w);
        return 0;
    }
    struct str text = cursor_print(ctx->task->arena,
                                   &list->cursor,
                                   &list->sort,
                                   &list->rows,
                                   (size_t)list->page.limit - 1,
                                   column);
    if (text.ptr == NULL)
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("sort"),
                                  PROBLEM_TOO_LONG,
                                  "a cursor cannot hold values of more than %d bytes",
                                  CURSOR_VALUE_BYTES);
    jw_str(w, text);
    return 0;
}

static size_t list_count(const struct listing *list)
{
    bool has_next = (int64_t)list->rows.count > list->page.limit;

    return has_next ? (size_t)list->page.limit : list->rows.count;
}

AWAITS static int
write_page(struct records_ctx *ctx, const struct listing *list, int64_t total, struct jw *w)
{
    size_t count = list_count(list);

    jw_obj(w);
    jw_lit(w, "items");
    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        TRY(columns_json(ctx->task, w, &list->plan, &list->rows, i));
    jw_arr_end(w);
    page_json(w, &list->page, total, count < list->rows.count);
    if (list->cursor.is_requested)
        TRY(write_cursor(ctx, list, w));
    jw_obj_end(w);
    return 0;
}

int records_list(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct records_query *query,
                 struct strbuf *out)
{
    struct listing *list = ARENA_NEW(ctx->task->arena, list);
    int64_t total;
    struct jw w;

    list->entity = entity;
    TRY(plan_list(ctx, query, list));
    TRY(list_read_rows(ctx, list));
    TRY(find_total(ctx, list, &total));
    TRY(expand_load(ctx, &list->plan, &list->rows));
    if (ctx->values != NULL) {
        for (size_t i = 0; i < list_count(list); i++)
            TRY(columns_write_answer(ctx, &list->plan, &list->rows, i, NULL));
        return 0;
    }
    jw_init(&w, out);
    TRY(write_page(ctx, list, total, &w));
    return records_check_size(ctx, out);
}
