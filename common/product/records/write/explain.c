/*
 * Explains why a write touched no row. Every write has all its conditions in its own statement and
 * is explained only after it touched no row, so a successful write costs no extra query.
 */
#include "records/write/explain.h"
#include "base/clock.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/write.h"

enum { COLUMN_VERSION, COLUMN_ALLOWED, COLUMN_LOCKED_BY, COLUMN_LOCKED_UNTIL };

static struct db_call explain_call(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   int64_t id,
                                   enum perm_action action)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select t.version, (true"));
    (void)rls_put_where(ctx, entity, action, "t", &sql, &params);
    strbuf_printf(&sql,
                  ") as allowed, k.user_id, k.expires_at from {p}.%.*s t"
                  " left join {p}.record_locks k on k.entity_id = %lld and k.record_id = t.id"
                  " and k.expires_at > now() and k.token_hash <> ",
                  STR_ARG(entity->table),
                  (long long)entity->id);
    sql_bind(&sql, &params, write_token_hash(arena, ctx->lock_token), "bytea");
    strbuf_str(&sql, STR(" where t.id = "));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    (void)rls_put_where(ctx, entity, ACT_READ, "t", &sql, &params);
    return write_call(ctx, "items.explain", &sql, &params, false);
}

int write_explain(struct records_ctx *ctx,
                  const struct entity *entity,
                  struct db *db,
                  int64_t id,
                  enum perm_action action,
                  int64_t expect_version)
{
    struct db_call call = explain_call(ctx, entity, id, action);
    const struct rows *rows = &call.rows;

    TRY(write_tx_db(ctx, entity, write_run(ctx, db, &call)));
    if (rows->count == 0)
        return records_fail_not_found(ctx);
    if (!rows_bool(rows, 0, COLUMN_ALLOWED))
        return records_fail(ctx, PROBLEM_FORBIDDEN, "The record may be read but not changed.");
    if (expect_version != 0 && rows_i64(rows, 0, COLUMN_VERSION) != expect_version)
        return records_fail(ctx,
                            PROBLEM_PRECONDITION_FAILED,
                            "The record has changed since it was read; read it again.");
    if (!rows_null(rows, 0, COLUMN_LOCKED_UNTIL)) {
        char until[CLOCK_TEXT_BYTES];
        return records_fail(ctx,
                            PROBLEM_LOCKED,
                            "The record is locked by user %lld until %s.",
                            (long long)rows_i64(rows, 0, COLUMN_LOCKED_BY),
                            clock_format(until, rows_time(rows, 0, COLUMN_LOCKED_UNTIL)));
    }
    return 0;
}
