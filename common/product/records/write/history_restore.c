/*
 * Restores records to the state of an earlier version. If the record exists, the old state is the
 * body of an ordinary update by the caller. A deleted record is first created again exactly as it
 * was when it was deleted, regardless of which fields the caller may write: the caller chooses none
 * of the values. If the caller asks for an older state, it follows as an update in the same
 * transaction.
 */
#include "base/clock.h"
#include "json/jr_off_thread.h"
#include "live/live.h"
#include "project/events.h"
#include "records/history.h"
#include "records/read/history_state.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/write/body.h"
#include "records/write/explain.h"
#include "records/write/links.h"
#include "records/write/targets.h"
#include "records/write/write.h"

struct restore {
    int64_t id;
    int64_t deletion_version; /* the version that the deletion created */
    json_t *deleted_body;     /* body: the state when the record was deleted */
    json_t *body;             /* body: the requested state; NULL = the same as `deleted_body` */
    struct str created_at, created_by; /* JSON texts */
    struct write_row row;
    struct strbuf *out;
    size_t out_start;
    int64_t version;
};

/* --- states as bodies --- */

static int fail_no_version(struct records_ctx *ctx)
{
    return records_fail(ctx, PROBLEM_NOT_FOUND, "There is no such version of the record.");
}

/* co: Reads the state of the record at `version`; not_found when the history does not have it. */
AWAITS static int restore_read_state(struct records_ctx *ctx,
                                     const struct history_plan *plan,
                                     int64_t id,
                                     int64_t version,
                                     struct rows *ret_rows)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select h.version"));
    history_put_fields(ctx, plan, true, &sql, &params);
    strbuf_printf(&sql, " from {p}.h_%lld h", (long long)plan->entity->id);
    history_put_document("h.before", &sql);
    strbuf_str(&sql, STR(" where h.record_id = "));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    strbuf_str(&sql, STR(" and h.version = "));
    sql_bind(&sql, &params, P_I64(version + 1), "bigint");
    strbuf_printf(&sql, " and h.action <> %d", HISTORY_RESTORED);
    history_put_retained(plan->entity, "h", &sql);
    TRY(history_query(ctx, plan->entity, "history.state", &sql, &params, ret_rows));
    return ret_rows->count > 0 ? 0 : fail_no_version(ctx);
}

/* Files are not restored: a file was deleted when its field was emptied. */
static bool restore_writes_field(const struct records_ctx *ctx, const struct model_field *field)
{
    return !field->system && field->type != TYPE_FILE && field_rule_allows(ctx, field, ACT_UPDATE);
}

/* co: Makes the body of a write by ctx->caller from a state. */
AWAITS static int restore_make_body(struct records_ctx *ctx,
                                    const struct history_plan *plan,
                                    const struct rows *rows,
                                    json_t **ret_body)
{
    const struct history_state state = {rows, 0, 1};
    json_t *body = json_object();
    struct jr_error error;
    json_t *value;

    jr_attach_large(ctx->task->arena, body);
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        struct str text = history_state_text(&state, i);
        if (text.ptr == NULL || !restore_writes_field(ctx, field))
            continue;
        if (jr_parse_off_thread(ctx->task, ctx->task->arena, text, true, &value, &error) != 0)
            return records_fail(
                ctx, PROBLEM_OUTPUT_TOO_LARGE, "The version cannot be read: %s", error.text);
        (void)json_object_setn_nocheck(body, field->name.ptr, field->name.len, value);
        TRY(task_yield_if_due(ctx->task));
    }
    *ret_body = body;
    return 0;
}

/* --- a deleted record --- */

static struct db_call restore_insert_call(struct records_ctx *ctx,
                                          const struct entity *entity,
                                          const struct restore *restore)
{
    const struct write_row *row = &restore->row;
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(
        &sql, "insert into {p}.%.*s (id, version, created_at, created_by", STR_ARG(entity->table));
    for (size_t i = 0; i < row->count; i++)
        strbuf_printf(&sql, ", %.*s", STR_ARG(row->values[i].field->column));
    strbuf_str(&sql, STR(") values ("));
    sql_bind(&sql, &params, P_I64(restore->id), "bigint");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_I64(restore->deletion_version + 1), "bigint");
    strbuf_str(&sql, STR(", ("));
    sql_bind(&sql, &params, P_STR(restore->created_at), "jsonb");
    strbuf_str(&sql, STR(" #>> '{}')::timestamptz, ("));
    sql_bind(&sql, &params, P_STR(restore->created_by), "jsonb");
    strbuf_str(&sql, STR(" #>> '{}')::bigint"));
    for (size_t i = 0; i < row->count; i++) {
        strbuf_str(&sql, STR(", "));
        sql_bind(&sql, &params, row->values[i].param, field_sql_type(row->values[i].field));
    }
    strbuf_char(&sql, ')');
    return write_call(ctx, "history.insert", &sql, &params, true);
}

