/* Writes rows of the change log. */
#include "records/write/log.h"

#include "records/write/write.h"

void log_begin(const struct entity *entity, enum live_kind kind, struct strbuf *sql)
{
    strbuf_printf(sql,
                  "insert into {p}.live_log (entity_id, record_id, kind, before, grants)"
                  " select %lld, o.id, case when o.large then %d else %d end,"
                  " case when not o.large then o.doc end, ",
                  (long long)entity->id,
                  LIVE_RESET,
                  kind);
    if (kind == LIVE_DELETED)
        strbuf_printf(sql,
                      "array(select g.grantee_id * 4 + g.kind from {p}.record_grants g"
                      " where g.entity_id = %lld and g.record_id = o.id)",
                      (long long)entity->id);
    else
        strbuf_str(sql, STR("null"));
    strbuf_printf(
        sql,
        " from (select t.id, to_jsonb(t) as doc, pg_column_size(to_jsonb(t)) > %d as large"
        " from {p}.%.*s t where ",
        LIVE_IMAGE_BYTES,
        STR_ARG(entity->table));
}

struct db_call log_end(struct records_ctx *ctx,
                       enum live_kind kind,
                       struct strbuf *sql,
                       const struct sql_params *params)
{
    strbuf_str(sql,
               kind == LIVE_DELETED ? STR(" order by t.id for update of t) o")
                                    : STR(" order by t.id for no key update of t) o"));
    return write_call(ctx, "items.log", sql, params, true);
}

struct db_call log_ids_call(struct records_ctx *ctx,
                            const struct entity *entity,
                            enum live_kind kind,
                            const int64_t *ids,
                            size_t count)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    log_begin(entity, kind, &sql);
    strbuf_str(&sql, STR("t.id = any("));
    sql_bind(&sql, &params, P_I64S(ids, count), "bigint[]");
    strbuf_char(&sql, ')');
    return log_end(ctx, kind, &sql, &params);
}

struct db_call log_created_call(struct records_ctx *ctx, const struct entity *entity)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(&sql,
                  "insert into {p}.live_log (entity_id, record_id, kind)"
                  " values (%lld, currval('{p}.%.*s_id_seq'::regclass), %d)",
                  (long long)entity->id,
                  STR_ARG(entity->table),
                  LIVE_CREATED);
    return write_call(ctx, "items.log_made", &sql, &params, true);
}
