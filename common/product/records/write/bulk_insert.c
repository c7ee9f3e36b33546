/*
 * Inserts many records with one statement. The ids are taken from the sequence first. A row whose
 * unique value is taken is skipped and found by its missing id, and does not abort the transaction.
 */
#include <stdlib.h>

#include "base/num.h"
#include "live/live.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/bulk.h"
#include "records/write/links.h"
#include "records/write/order.h"
#include "records/write/write.h"

AWAITS static int bulk_reserve_ids(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   struct db *tx,
                                   struct bulk *bulk)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "select nextval(pg_get_serial_sequence('{p}.%.*s', 'id'))"
                  " from generate_series(1, ",
                  STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64((int64_t)bulk->count), "bigint");
    strbuf_char(&sql, ')');
    struct db_call call = write_call(ctx, "items.bulk_ids", &sql, &params, true);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    for (size_t i = 0; i < bulk->count; i++)
        bulk->ids[i] = rows_i64(&call.rows, i, 0);
    return 0;
}

/* Returns one column of all rows as an array of texts. */
static struct db_param
bulk_column_param(struct arena *arena, const struct bulk *bulk, const size_t *order, size_t column)
{
    struct str *texts = ARENA_ARRAY(arena, texts, bulk->count);

    for (size_t i = 0; i < bulk->count; i++)
        texts[i] = value_text(arena, &bulk->rows[order[i]].values[column].param);
    return P_STRS(texts, bulk->count);
}

static struct db_param
bulk_ids_param(struct arena *arena, const struct bulk *bulk, const size_t *order)
{
    int64_t *ids = ARENA_ARRAY(arena, ids, bulk->count);

    for (size_t i = 0; i < bulk->count; i++)
        ids[i] = bulk->ids[order[i]];
    return P_I64S(ids, bulk->count);
}

/* Returns the first unique field, NULL = none. An INSERT may wait for another with the same value,
 * so rows are sorted by this field. */
static const struct model_field *first_unique_field(const struct entity *entity)
{
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!field->system && !field->is_many && field->unique)
            return field;
    }
    return NULL;
}

/* co: Builds the INSERT. In a create every row has the same columns in the same order. */
AWAITS static int bulk_insert_call(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   const struct bulk *bulk,
                                   struct db_call *ret_call)
{
    struct arena *arena = ctx->task->arena;
    const struct write_row *first = &bulk->rows[0];
    const size_t *order =
        rows_lock_order(arena, bulk->rows, bulk->count, first_unique_field(entity));
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "insert into {p}.%.*s as t (id, created_by", STR_ARG(entity->table));
    for (size_t i = 0; i < first->count; i++)
        strbuf_printf(&sql, ", %.*s", STR_ARG(first->values[i].field->column));
    strbuf_str(&sql, STR(") select u.id, "));
    sql_bind(&sql, &params, write_author_param(ctx), "bigint");
    for (size_t i = 0; i < first->count; i++)
        strbuf_printf(&sql, ", u.c%zu::%s", i, field_sql_type(first->values[i].field));
    strbuf_str(&sql, STR(" from unnest("));
    sql_bind(&sql, &params, bulk_ids_param(arena, bulk, order), "bigint[]");
    for (size_t i = 0; i < first->count; i++) {
        strbuf_str(&sql, STR(", "));
        sql_bind(&sql, &params, bulk_column_param(arena, bulk, order, i), "text[]");
        TRY(task_yield_if_due(ctx->task));
    }
    strbuf_str(&sql, STR(") with ordinality as u (id"));
    for (size_t i = 0; i < first->count; i++)
        strbuf_printf(&sql, ", c%zu", i);
    strbuf_str(&sql, STR(", place) order by u.place on conflict do nothing returning t.id"));
    *ret_call = write_call(ctx, "items.bulk_create", &sql, &params, true);
    return 0;
}

/* Fills `refused` with the items whose id the INSERT did not return. Returns their number. */
static size_t bulk_find_refused(struct arena *arena,
                                const struct bulk *bulk,
                                const struct rows *rows,
                                size_t *refused)
{
    int64_t *written = ARENA_ARRAY(arena, written, rows->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++)
        written[i] = rows_i64(rows, i, 0);
    qsort(written, rows->count, sizeof(*written), num_compare_i64);
    for (size_t i = 0; i < bulk->count; i++)
        if (bsearch(&bulk->ids[i], written, rows->count, sizeof(*written), num_compare_i64) == NULL)
            refused[count++] = i;
    return count;
}

/* Selects refused items whose value of `field` a record already has: positions in `refused`. */
static struct db_call taken_value_call(struct records_ctx *ctx,
                                       const struct bulk *bulk,
                                       const struct model_field *field,
                                       const size_t *refused,
                                       size_t count)
{
    struct arena *arena = ctx->task->arena;
    int64_t *places = ARENA_ARRAY(arena, places, count);
    struct str *texts = ARENA_ARRAY(arena, texts, count);
    struct sql_params params;
    struct strbuf sql;

    for (size_t i = 0; i < count; i++) {
        const struct value *value = row_value(&bulk->rows[refused[i]], field);
        places[i] = (int64_t)i;
        texts[i] = value != NULL ? value_text(arena, &value->param) : STR_NONE;
    }
    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select u.place from unnest("));
    sql_bind(&sql, &params, P_I64S(places, count), "bigint[]");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_STRS(texts, count), "text[]");
    strbuf_printf(&sql,
                  ") as u (place, value) where exists (select 1 from {p}.%.*s t"
                  " where t.%.*s = u.value::%s)",
                  STR_ARG(field->entity->table),
                  STR_ARG(field->column),
                  field_sql_type(field));
    return write_call(ctx, "items.bulk_twins", &sql, &params, false);
}

