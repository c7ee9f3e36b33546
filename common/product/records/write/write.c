/* Functions that all writers share: statements as calls, transactions that are repeated, and events
 * for consumers. */
#include "records/write/write.h"

#include <string.h>

#include "base/panic.h"
#include "crypto/digest.h"
#include "loop/task.h"
#include "project/project.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"
#include "records/write/size.h"

#define OUTBOX_BATCH_ROWS  200                       /* rows in one round trip */
#define OUTBOX_BATCH_BYTES ((size_t)8 * 1024 * 1024) /* about as many bytes in one */
#define MEMBERS_BYTES      ((size_t)2 * 1024 * 1024) /* for the names, numbers and ids of a record */

/* --- statements --- */

struct db_call write_call(struct records_ctx *ctx,
                          const char *name,
                          struct strbuf *text,
                          const struct sql_params *params,
                          bool writes)
{
    struct sql *sql = sql_dynamic(ctx, name, text, params->count, SQL_MANY);

    sql->writes = writes;
    return (struct db_call){.sql = sql, .params = params->items, .param_count = params->count};
}

int write_run(struct records_ctx *ctx, struct db *db, struct db_call *call)
{
    return db_query(ctx->task, db, call->sql, call->params, call->param_count, &call->rows);
}

int write_db(struct records_ctx *ctx, const struct entity *entity, int rc)
{
    if (rc == DB_FAILED && strcmp(db_error(ctx->task)->sqlstate, "54000") == 0)
        return records_fail(ctx, PROBLEM_VALIDATION_FAILED, "A value is too long to be indexed.");
    return records_db_result(ctx, entity, rc);
}

int write_tx_db(struct records_ctx *ctx, const struct entity *entity, int rc)
{
    if (rc == DB_CONFLICT && ctx->db->lease == NULL)
        return DB_CONFLICT;
    return write_db(ctx, entity, rc);
}

int write_settle_conflict(struct records_ctx *ctx, const struct entity *entity, int rc)
{
    return rc == DB_CONFLICT ? records_db_result(ctx, entity, rc) : rc;
}

struct db_param write_author_param(const struct records_ctx *ctx)
{
    return ctx->caller->user_id != 0 ? P_I64(ctx->caller->user_id) : P_NULL;
}

struct db_call write_select_call(struct records_ctx *ctx,
                                 const struct columns *plan,
                                 const int64_t *ids,
                                 size_t count)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select "));
    columns_sql(ctx, plan, "t", &sql, &params);
    strbuf_printf(&sql, " from {p}.%.*s t where t.id = any(", STR_ARG(plan->entity->table));
    sql_bind(&sql, &params, P_I64S(ids, count), "bigint[]");
    strbuf_char(&sql, ')');
    return write_call(ctx, "items.written", &sql, &params, false);
}

int write_answer_record(struct records_ctx *ctx,
                        const struct columns *plan,
                        const struct rows *rows,
                        struct strbuf *out,
                        size_t start)
{
    if (ctx->values != NULL)
        (void)json_array_clear(ctx->values);
    else
        out->len = start;
    return columns_write_answer(ctx, plan, rows, 0, out);
}

/* --- transactions --- */

AWAITS static int
write_transact_once(struct records_ctx *ctx, const struct entity *entity, write_fn fn, void *arg)
{
    struct db *tx;

    TRY(write_db(ctx, entity, db_begin(ctx->task, ctx->db, &tx)));
    int rc = fn(ctx, entity, tx, arg);
    if (rc == WRITE_COMMITTED)
        return 0;
    if (rc != 0) {
        db_rollback(tx);
        return rc;
    }
    return write_tx_db(ctx, entity, db_commit(ctx->task, tx));
}

void write_notify(const struct records_ctx *ctx)
{
    if (ctx->model->payload_events) {
        events_notify(ctx->directory, ctx->project);
        return;
    }
    if (ctx->model->has_index)
        search_notify(ctx->directory, ctx->project);
    if (ctx->model->live)
        live_notify(ctx->directory, ctx->project);
}