static struct db_call restore_history_call(struct records_ctx *ctx,
                                           const struct entity *entity,
                                           const struct restore *restore)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(&sql,
                  "insert into {p}.h_%lld (record_id, version, action, at, actor_id) values (",
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64(restore->id), "bigint");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_I64(restore->deletion_version + 1), "bigint");
    strbuf_printf(&sql, ", %d, clock_timestamp(), ", HISTORY_RESTORED);
    sql_bind(&sql, &params, write_author_param(ctx), "bigint");
    strbuf_char(&sql, ')');
    return write_call(ctx, "history.keep", &sql, &params, true);
}

/* The findings are not the caller's mistake: the caller did not choose the values. Findings about
 * fields that the caller may not read are dropped. */
static int restore_fail_found(struct records_ctx *ctx, const struct entity *entity)
{
    struct schema_errors *found = &ctx->error.fields;
    size_t all = found->count;
    size_t kept_count = 0;

    for (size_t i = 0; i < all && i < ARRAY_LEN(found->items); i++)
        if (field_rule_find(ctx, entity, found->items[i].field) != NULL)
            found->items[kept_count++] = found->items[i];
    found->count = kept_count;
    return all > 0 && kept_count == 0 ? records_fail_hidden(ctx)
                                      : records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
}

/* co: Checks the deleted record against the current model. */
AWAITS static int
restore_check(struct records_ctx *ctx, const struct entity *entity, struct restore *restore)
{
    struct records_ctx system;
    struct columns plan;

    TRY(write_payload_plan(ctx, entity, &system, &plan));
    restore->row = (struct write_row){.errors = &ctx->error.fields};
    write_body_read(&system, entity, restore->deleted_body, WRITE_CREATE, &restore->row);
    if (ctx->error.fields.count == 0)
        TRY(targets_check(&system, entity, &restore->row, 1, true));
    return restore_fail_found(ctx, entity);
}

AWAITS static int
restore_insert(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg)
{
    struct restore *restore = arg;
    const struct link_rows of = {&restore->row, &restore->id, 1};
    struct records_ctx system;
    struct write_calls calls;
    struct columns plan;

    TRY(write_payload_plan(ctx, entity, &system, &plan));
    write_calls_init(&calls, ctx->task->arena);
    write_calls_add(&calls, restore_insert_call(ctx, entity, restore));
    write_calls_add(&calls, restore_history_call(ctx, entity, restore));
    links_calls(&system, entity, &of, false, &calls);
    if (ctx->model->live)
        write_calls_add(&calls, live_created_call(calls.arena, entity, &restore->id, 1));
    int rc = db_batch(ctx->task, tx, calls.items, calls.count, NULL);
    if (rc == DB_UNIQUE && !str_starts(db_error(ctx->task)->constraint, STR("u_")))
        return records_fail(
            ctx, PROBLEM_CONFLICT, "The record exists again, so it cannot be restored as deleted.");
    TRY(write_tx_db(ctx, entity, rc));
    const struct write_events events = {.event = EVENT_CREATED, .ids = &restore->id, .count = 1};
    return write_events(ctx, entity, tx, &events);
}

/* co: Reads the answer for a record that was created again and not updated. */
AWAITS static int restore_answer(struct records_ctx *ctx,
                                 const struct entity *entity,
                                 struct db *tx,
                                 struct restore *in)
{
    struct columns plan;

    TRY(columns_plan(ctx, entity, STR_NONE, &plan));
    struct db_call call = write_select_call(ctx, &plan, &in->id, 1);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    in->version = rows_i64(&call.rows, 0, COLUMNS_VERSION);
    return write_answer_record(ctx, &plan, &call.rows, in->out, in->out_start);
}

AWAITS static int restore_in_transaction(struct records_ctx *ctx,
                                         const struct entity *entity,
                                         struct db *tx,
                                         void *arg)
{
    struct restore *restore = arg;
    struct records_ctx inner = *ctx;

    TRY(restore_insert(ctx, entity, tx, restore));
    if (restore->body == NULL)
        return restore_answer(ctx, entity, tx, restore);
    inner.db = tx;
    restore->out->len = restore->out_start;
    int rc = records_update(
        &inner, entity, restore->id, restore->body, 0, restore->out, &restore->version);
    ctx->error = inner.error;
    return rc;
}

