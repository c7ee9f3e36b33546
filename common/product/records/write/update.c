/*
 * Changes one record. Row rule, If-Match and locks are conditions of the UPDATE itself; when the
 * UPDATE touches no row, write_explain() finds out why.
 */
#include "json/jr.h"
#include "json/jr_off_thread.h"
#include "records/read/columns.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/explain.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/size.h"
#include "records/write/targets.h"
#include "records/write/write.h"

struct update {
    const json_t *body;
    int64_t id;
    int64_t expect_version; /* 0 = any */
    struct strbuf *out;
    size_t out_start;
    struct write_row row;
    struct columns plan;
    int64_t version;
    bool touched_nothing; /* the UPDATE touched no row, and no reason was found */
};

/* Appends the conditions on the row, for the UPDATE and for the change-log statement before it. */
static void update_where(struct records_ctx *ctx,
                         const struct entity *entity,
                         const struct update *update,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    strbuf_str(sql, STR("t.id = "));
    sql_bind(sql, params, P_I64(update->id), "bigint");
    if (update->expect_version != 0) {
        strbuf_str(sql, STR(" and t.version = "));
        sql_bind(sql, params, P_I64(update->expect_version), "bigint");
    }
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", sql, params);
    write_put_lock_rule(ctx, entity, "t", sql, params);
    size_where(ctx, entity, &update->row, "t", sql, params);
}

static struct db_call
update_log_call(struct records_ctx *ctx, const struct entity *entity, const struct update *update)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    log_begin(entity, LIVE_UPDATED, &sql);
    update_where(ctx, entity, update, &sql, &params);
    return log_end(ctx, LIVE_UPDATED, &sql, &params);
}

static struct db_call
update_call(struct records_ctx *ctx, const struct entity *entity, const struct update *update)
{
    struct arena *arena = ctx->task->arena;
    const struct write_row *row = &update->row;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "update {p}.%.*s as t set updated_at = greatest(now(), t.updated_at),"
                  " version = t.version + 1",
                  STR_ARG(entity->table));
    for (size_t i = 0; i < row->count; i++) {
        strbuf_printf(&sql, ", %.*s = ", STR_ARG(row->values[i].field->column));
        sql_bind(&sql, &params, row->values[i].param, field_sql_type(row->values[i].field));
    }
    strbuf_str(&sql, STR(" where "));
    update_where(ctx, entity, update, &sql, &params);
    if (entity->history_days > 0)
        write_put_actor(ctx, &sql, &params);
    strbuf_str(&sql, STR(" returning "));
    columns_sql(ctx, &update->plan, "t", &sql, &params);
    return write_call(ctx, "items.update", &sql, &params, true);
}

/* co: Stores the version, and makes the record the answer. */
AWAITS static int
update_set_answer(struct records_ctx *ctx, struct update *update, const struct rows *rows)
{
    update->version = rows_i64(rows, 0, COLUMNS_VERSION);
    return write_answer_record(ctx, &update->plan, rows, update->out, update->out_start);
}

/* co: Runs the UPDATE. Sets `touched_nothing` when it touched no row although nothing forbids a
 * change. */
AWAITS static int update_row(struct records_ctx *ctx,
                             const struct entity *entity,
                             struct db *db,
                             struct update *update,
                             struct rows *ret_rows)
{
    struct db_call calls[2];
    size_t count = 0;

    if (ctx->model->live)
        calls[count++] = update_log_call(ctx, entity, update);
    calls[count++] = update_call(ctx, entity, update);
    const struct rows *changed = &calls[count - 1].rows;
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, db, calls, count, NULL)));
    update->touched_nothing = changed->count == 0;
    if (update->touched_nothing) {
        TRY(write_explain(ctx, entity, db, update->id, ACT_UPDATE, update->expect_version));
        return size_explain(ctx, entity, db, update->id, &update->row);
    }
    *ret_rows = *changed;
    return update_set_answer(ctx, update, changed);
}

AWAITS static int update_set_links(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   struct db *tx,
                                   struct update *update)
{
    const struct link_rows of = {&update->row, &update->id, 1};
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    links_calls(ctx, entity, &of, true, &calls);
    write_calls_add(&calls, write_select_call(ctx, &update->plan, &update->id, 1));
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    return update_set_answer(ctx, update, &calls.items[calls.count - 1].rows);
}

AWAITS static int update_in_transaction(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct db *tx,
                                        void *arg)
{
    struct update *update = arg;
    struct rows changed;

    TRY(update_row(ctx, entity, tx, update, &changed));
    if (update->touched_nothing)
        return 0;
    if (update->row.link_count > 0)
        TRY(update_set_links(ctx, entity, tx, update));
    const struct write_events events = {
        .event = EVENT_UPDATED,
        .ids = &update->id,
        .count = 1,
        .rows = update->row.link_count > 0 ? NULL : &changed,
        .plan = &update->plan,
        .ends_transaction = true,
    };
    return write_events(ctx, entity, tx, &events);
}

