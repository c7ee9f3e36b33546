/*
 * Deletes many records in one transaction, by ids or by filter. The rows are locked first, so every
 * reason to refuse the request (too many rows, a lock) is known before the first deletion.
 */
#include <stdlib.h>

#include "base/num.h"
#include "records/query/filter.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/cascade.h"
#include "records/write/delete.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/write.h"

#define AFFECTED_MAX 10000
#define IDS_MAX      1000

struct delete_many {
    const int64_t *wanted_ids; /* by ids, else NULL */
    size_t wanted_count;
    const struct records_filter *filter_query; /* by filter, else NULL */
    int64_t max_affected;
    struct filter *filter;
    int64_t *found_ids; /* sorted */
    size_t found_count;
};

/* Selects and locks the rows that the caller may delete. By filter it selects one row more than
 * max_affected, to see whether there are too many. */
static struct db_call delete_many_find_call(struct records_ctx *ctx,
                                            const struct entity *entity,
                                            const struct delete_many *many)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "select t.id from {p}.%.*s t where ", STR_ARG(entity->table));
    if (many->filter_query == NULL) {
        strbuf_str(&sql, STR("t.id = any("));
        sql_bind(&sql, &params, P_I64S(many->wanted_ids, many->wanted_count), "bigint[]");
        strbuf_char(&sql, ')');
    } else {
        strbuf_str(&sql, STR("true"));
        filter_put_where(ctx, many->filter, "t", &sql, &params);
    }
    (void)rls_put_where(ctx, entity, ACT_DELETE, "t", &sql, &params);
    strbuf_str(&sql, STR(" order by t.id"));
    if (many->filter_query != NULL) {
        strbuf_str(&sql, STR(" limit "));
        sql_bind(&sql, &params, P_I64(many->max_affected + 1), "bigint");
    }
    strbuf_str(&sql, STR(" for update of t"));
    return write_call(ctx, "items.delete_find", &sql, &params, true);
}

static struct db_call delete_many_locks_call(struct records_ctx *ctx,
                                             const struct entity *entity,
                                             const struct delete_many *many)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "select k.record_id from {p}.record_locks k where k.entity_id = %lld"
                  " and k.record_id = any(",
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64S(many->found_ids, many->found_count), "bigint[]");
    strbuf_str(&sql, STR(") and k.expires_at > now() and k.token_hash <> "));
    sql_bind(&sql, &params, write_token_hash(arena, ctx->lock_token), "bytea");
    strbuf_str(&sql, STR(" order by k.record_id limit 1"));
    return write_call(ctx, "items.delete_locks", &sql, &params, false);
}

static int delete_many_call(struct records_ctx *ctx,
                            const struct entity *entity,
                            const struct delete_many *many,
                            struct db_call *ret_call)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "delete from {p}.%.*s as t where t.id = any(", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64S(many->found_ids, many->found_count), "bigint[]");
    strbuf_char(&sql, ')');
    if (ctx->model->has_history)
        write_put_actor(ctx, &sql, &params);
    TRY(delete_put_returning(ctx, entity, &sql, &params));
    *ret_call = write_call(ctx, "items.delete_many", &sql, &params, true);
    return 0;
}

AWAITS static int delete_many_find_rows(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct db *tx,
                                        struct delete_many *many)
{
    struct db_call call = delete_many_find_call(ctx, entity, many);

    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    if (many->filter_query != NULL && (int64_t)call.rows.count > many->max_affected)
        return records_fail(ctx,
                            PROBLEM_TOO_MANY_ROWS,
                            "More than %lld records match; nothing was deleted.",
                            (long long)many->max_affected);
    many->found_ids = ARENA_ARRAY(ctx->task->arena, many->found_ids, call.rows.count);
    many->found_count = call.rows.count;
    for (size_t i = 0; i < many->found_count; i++)
        many->found_ids[i] = rows_i64(&call.rows, i, 0);
    return 0;
}

