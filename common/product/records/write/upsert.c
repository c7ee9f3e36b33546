/*
 * Upserts rows. Each item is an INSERT .. ON CONFLICT, or an UPDATE when the item lacks fields that
 * a new record needs. All statements are sent in one round trip. The row rule and the lock are
 * conditions of the change, so a record that the caller may not change is reported like any unique
 * value that is already taken. Fields that an item leaves out keep their stored values.
 */
#include "records/write/upsert.h"
#include "base/panic.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/bulk.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/order.h"
#include "records/write/size.h"
#include "records/write/write.h"

struct upsert {
    const struct model_field *key;
    struct write_row *rows;
    size_t count;
    struct records_bulk_result *results;
    const size_t *order; /* the order in which the rows are written */
    size_t failed;
};

int upsert_key(struct records_ctx *ctx,
               const struct entity *entity,
               const struct records_bulk *in,
               const struct model_field **ret_key)
{
    const struct model_field *key;

    if (!caller_can_entity(ctx->caller, entity->id, ACT_UPDATE))
        return records_fail(
            ctx, PROBLEM_FORBIDDEN, "An upsert needs the permission to update records.");
    if (in->on_conflict_count != 1)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("on_conflict"),
                                  PROBLEM_OUT_OF_RANGE,
                                  "must name exactly one field");
    /* Find the field again: the model may have been reloaded. */
    key = field_rule_find(ctx, entity, in->on_conflict[0]->name);
    if (key == NULL)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("on_conflict"),
                                  PROBLEM_UNKNOWN_FIELD,
                                  "the entity has no such field");
    if (!key->unique || key->system || key->is_many)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("on_conflict"),
                                  PROBLEM_VALIDATION_FAILED,
                                  "the field must be unique");
    *ret_key = key;
    return 0;
}

/* Appends `before` and "t.f_3 = $1", the condition for the record that has the item's key. */
static void upsert_put_key_condition(const struct upsert *upsert,
                                     const struct write_row *row,
                                     const char *before,
                                     struct strbuf *sql,
                                     struct sql_params *params)
{
    const struct value *value = row_value(row, upsert->key);

    MUST(value != NULL);
    strbuf_printf(sql, "%st.%.*s = ", before, STR_ARG(upsert->key->column));
    sql_bind(sql, params, value->param, field_sql_type(upsert->key));
}

/* Appends the conditions under which the caller may change the record. */
static void upsert_put_rules(struct records_ctx *ctx,
                             const struct entity *entity,
                             const struct write_row *row,
                             struct strbuf *sql,
                             struct sql_params *params)
{
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", sql, params);
    write_put_lock_rule(ctx, entity, "t", sql, params);
    size_where(ctx, entity, row, "t", sql, params);
    if (entity->history_days > 0)
        write_put_actor(ctx, sql, params);
}

static void upsert_put_columns(const struct write_row *row, struct strbuf *sql)
{
    strbuf_str(sql, STR("(created_by"));
    for (size_t i = 0; i < row->count; i++)
        strbuf_printf(sql, ", %.*s", STR_ARG(row->values[i].field->column));
    strbuf_char(sql, ')');
}

static struct db_call upsert_call(struct records_ctx *ctx,
                                  const struct entity *entity,
                                  const struct upsert *upsert,
                                  const struct write_row *row)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "insert into {p}.%.*s as t ", STR_ARG(entity->table));
    upsert_put_columns(row, &sql);
    strbuf_str(&sql, STR(" values ("));
    sql_bind(&sql, &params, write_author_param(ctx), "bigint");
    for (size_t i = 0; i < row->count; i++) {
        strbuf_str(&sql, STR(", "));
        sql_bind(&sql, &params, row->values[i].param, field_sql_type(row->values[i].field));
    }
    strbuf_printf(&sql,
                  ") on conflict (%.*s) do update set"
                  " updated_at = greatest(excluded.updated_at, t.updated_at),"
                  " version = t.version + 1",
                  STR_ARG(upsert->key->column));
    for (size_t i = 0; i < row->count; i++) {
        struct str column = row->values[i].field->column;
        if (row->is_given[i] && row->values[i].field != upsert->key)
            strbuf_printf(&sql, ", %.*s = excluded.%.*s", STR_ARG(column), STR_ARG(column));
    }
    strbuf_str(&sql, STR(" where true"));
    upsert_put_rules(ctx, entity, row, &sql, &params);
    strbuf_str(&sql, STR(" returning t.id, (t.xmax = 0) as created"));
    return write_call(ctx, "items.upsert", &sql, &params, true);
}