int write_transaction(
    struct records_ctx *ctx, const struct entity *entity, write_fn fn, void *arg, bool notify)
{
    if (ctx->db->lease != NULL)
        return fn(ctx, entity, ctx->db, arg);

    struct db_retry_state tries = {0};
    int rc;
    do
        rc = write_transact_once(ctx, entity, fn, arg);
    while (db_should_retry(ctx->task, &tries, rc));
    if (rc == 0 && notify)
        write_notify(ctx);
    return write_settle_conflict(ctx, entity, rc);
}

/* --- locks --- */

struct db_param write_token_hash(struct arena *arena, struct str token)
{
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);

    if (token.len == 0)
        return P_BYTES(STR(""));
    digest_sha256(token, hash);
    return P_BYTES(((struct str){(const char *)hash, DIGEST_SHA256_BYTES}));
}

void write_put_lock_rule(const struct records_ctx *ctx,
                         const struct entity *entity,
                         const char *alias,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    strbuf_printf(sql,
                  " and not exists (select 1 from {p}.record_locks k where k.entity_id = %lld"
                  " and k.record_id = %s.id and k.expires_at > now() and k.token_hash <> ",
                  (long long)entity->id,
                  alias);
    sql_bind(sql, params, write_token_hash(ctx->task->arena, ctx->lock_token), "bytea");
    strbuf_char(sql, ')');
}

/* --- history --- */

void write_put_actor(const struct records_ctx *ctx, struct strbuf *sql, struct sql_params *params)
{
    int64_t user = ctx->caller->user_id;
    struct str text = user != 0 ? arena_printf(ctx->task->arena, "%lld", (long long)user) : STR("");

    strbuf_str(sql, STR(" and set_config('groundwork.actor', "));
    sql_bind(sql, params, P_STR(text), "text");
    strbuf_str(sql, STR(", true) is not null"));
}

/* --- events --- */

static const struct caller system_caller = {.kind = CALLER_SYSTEM};

int write_payload_plan(struct records_ctx *ctx,
                       const struct entity *entity,
                       struct records_ctx *ret_system,
                       struct columns *ret_plan)
{
    *ret_system = *ctx;
    ret_system->caller = &system_caller;
    ret_system->public_only = false;
    return columns_plan(ret_system, entity, STR_NONE, ret_plan);
}

AWAITS static int outbox_send(
    struct records_ctx *ctx, struct db *tx, struct db_call *calls, size_t count, bool commits)
{
    if (commits)
        return db_batch_commit(ctx->task, tx, calls, count, NULL);
    return db_batch(ctx->task, tx, calls, count, NULL);
}

/* co: Writes the payload of a record. A record that was stored before there was a size limit may be
 * larger than any payload; its payload has only the fields that the service sets. */
AWAITS static int payload_new(struct records_ctx *ctx,
                              struct arena *arena,
                              const struct columns *plan,
                              const struct rows *rows,
                              size_t row,
                              struct str *ret_payload)
{
    size_t most = (size_t)size_json_limit(directory_record_bytes(ctx->directory)) + MEMBERS_BYTES;
    struct strbuf payload;
    struct jw w;

    strbuf_init(&payload, arena, most);
    jw_init(&w, &payload);
    TRY(columns_json(ctx->task, &w, plan, rows, row));
    if (payload.overflow) {
        strbuf_init(&payload, arena, most);
        jw_init(&w, &payload);
        columns_json_system(&w, plan, rows, row);
    }
    *ret_payload = strbuf_view(&payload);
    return 0;
}

struct outbox_row
write_outbox_row(const struct records_ctx *ctx, const struct entity *entity, enum event_kind event)
{
    return (struct outbox_row){
        .entity = entity,
        .event = event,
        .actor_id = ctx->caller->user_id,
        .depth = ctx->depth,
        .root = ctx->root,
        .traceparent = ctx->traceparent,
    };
}