/* co: Reads the state of a deleted record at `version`; no rows when `version` is the record's last
 * version. To restore a deleted record is to create it, so the caller needs the permission to
 * create. */
AWAITS static int restore_read_deleted(struct records_ctx *ctx,
                                       const struct history_plan *plan,
                                       const struct restore *restore,
                                       int64_t version,
                                       struct rows *ret_rows)
{
    const struct entity *entity = plan->entity;

    *ret_rows = (struct rows){0};
    if (!caller_can_entity(ctx->caller, entity->id, ACT_CREATE))
        return records_fail(ctx,
                            PROBLEM_FORBIDDEN,
                            "Restoring a deleted record needs the permission %.*s:create.",
                            STR_ARG(entity->name));
    if (version >= restore->deletion_version)
        return fail_no_version(ctx);
    if (version == restore->deletion_version - 1)
        return 0;
    return restore_read_state(ctx, plan, restore->id, version, ret_rows);
}

/* co: Restores a deleted record. Sets restore->body unless the last state is requested. */
AWAITS static int restore_deleted(struct records_ctx *ctx,
                                  const struct history_plan *plan,
                                  struct restore *restore,
                                  int64_t version)
{
    const struct entity *entity = plan->entity;
    struct records_ctx system;
    struct history_plan whole;
    struct columns columns;
    struct rows rows;

    TRY(restore_read_deleted(ctx, plan, restore, version, &rows));
    if (rows.count > 0)
        TRY(restore_make_body(ctx, plan, &rows, &restore->body));
    TRY(write_payload_plan(ctx, entity, &system, &columns));
    TRY(history_plan(&system, entity, &whole));
    TRY(restore_read_state(&system, &whole, restore->id, restore->deletion_version - 1, &rows));
    TRY(restore_make_body(&system, &whole, &rows, &restore->deleted_body));
    for (size_t i = 0; i < whole.count; i++) {
        const struct history_state state = {&rows, 0, 1};
        if (str_is(whole.fields[i]->column, "created_at"))
            restore->created_at = history_state_text(&state, i);
        if (str_is(whole.fields[i]->column, "created_by"))
            restore->created_by = history_state_text(&state, i);
    }
    TRY(restore_check(ctx, entity, restore));
    bool notify = entity_has_consumer(entity, EVENT_CREATED) || ctx->model->live;
    return write_transaction(ctx, entity, restore_in_transaction, restore, notify);
}

int records_history_may_restore(struct records_ctx *ctx,
                                const struct entity *entity,
                                int64_t id,
                                int64_t version)
{
    struct restore restore = {.id = id};
    struct history_plan plan;
    struct rows live;
    struct rows rows;

    TRY(history_plan(ctx, entity, &plan));
    TRY(history_find(ctx, &plan, ACT_UPDATE, id, &live, &restore.deletion_version));
    if (live.count == 0)
        return restore_read_deleted(ctx, &plan, &restore, version, &rows);
    TRY(write_explain(ctx, entity, ctx->db, id, ACT_UPDATE, 0));
    return version == rows_i64(&live, 0, 0) ? 0
                                            : restore_read_state(ctx, &plan, id, version, &rows);
}

int records_history_restore(struct records_ctx *ctx,
                            const struct entity *entity,
                            int64_t id,
                            int64_t version,
                            struct strbuf *out,
                            int64_t *ret_version)
{
    struct restore restore = {.id = id, .out = out, .out_start = out->len};
    struct history_plan plan;
    struct rows live;
    struct rows rows;

    TRY(history_plan(ctx, entity, &plan));
    TRY(history_find(ctx, &plan, ACT_UPDATE, id, &live, &restore.deletion_version));
    if (live.count == 0) {
        TRY(restore_deleted(ctx, &plan, &restore, version));
        *ret_version = restore.version;
        return records_check_size(ctx, out);
    }
    restore.body = json_object();
    jr_attach_large(ctx->task->arena, restore.body);
    if (version != rows_i64(&live, 0, 0)) {
        TRY(restore_read_state(ctx, &plan, id, version, &rows));
        TRY(restore_make_body(ctx, &plan, &rows, &restore.body));
    }
    return records_update(ctx, entity, id, restore.body, 0, out, ret_version);
}