/* The UPDATE of an item that lacks fields that a new record needs. */
static struct db_call upsert_change_call(struct records_ctx *ctx,
                                         const struct entity *entity,
                                         const struct upsert *upsert,
                                         const struct write_row *row)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(&sql,
                  "update {p}.%.*s as t set updated_at = greatest(now(), t.updated_at),"
                  " version = t.version + 1",
                  STR_ARG(entity->table));
    for (size_t i = 0; i < row->count; i++) {
        const struct value *value = &row->values[i];
        if (!row->is_given[i] || value->field == upsert->key)
            continue;
        strbuf_printf(&sql, ", %.*s = ", STR_ARG(value->field->column));
        sql_bind(&sql, &params, value->param, field_sql_type(value->field));
    }
    upsert_put_key_condition(upsert, row, " where ", &sql, &params);
    upsert_put_rules(ctx, entity, row, &sql, &params);
    strbuf_str(&sql, STR(" returning t.id, false as created"));
    return write_call(ctx, "items.upsert_change", &sql, &params, true);
}

/* Logs the record that has the item's key, as it is before the item changes it. */
static struct db_call upsert_log_call(struct records_ctx *ctx,
                                      const struct entity *entity,
                                      const struct upsert *upsert,
                                      const struct write_row *row)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    log_begin(entity, LIVE_UPDATED, &sql);
    upsert_put_key_condition(upsert, row, "", &sql, &params);
    return log_end(ctx, LIVE_UPDATED, &sql, &params);
}

/* Selects the record that has the item's key, and whether the row rule lets the caller change the
 * record: if so, only the size of the record or a lock was in the way. */
static struct db_call upsert_find_call(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       const struct upsert *upsert,
                                       const struct write_row *row)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select t.id, (true"));
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", &sql, &params);
    strbuf_printf(&sql, ") as changeable from {p}.%.*s t", STR_ARG(entity->table));
    upsert_put_key_condition(upsert, row, " where ", &sql, &params);
    return write_call(ctx, "items.upsert_met", &sql, &params, false);
}

AWAITS static int upsert_fail_refused(struct records_ctx *ctx,
                                      const struct entity *entity,
                                      struct db *tx,
                                      const struct upsert *upsert)
{
    const struct write_row *row = &upsert->rows[upsert->failed];
    struct db_call call = upsert_find_call(ctx, entity, upsert, row);

    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    if (call.rows.count == 0 && row->missing_errors != NULL) {
        ctx->error.fields = *row->missing_errors;
        return records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
    }
    if (call.rows.count > 0 && rows_bool(&call.rows, 0, 1)) {
        TRY(size_explain(ctx, entity, tx, rows_i64(&call.rows, 0, 0), row));
        return records_fail(ctx, PROBLEM_LOCKED, "The record is locked by another user.");
    }
    return records_fail_field(ctx,
                              PROBLEM_UNIQUE_VIOLATION,
                              upsert->key->name,
                              PROBLEM_UNIQUE_VIOLATION,
                              "another record has this value already");
}

/* When several items change the same record, only the links of the last item are written. */
static void upsert_keep_last_links(struct upsert *upsert, int64_t *ids)
{
    for (size_t i = 0; i < upsert->count; i++) {
        ids[i] = upsert->results[i].id;
        for (size_t k = 0; k < i; k++)
            if (ids[k] == ids[i])
                ids[k] = 0;
    }
}

AWAITS static int upsert_log_created(struct records_ctx *ctx,
                                     const struct entity *entity,
                                     struct db *tx,
                                     const struct upsert *upsert)
{
    int64_t *ids = ARENA_ARRAY(ctx->task->arena, ids, upsert->count);

    if (!ctx->model->live)
        return 0;
    for (size_t i = 0; i < upsert->count; i++)
        ids[i] = upsert->results[i].updated ? 0 : upsert->results[i].id;
    struct db_call call = live_created_call(ctx->task->arena, entity, ids, upsert->count);
    return write_tx_db(ctx, entity, write_run(ctx, tx, &call));
}

AWAITS static int upsert_emit(struct records_ctx *ctx,
                              const struct entity *entity,
                              struct db *tx,
                              const struct upsert *upsert,
                              enum event_kind event)
{
    int64_t *ids = ARENA_ARRAY(ctx->task->arena, ids, upsert->count);
    struct write_events events = {.event = event, .ids = ids};