/* Outbox rows that are sent in one round trip, in an arena of their own. */
struct outbox {
    struct arena *arena;
    struct db_call calls[OUTBOX_BATCH_ROWS];
    size_t count;
    size_t bytes;
};

/* co: Writes one outbox row for each record of a result. The caller frees outbox->arena. */
AWAITS static int outbox_write_rows(struct records_ctx *ctx,
                                    const struct columns *plan,
                                    struct db *tx,
                                    const struct write_events *events,
                                    const struct rows *rows,
                                    struct outbox *outbox)
{
    bool commits = events->ends_transaction && ctx->db->lease == NULL;

    for (size_t i = 0; i < rows->count; i++) {
        if (outbox->arena == NULL)
            outbox->arena = arena_new(0);
        struct str payload = STR_NONE;
        TRY(payload_new(ctx, outbox->arena, plan, rows, i, &payload));
        struct outbox_row row = write_outbox_row(ctx, plan->entity, events->event);
        row.record_id = rows_i64(rows, i, COLUMNS_ID);
        row.payload = payload;
        outbox->calls[outbox->count++] = events_outbox_call(outbox->arena, &row);
        outbox->bytes += row.payload.len;
        bool end = i + 1 == rows->count;
        if (outbox->count < OUTBOX_BATCH_ROWS && outbox->bytes < OUTBOX_BATCH_BYTES && !end)
            continue;
        int rc = outbox_send(ctx, tx, outbox->calls, outbox->count, commits && end);
        TRY(write_tx_db(ctx, plan->entity, rc));
        arena_free(outbox->arena);
        outbox->arena = NULL;
        outbox->count = outbox->bytes = 0;
    }
    return commits && rows->count > 0 ? WRITE_COMMITTED : 0;
}

AWAITS static int outbox_write(struct records_ctx *ctx,
                               const struct columns *plan,
                               struct db *tx,
                               const struct write_events *events,
                               const struct rows *rows)
{
    struct outbox *outbox = ARENA_NEW(ctx->task->arena, outbox);

    int rc = outbox_write_rows(ctx, plan, tx, events, rows, outbox);
    arena_free(outbox->arena);
    return rc;
}

/* Returns true when rows of `plan` have everything that the system sees: `plan` has all fields, and
 * none of them is a many relation, whose targets a row rule may hide. */
static bool plan_has_all(const struct columns *plan, const struct columns *whole)
{
    if (plan == NULL)
        return true;
    if (plan->count != whole->count)
        return false;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->fields[i] != whole->fields[i] || whole->fields[i]->is_many)
            return false;
    return true;
}

/* Writes events without payloads: the search index reads the records itself. */
AWAITS static int outbox_write_changed(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       struct db *tx,
                                       const struct write_events *events)
{
    bool commits = events->ends_transaction && ctx->db->lease == NULL;
    struct db_call call =
        events_changed_call(ctx->task->arena, entity, events->event, events->ids, events->count);

    TRY(write_tx_db(ctx, entity, outbox_send(ctx, tx, &call, 1, commits)));
    return commits ? WRITE_COMMITTED : 0;
}

int write_events(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct db *tx,
                 const struct write_events *events)
{
    struct records_ctx system;
    struct columns plan;

    if (!entity_has_consumer(entity, events->event) || events->count == 0)
        return 0;
    if (entity_has_only_search(entity, events->event))
        return outbox_write_changed(ctx, entity, tx, events);
    TRY(write_payload_plan(ctx, entity, &system, &plan));
    if (events->rows != NULL && plan_has_all(events->plan, &plan))
        return outbox_write(ctx, &plan, tx, events, events->rows);
    struct db_call call = write_select_call(&system, &plan, events->ids, events->count);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    return outbox_write(ctx, &plan, tx, events, &call.rows);
}