/* The body changes nothing: answers the record as it is if the caller may change the record. */
AWAITS static int
update_answer_unchanged(struct records_ctx *ctx, const struct entity *entity, struct update *update)
{
    struct db_call call = write_select_call(ctx, &update->plan, &update->id, 1);

    int rc = write_explain(ctx, entity, ctx->db, update->id, ACT_UPDATE, update->expect_version);
    TRY(write_settle_conflict(ctx, entity, rc));
    TRY(write_db(ctx, entity, write_run(ctx, ctx->db, &call)));
    if (call.rows.count == 0)
        return records_fail_not_found(ctx);
    return update_set_answer(ctx, update, &call.rows);
}

AWAITS static int
update_attempt(struct records_ctx *ctx, const struct entity *entity, struct update *update)
{
    bool listens = entity_has_consumer(entity, EVENT_UPDATED);
    struct rows rows;

    update->touched_nothing = false;
    if (update->row.link_count > 0 || listens)
        return write_transaction(
            ctx, entity, update_in_transaction, update, listens || ctx->model->live);
    TRY(write_settle_conflict(ctx, entity, update_row(ctx, entity, ctx->db, update, &rows)));
    if (ctx->model->live && ctx->db->lease == NULL)
        write_notify(ctx);
    return 0;
}

AWAITS static int
update_check(struct records_ctx *ctx, const struct entity *entity, struct update *update)
{
    ctx->error = (struct records_error){0};
    update->row = (struct write_row){.errors = &ctx->error.fields};
    write_body_read(ctx, entity, update->body, WRITE_UPDATE, &update->row);
    TRY(records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED));
    TRY(targets_check(ctx, entity, &update->row, 1, false));
    return records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
}

/* co: Reads the record as the caller sees it. *ret_shown is NULL when that is not possible. */
AWAITS static int update_read_visible(const struct records_ctx *ctx,
                                      const struct entity *entity,
                                      int64_t id,
                                      json_t **ret_shown)
{
    struct records_ctx plain = *ctx;
    struct jr_error error;
    struct strbuf text;
    int64_t version;

    *ret_shown = NULL;
    plain.values = NULL;
    plain.error = (struct records_error){0};
    strbuf_init(&text,
                ctx->task->arena,
                2 * (size_t)size_json_limit(directory_record_bytes(ctx->directory)));
    int rc = records_get(&plain, entity, id, NULL, &text, &version);
    if (rc == 0)
        rc = jr_parse_off_thread(
            ctx->task, ctx->task->arena, strbuf_view(&text), true, ret_shown, &error);
    return rc == RECORDS_FAILED || rc == JR_INVALID ? 0 : rc;
}

/* co: Removes members from the body that equal what the caller reads. A client may thus send a
 * record back as it was read, with fields that the service sets and with references to records that
 * the caller may not see. The comparison reveals nothing that a read does not. */
AWAITS static int update_drop_unchanged(const struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct update *update,
                                        bool *ret_left)
{
    json_t *rest = jr_attach(ctx->task->arena, json_object());
    const char *key;
    json_t *shown;
    json_t *value;

    *ret_left = false;
    TRY(update_read_visible(ctx, entity, update->id, &shown));
    json_object_foreach((json_t *)update->body, key, value)
    {
        TRY(task_yield_if_due(ctx->task)); /* comparing large documents takes long */
        if (json_equal(value, json_object_get(shown, key)))
            *ret_left = true;
        else
            (void)json_object_set(rest, key, value);
    }
    if (*ret_left)
        update->body = rest;
    return 0;
}

AWAITS static int
update_run(struct records_ctx *ctx, const struct entity *entity, struct update *update)
{
    bool left = false;
    int rc = update_check(ctx, entity, update);

    if (rc == RECORDS_FAILED && ctx->error.fields.count > 0 && json_is_object(update->body))
        TRY(update_drop_unchanged(ctx, entity, update, &left));
    if (left)
        rc = update_check(ctx, entity, update);
    TRY(rc);
    TRY(columns_plan(ctx, entity, STR_NONE, &update->plan));
    if (update->row.count == 0 && update->row.link_count == 0)
        return update_answer_unchanged(ctx, entity, update);

    TRY(update_attempt(ctx, entity, update));
    if (update->touched_nothing) /* a lock ended, or the row reappeared, after the UPDATE */
        TRY(update_attempt(ctx, entity, update));
    if (update->touched_nothing)
        return records_fail(
            ctx, PROBLEM_CONFLICT, "Other requests are changing the record; try again.");
    return 0;
}

int records_update(struct records_ctx *ctx,
                   const struct entity *entity,
                   int64_t id,
                   const json_t *body,
                   int64_t expect_version,
                   struct strbuf *out,
                   int64_t *ret_version)
{
    struct update update = {
        .body = body,
        .id = id,
        .expect_version = expect_version,
        .out = out,
        .out_start = out != NULL ? out->len : 0,
    };

    TRY(update_run(ctx, entity, &update));
    TRY(records_check_size(ctx, out));
    *ret_version = update.version;
    return 0;
}
