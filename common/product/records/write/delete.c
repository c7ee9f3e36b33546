/*
 * Deletes one record with its grants and locks. Foreign keys apply each reference's own rule to the
 * records that refer to it: such a record is deleted too, loses the reference, or prevents the
 * deletion (409).
 */
#include "records/write/delete.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/cascade.h"
#include "records/write/explain.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/write.h"

struct delete
{
    int64_t id;
    int64_t expect_version; /* 0 = any */
    bool touched_nothing;   /* the DELETE touched no row, and no reason was found */
};

/* Deletes only rows of records that no longer exist. The statement is therefore harmless after a
 * DELETE that touched no row. */
static struct db_call delete_rows_call(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       const char *table,
                                       const int64_t *ids,
                                       size_t count)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "delete from {p}.%s as g where g.entity_id = %lld and g.record_id = any(",
                  table,
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64S(ids, count), "bigint[]");
    strbuf_printf(&sql,
                  ") and not exists (select 1 from {p}.%.*s t where t.id = g.record_id)",
                  STR_ARG(entity->table));
    return write_call(ctx, "items.forget", &sql, &params, true);
}

/* Deletes the push devices of records that no longer exist. A device that also belongs to a user
 * stays with that user. */
static struct db_call delete_devices_call(struct records_ctx *ctx,
                                          const struct entity *entity,
                                          const int64_t *ids,
                                          size_t count)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(&sql,
                  "with gone as (select d.id, d.user_id from {p}.push_devices d"
                  " where d.owner_entity_id = %lld and d.owner_record_id = any(",
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64S(ids, count), "bigint[]");
    strbuf_printf(&sql,
                  ") and not exists (select 1 from {p}.%.*s t where t.id = d.owner_record_id)),"
                  " kept as (update {p}.push_devices k set owner_entity_id = null,"
                  " owner_record_id = null from gone where k.id = gone.id"
                  " and gone.user_id is not null)"
                  " delete from {p}.push_devices d using gone"
                  " where d.id = gone.id and gone.user_id is null",
                  STR_ARG(entity->table));
    return write_call(ctx, "items.forget_devices", &sql, &params, true);
}

void delete_forget_calls(struct records_ctx *ctx,
                         const struct entity *entity,
                         const int64_t *ids,
                         size_t count,
                         struct write_calls *calls)
{
    write_calls_add(calls, delete_rows_call(ctx, entity, "record_grants", ids, count));
    write_calls_add(calls, delete_rows_call(ctx, entity, "record_locks", ids, count));
    write_calls_add(calls, delete_devices_call(ctx, entity, ids, count));
}

int delete_put_returning(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    struct records_ctx system;
    struct columns plan;

    if (!entity_has_consumer(entity, EVENT_DELETED) ||
        entity_has_only_search(entity, EVENT_DELETED)) {
        strbuf_str(sql, STR(" returning t.id"));
        return 0;
    }
    TRY(write_payload_plan(ctx, entity, &system, &plan));
    strbuf_str(sql, STR(" returning "));
    columns_sql(&system, &plan, "t", sql, params);
    return 0;
}

/* Appends the conditions on the row, for the DELETE and for the change-log statement before it. */
static void delete_where(struct records_ctx *ctx,
                         const struct entity *entity,
                         const struct delete *delete,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    strbuf_str(sql, STR("t.id = "));
    sql_bind(sql, params, P_I64(delete->id), "bigint");
    if (delete->expect_version != 0) {
        strbuf_str(sql, STR(" and t.version = "));
        sql_bind(sql, params, P_I64(delete->expect_version), "bigint");
    }
    (void)rls_put_where(ctx, entity, ACT_DELETE, "t", sql, params);
    write_put_lock_rule(ctx, entity, "t", sql, params);
}

static struct db_call
delete_log_call(struct records_ctx *ctx, const struct entity *entity, const struct delete *delete)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    log_begin(entity, LIVE_DELETED, &sql);
    delete_where(ctx, entity, delete, &sql, &params);
    return log_end(ctx, LIVE_DELETED, &sql, &params);
}

static int delete_call(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct delete *delete,
                       struct db_call *ret_call)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "delete from {p}.%.*s as t where ", STR_ARG(entity->table));
    delete_where(ctx, entity, delete, &sql, &params);
    if (ctx->model
            ->has_history) /* also for the history of records that are deleted with this one */
        write_put_actor(ctx, &sql, &params);
    TRY(delete_put_returning(ctx, entity, &sql, &params));
    *ret_call = write_call(ctx, "items.delete", &sql, &params, true);
    return 0;
}

AWAITS static int delete_in_transaction(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct db *db,
                                        void *arg)
{
    struct delete *delete = arg;
    struct cascade *cascade;
    struct write_calls calls;
    struct db_call call;

    TRY(cascade_find(ctx, entity, db, &delete->id, 1, &cascade));
    if (cascade_is_locked(
            cascade)) { /* only a caller who may delete the record learns of this lock */
        TRY(write_explain(ctx, entity, db, delete->id, ACT_DELETE, delete->expect_version));
        return cascade_fail_locked(ctx, db, cascade);
    }
    write_calls_init(&calls, ctx->task->arena);
    if (ctx->model->live)
        write_calls_add(&calls, delete_log_call(ctx, entity, delete));
    size_t at = calls.count;
    TRY(delete_call(ctx, entity, delete, &call));
    write_calls_add(&calls, call);
    delete_forget_calls(ctx, entity, &delete->id, 1, &calls);
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, db, calls.items, calls.count, NULL)));

    const struct rows *deleted = &calls.items[at].rows;
    delete->touched_nothing = deleted->count == 0;
    if (delete->touched_nothing)
        return write_explain(ctx, entity, db, delete->id, ACT_DELETE, delete->expect_version);
    const struct write_events events = {
        .event = EVENT_DELETED, .ids = &delete->id, .count = 1, .rows = deleted};
    TRY(write_events(ctx, entity, db, &events));
    return cascade_emit(ctx, db, cascade);
}

AWAITS static int
delete_attempt(struct records_ctx *ctx, const struct entity *entity, struct delete *delete)
{
    if (entity_has_consumer(entity, EVENT_DELETED) || cascade_has_consumer(ctx, entity))
        return write_transaction(ctx, entity, delete_in_transaction, delete, true);
    TRY(write_settle_conflict(ctx, entity, delete_in_transaction(ctx, entity, ctx->db, delete)));
    if (ctx->model->live && ctx->db->lease == NULL)
        write_notify(ctx);
    return 0;
}

int records_delete(struct records_ctx *ctx,
                   const struct entity *entity,
                   int64_t id,
                   int64_t expect_version)
{
    struct delete delete = {.id = id, .expect_version = expect_version};

    TRY(delete_attempt(ctx, entity, &delete));
    if (delete.touched_nothing) /* a lock ended between the DELETE and write_explain() */
        TRY(delete_attempt(ctx, entity, &delete));
    if (delete.touched_nothing)
        return records_fail(
            ctx, PROBLEM_CONFLICT, "Other requests are changing the record; try again.");
    return 0;
}
