/* The row rule for a single record, with the same conditions as in reads and writes. */
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

enum { COLUMN_CREATED_BY, COLUMN_READABLE, COLUMN_ALLOWED };

static void put_condition(struct records_ctx *ctx,
                          const struct entity *entity,
                          enum perm_action action,
                          struct strbuf *sql,
                          struct sql_params *params)
{
    strbuf_str(sql, STR(", (true"));
    (void)rls_put_where(ctx, entity, action, "t", sql, params);
    strbuf_char(sql, ')');
}

int records_row_right(struct records_ctx *ctx,
                      const struct entity *entity,
                      enum perm_action action,
                      int64_t id,
                      struct records_row_right *ret_right)
{
    struct sql_params params;
    struct strbuf sql;
    struct rows rows;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select t.created_by"));
    put_condition(ctx, entity, ACT_READ, &sql, &params);
    put_condition(ctx, entity, action, &sql, &params);
    strbuf_printf(&sql, " from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    const struct sql *statement = sql_dynamic(ctx, "items.row_right", &sql, params.count, SQL_OPT);
    TRY(records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, statement, params.items, params.count, &rows)));
    *ret_right = (struct records_row_right){.exists = rows.count > 0};
    if (rows.count == 0)
        return 0;
    ret_right->created_by = rows_i64(&rows, 0, COLUMN_CREATED_BY);
    ret_right->readable = rows_bool(&rows, 0, COLUMN_READABLE);
    ret_right->allowed = rows_bool(&rows, 0, COLUMN_ALLOWED);
    return 0;
}