    for (size_t i = 0; i < upsert->count; i++)
        if (upsert->results[i].updated == (event == EVENT_UPDATED))
            ids[events.count++] = upsert->results[i].id;
    return write_events(ctx, entity, tx, &events);
}

/* Returns the item to blame for a taken value. When several items have the same value, that is the
 * second of them in the request, regardless of the order in which they were written. */
static size_t upsert_blamed_item(struct records_ctx *ctx,
                                 const struct entity *entity,
                                 const struct upsert *upsert,
                                 size_t failed)
{
    const struct schema_errors *found = &ctx->error.fields;
    const struct model_field *field =
        found->count > 0 ? entity_field(entity, found->items[0].field) : NULL;
    size_t twins = 0;

    for (size_t i = 0; field != NULL && i < upsert->count; i++)
        if (rows_have_same_value(&upsert->rows[i], &upsert->rows[failed], field) && ++twins == 2)
            return i;
    return failed;
}

AWAITS static int upsert_in_transaction(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct db *tx,
                                        void *arg)
{
    struct arena *arena = ctx->task->arena;
    struct upsert *upsert = arg;
    struct write_calls calls;
    size_t failed = 0;

    upsert->failed = upsert->count;
    write_calls_init(&calls, arena);
    upsert->order = rows_lock_order(arena, upsert->rows, upsert->count, upsert->key);
    for (size_t i = 0; i < upsert->count; i++) {
        const struct write_row *row = &upsert->rows[upsert->order[i]];
        if (ctx->model->live)
            write_calls_add(&calls, upsert_log_call(ctx, entity, upsert, row));
        write_calls_add(&calls,
                        row->missing_errors != NULL ? upsert_change_call(ctx, entity, upsert, row)
                                                    : upsert_call(ctx, entity, upsert, row));
        TRY(task_yield_if_due(ctx->task));
    }
    size_t step = ctx->model->live ? 2 : 1;
    int rc = db_batch(ctx->task, tx, calls.items, calls.count, &failed);
    if (rc == DB_UNIQUE || rc == DB_FOREIGN_KEY || rc == DB_NOT_NULL || rc == DB_CHECK)
        upsert->failed = upsert->order[failed / step];
    int settled = write_tx_db(ctx, entity, rc);
    if (rc == DB_UNIQUE)
        upsert->failed = upsert_blamed_item(ctx, entity, upsert, upsert->failed);
    TRY(settled);
    for (size_t i = 0; i < upsert->count; i++) {
        const struct rows *rows = &calls.items[i * step + step - 1].rows;
        size_t index = upsert->order[i];
        upsert->failed = index;
        if (rows->count == 0)
            return upsert_fail_refused(ctx, entity, tx, upsert);
        upsert->results[index].id = rows_i64(rows, 0, 0);
        upsert->results[index].updated = !rows_bool(rows, 0, 1);
        /* Another transaction inserted the record after our log statement, so its previous state
         * was not logged; retry. */
        if (step == 2 && upsert->results[index].updated && calls.items[i * step].rows.affected == 0)
            return write_tx_db(ctx, entity, DB_CONFLICT);
    }
    upsert->failed = upsert->count;

    int64_t *ids = ARENA_ARRAY(arena, ids, upsert->count);
    upsert_keep_last_links(upsert, ids);
    const struct link_rows of = {upsert->rows, ids, upsert->count};
    write_calls_init(&calls, arena);
    links_calls(ctx, entity, &of, true, &calls);
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    TRY(upsert_log_created(ctx, entity, tx, upsert));
    TRY(upsert_emit(ctx, entity, tx, upsert, EVENT_CREATED));
    return upsert_emit(ctx, entity, tx, upsert, EVENT_UPDATED);
}

int upsert_rows(struct records_ctx *ctx,
                const struct entity *entity,
                const struct model_field *key,
                struct write_row *rows,
                size_t count,
                struct records_bulk_result *results,
                size_t *ret_failed)
{
    struct upsert upsert = {.key = key, .rows = rows, .count = count, .results = results};
    bool notify = entity_has_consumer(entity, EVENT_CREATED) ||
                  entity_has_consumer(entity, EVENT_UPDATED) || ctx->model->live;

    int rc = write_transaction(ctx, entity, upsert_in_transaction, &upsert, notify);
    *ret_failed = upsert.failed;
    if (rc != 0)
        for (size_t i = 0; i < count; i++)
            results[i].id = 0;
    return rc;
}