/* co: Fills `fields` with the unique field that each refused item failed on. An entry stays NULL
 * when the record with the same value is gone by now. */
AWAITS static int find_taken_fields(struct records_ctx *ctx,
                                    const struct entity *entity,
                                    struct db *tx,
                                    const struct bulk *bulk,
                                    const size_t *refused,
                                    size_t count,
                                    const struct model_field **fields)
{
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (field->system || field->is_many || !field->unique)
            continue;
        struct db_call call = taken_value_call(ctx, bulk, field, refused, count);
        TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
        for (size_t k = 0; k < call.rows.count; k++)
            fields[rows_i64(&call.rows, k, 0)] = field;
    }
    return 0;
}

/* Returns true when the caller may not read the field; the failure must not name such a field. */
static bool is_hidden_field(struct records_ctx *ctx, const struct model_field *field)
{
    return field != NULL && !field_rule_allows(ctx, field, ACT_READ);
}

/* Fails an atomic bulk; names every refused item. */
static int bulk_fail_taken(struct records_ctx *ctx,
                           const struct bulk *bulk,
                           const size_t *refused,
                           size_t count,
                           const struct model_field *const *fields)
{
    bool hides = false;
    struct strbuf list;

    strbuf_init(&list, ctx->task->arena, (size_t)BULK_MAX * 8);
    for (size_t i = 0; i < count; i++) {
        size_t index = bulk->index[refused[i]];
        bool hidden = is_hidden_field(ctx, fields[i]);
        struct str name = fields[i] != NULL && !hidden ? fields[i]->name : STR("");
        struct str path = bulk_path(ctx->task->arena, index, name);
        strbuf_printf(&list, "%s%zu", i > 0 ? ", " : "", index);
        records_finding_add(ctx,
                            path,
                            hidden ? PROBLEM_CONFLICT : PROBLEM_UNIQUE_VIOLATION,
                            "%s",
                            hidden ? RECORDS_HIDDEN_TEXT : UNIQUE_TAKEN_TEXT);
        hides = hides || hidden;
    }
    return records_fail(ctx,
                        hides ? PROBLEM_CONFLICT : PROBLEM_UNIQUE_VIOLATION,
                        hides
                            ? "%zu of %zu items cannot be stored as they are: %.*s"
                            : "%zu of %zu items have a value that another record already has: %.*s",
                        count,
                        bulk->count,
                        STR_ARG(strbuf_view(&list)));
}

/* In a bulk that is not atomic, gives the refused items their failures. */
static void bulk_refuse_taken(struct records_ctx *ctx,
                              struct bulk *bulk,
                              const size_t *refused,
                              size_t count,
                              const struct model_field *const *fields)
{
    for (size_t i = 0; i < count; i++) {
        struct str name = fields[i] != NULL ? fields[i]->name : STR("");
        if (is_hidden_field(ctx, fields[i]))
            (void)!records_fail_hidden(ctx);
        else
            (void)!records_fail_field(
                ctx, PROBLEM_UNIQUE_VIOLATION, name, PROBLEM_UNIQUE_VIOLATION, UNIQUE_TAKEN_TEXT);
        bulk_refuse_item(ctx, bulk, refused[i]);
    }
}

int bulk_insert(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg)
{
    struct arena *arena = ctx->task->arena;
    struct bulk *bulk = arg;
    size_t *refused = ARENA_ARRAY(arena, refused, bulk->count);
    struct write_calls calls;

    TRY(bulk_reserve_ids(ctx, entity, tx, bulk));
    struct db_call call;
    TRY(bulk_insert_call(ctx, entity, bulk, &call));
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    size_t count = bulk_find_refused(arena, bulk, &call.rows, refused);
    if (count > 0) {
        const struct model_field **fields = ARENA_ARRAY(arena, fields, count);
        TRY(find_taken_fields(ctx, entity, tx, bulk, refused, count, fields));
        if (bulk->atomic)
            return bulk_fail_taken(ctx, bulk, refused, count, fields);
        bulk_refuse_taken(ctx, bulk, refused, count, fields);
    }

    const struct link_rows of = {bulk->rows, bulk->ids, bulk->count};
    write_calls_init(&calls, arena);
    links_calls(ctx, entity, &of, false, &calls);
    if (ctx->model->live)
        write_calls_add(&calls, live_created_call(arena, entity, bulk->ids, bulk->count));
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    const struct write_events events = {
        .event = EVENT_CREATED, .ids = bulk->ids, .count = bulk->count};
    return write_events(ctx, entity, tx, &events);
}
