/* One record. */
#include "records/read/columns.h"
#include "records/read/expand.h"
#include "records/read/get_batch.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

/* With a selection, expansions, or inside a transaction: a statement of its own. */
AWAITS static int get_alone(struct records_ctx *ctx,
                            const struct entity *entity,
                            int64_t id,
                            const struct records_query *query,
                            struct strbuf *out,
                            int64_t *ret_version)
{
    struct arena *arena = ctx->task->arena;
    struct columns plan;
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    TRY(columns_plan(ctx, entity, query->fields, &plan));
    TRY(expand_plan(ctx, query->expand, &plan));
    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &plan, "t", &text, &params);
    strbuf_printf(&text, " from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&text, &params, P_I64(id), "bigint");
    (void)rls_where(ctx, entity, ACT_READ, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.get", &text, params.count, SQL_OPT);
    TRY(records_db(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    if (rows.count == 0)
        return records_fail_not_found(ctx);
    TRY(expand_load(ctx, &plan, &rows));
    TRY(columns_answer(ctx, &plan, &rows, 0, out));
    *ret_version = rows_i64(&rows, 0, COLUMNS_VERSION);
    return records_fits(ctx, out);
}

int records_get(struct records_ctx *ctx,
                const struct entity *entity,
                int64_t id,
                const struct records_query *query,
                struct strbuf *out,
                int64_t *ret_version)
{
    const struct records_query all = {.fields = STR_NONE};

    if (query == NULL)
        query = &all;
    if (query->fields.ptr == NULL && query->expand.ptr == NULL && ctx->db->lease == NULL) {
        int rc = get_batched(ctx, entity, id, out, ret_version);
        if (rc != GET_NOT_BATCHED)
            return rc;
    }
    return get_alone(ctx, entity, id, query, out, ret_version);
}