AWAITS static int delete_many_in_transaction(struct records_ctx *ctx,
                                             const struct entity *entity,
                                             struct db *tx,
                                             void *arg)
{
    struct delete_many *many = arg;
    struct cascade *cascade;
    struct write_calls calls;
    struct db_call call;

    TRY(delete_many_find_rows(ctx, entity, tx, many));
    if (many->found_count == 0)
        return 0;
    call = delete_many_locks_call(ctx, entity, many);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    if (call.rows.count > 0)
        return records_fail(ctx,
                            PROBLEM_LOCKED,
                            "Record %lld is locked by another user; nothing was deleted.",
                            (long long)rows_i64(&call.rows, 0, 0));

    TRY(cascade_find(ctx, entity, tx, many->found_ids, many->found_count, &cascade));
    if (cascade_is_locked(cascade))
        return cascade_fail_locked(ctx, tx, cascade);
    write_calls_init(&calls, ctx->task->arena);
    if (ctx->model->live)
        write_calls_add(
            &calls, log_ids_call(ctx, entity, LIVE_DELETED, many->found_ids, many->found_count));
    size_t at = calls.count;
    TRY(delete_many_call(ctx, entity, many, &call));
    write_calls_add(&calls, call);
    delete_forget_calls(ctx, entity, many->found_ids, many->found_count, &calls);
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    const struct write_events events = {
        .event = EVENT_DELETED,
        .ids = many->found_ids,
        .count = many->found_count,
        .rows = &calls.items[at].rows,
    };
    TRY(write_events(ctx, entity, tx, &events));
    return cascade_emit(ctx, tx, cascade);
}

AWAITS static int
delete_many_run(struct records_ctx *ctx, const struct entity *entity, struct delete_many *many)
{
    if (many->filter_query != NULL) {
        TRY(filter_plan(ctx, entity, many->filter_query, &many->filter));
        if (many->filter == NULL)
            return records_fail_field(ctx,
                                      PROBLEM_VALIDATION_FAILED,
                                      STR("filter"),
                                      PROBLEM_REQUIRED,
                                      "must have at least one condition");
    }
    bool notify = entity_has_consumer(entity, EVENT_DELETED) || cascade_has_consumer(ctx, entity) ||
                  ctx->model->live;
    return write_transaction(ctx, entity, delete_many_in_transaction, many, notify);
}

static void delete_many_put_outcome(struct strbuf *out, const struct delete_many *many)
{
    struct jw w;

    jw_init(&w, out);
    jw_obj(&w);
    JW_I64(&w, "deleted", (int64_t)many->found_count);
    jw_lit(&w, "not_found");
    jw_arr(&w);
    for (size_t i = 0; i < many->wanted_count; i++)
        if (many->found_count == 0 || bsearch(&many->wanted_ids[i],
                                              many->found_ids,
                                              many->found_count,
                                              sizeof(*many->found_ids),
                                              num_compare_i64) == NULL)
            jw_i64(&w, many->wanted_ids[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
}

int records_delete_many(struct records_ctx *ctx,
                        const struct entity *entity,
                        const int64_t *ids,
                        size_t id_count,
                        const struct records_filter *filter,
                        int64_t max_affected,
                        struct strbuf *out)
{
    struct delete_many many = {
        .wanted_ids = ids,
        .wanted_count = filter == NULL ? id_count : 0,
        .filter_query = filter,
        .max_affected = max_affected,
    };

    if (filter == NULL && id_count > IDS_MAX)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("ids"),
                                  PROBLEM_TOO_LONG,
                                  "must be at most %d ids",
                                  IDS_MAX);
    if (filter != NULL && (max_affected < 1 || max_affected > AFFECTED_MAX))
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("max_affected"),
                                  PROBLEM_OUT_OF_RANGE,
                                  "must be 1 to %d",
                                  AFFECTED_MAX);
    TRY(delete_many_run(ctx, entity, &many));
    delete_many_put_outcome(out, &many);
    return records_check_size(ctx, out);
}
