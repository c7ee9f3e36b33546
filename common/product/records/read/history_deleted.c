/* Deleted records. */
#include "records/history.h"
#include "records/read/history_state.h"
#include "records/rules/error.h"

enum { DELETED_ID, GONE_VERSION, GONE_AT, GONE_ACTOR, GONE_FIRST };

AWAITS static int read_deleted(struct records_ctx *ctx,
                               const struct history_plan *plan,
                               const struct page *page,
                               struct rows *ret_rows)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select h.id, h.version, h.at, h.actor_id"));
    history_put_fields(ctx, plan, false, &sql, &params);
    history_put_from_deleted(ctx, plan, ACT_READ, true, &sql, &params);
    strbuf_str(&sql, STR(" order by h.at desc, h.id desc limit "));
    sql_bind(&sql, &params, P_I64(page->limit + 1), "bigint");
    strbuf_str(&sql, STR(" offset "));
    sql_bind(&sql, &params, P_I64(page_offset(page)), "bigint");
    return history_query(ctx, plan->entity, "history.deleted", &sql, &params, ret_rows);
}

AWAITS static int
count_deleted(struct records_ctx *ctx, const struct history_plan *plan, int64_t *ret_total)
{
    struct sql_params params;
    struct strbuf text;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select count(*)"));
    history_put_from_deleted(ctx, plan, ACT_READ, false, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "history.count", &text, params.count, SQL_ONE);
    sql->heavy = true;
    TRY(records_db_result(
        ctx, plan->entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    *ret_total = rows_i64(&rows, 0, 0);
    return 0;
}

AWAITS static int put_deleted(struct records_ctx *ctx,
                              const struct history_plan *plan,
                              const struct rows *rows,
                              size_t row,
                              struct jw *w)
{
    const struct history_state state = {rows, row, GONE_FIRST};
    int64_t id = rows_i64(rows, row, DELETED_ID);

    jw_obj(w);
    JW_I64(w, "id", id);
    JW_I64(w, "version", rows_i64(rows, row, GONE_VERSION) - 1);
    jw_lit(w, "deleted_at");
    jw_time(w, rows_time(rows, row, GONE_AT));
    jw_lit(w, "deleted_by");
    if (rows_null(rows, row, GONE_ACTOR))
        jw_null(w);
    else
        jw_i64(w, rows_i64(rows, row, GONE_ACTOR));
    jw_lit(w, "record");
    TRY(history_put_state(ctx, w, plan, id, &state));
    jw_obj_end(w);
    return 0;
}

int records_deleted(struct records_ctx *ctx,
                    const struct entity *entity,
                    const struct page *page,
                    struct strbuf *out)
{
    struct history_plan plan;
    int64_t total = -1;
    struct rows rows;
    struct jw w;

    TRY(history_plan(ctx, entity, &plan));
    TRY(read_deleted(ctx, &plan, page, &rows));
    if (page->count)
        TRY(count_deleted(ctx, &plan, &total));
    bool has_next = (int64_t)rows.count > page->limit;
    jw_init(&w, out);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < rows.count - has_next; i++)
        TRY(put_deleted(ctx, &plan, &rows, i, &w));
    jw_arr_end(&w);
    page_json(&w, page, total, has_next);
    jw_obj_end(&w);
    return records_check_size(ctx, out);
}
