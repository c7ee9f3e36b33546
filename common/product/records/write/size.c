/* The maximum size of a record: the values of a write and the values that are already stored. */
#include "records/write/size.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/write.h"

#include "json/jw.h"
#include "records/records.h"

enum {
    LINK_BYTES = 8,
    CHARACTER_BYTES = 4, /* of UTF-8, at most */
    ENUM_BYTES = 255 * CHARACTER_BYTES,
    SEALED_BYTES = 64,       /* added to a secret by sealing */
    JSON_PRINTED_FACTOR = 2, /* PostgreSQL adds spaces when it prints a document */
    ESCAPED_FACTOR = 6,      /* bytes of JSON for one byte, at most: "\\u0001" */
};

/* How a record is measured. */
enum measure { AS_STORED, AS_JSON };

/* Returns true when the stored size of the field depends on its value. */
static bool is_measured(const struct model_field *field)
{
    return model_type_info(field->type)->bytes == 0;
}

static int64_t text_max_bytes(const struct model_field *field)
{
    int64_t most = field->type == TYPE_VARCHAR ? VALUE_VARCHAR_CHARS : VALUE_TEXT_BYTES;

    if (field->max_length > 0 && field->max_length < VALUE_TEXT_BYTES)
        most = field->max_length;
    most *= CHARACTER_BYTES;
    return most < VALUE_TEXT_BYTES ? most : VALUE_TEXT_BYTES;
}

static int64_t field_max_bytes(const struct model_field *field)
{
    if (field->is_many)
        return (int64_t)VALUE_LINKS_MAX * LINK_BYTES;
    switch (field->type) {
    case TYPE_VARCHAR:
    case TYPE_TEXT:
        return text_max_bytes(field);
    case TYPE_JSON:
        return (int64_t)VALUE_JSON_BYTES * JSON_PRINTED_FACTOR;
    case TYPE_ENUM:
        return ENUM_BYTES;
    case TYPE_SECRET:
        return VALUE_SECRET_BYTES + SEALED_BYTES;
    default:
        return (int64_t)model_type_info(field->type)->bytes;
    }
}

static int64_t size_limit(const struct records_ctx *ctx, enum measure measure)
{
    int64_t stored = directory_record_bytes(ctx->directory);

    return measure == AS_JSON ? size_json_limit(stored) : stored;
}

static bool entity_may_exceed(const struct records_ctx *ctx, const struct entity *entity)
{
    int64_t most = 0;

    for (size_t i = 0; i < entity->field_count; i++)
        most += field_max_bytes(&entity->fields[i]);
    return most > size_limit(ctx, AS_JSON) / ESCAPED_FACTOR;
}

/* Documents are JSON already, and answers never contain a secret. */
static bool is_escaped(const struct model_field *field)
{
    return is_measured(field) && field->type != TYPE_JSON && field->type != TYPE_SECRET;
}

static int64_t value_bytes(const struct value *value, enum measure measure)
{
    if (value->field->is_many)
        return (int64_t)value->id_count * LINK_BYTES;
    if (value->param.kind == PARAM_NULL)
        return 0;
    if (!is_measured(value->field))
        return (int64_t)model_type_info(value->field->type)->bytes;
    return (int64_t)(measure == AS_JSON && is_escaped(value->field) ? jw_str_bytes(value->param.str)
                                                                    : value->param.str.len);
}

/* Sums the values that the body names; with `defaults` all values of a new record. */
static int64_t written_bytes(const struct write_row *row, bool defaults, enum measure measure)
{
    int64_t sum = 0;

    for (size_t i = 0; i < row->count; i++)
        if (defaults || row->is_given[i])
            sum += value_bytes(&row->values[i], measure);
    for (size_t i = 0; i < row->link_count; i++)
        sum += value_bytes(&row->links[i], measure);
    return sum;
}

/* Returns the message for a record that is too large; arena-owned. */
static const char *size_message(struct records_ctx *ctx)
{
    return arena_printf(
               ctx->task->arena,
               "the record must have at most %lld bytes in total, and at most %lld as JSON",
               (long long)size_limit(ctx, AS_STORED),
               (long long)size_limit(ctx, AS_JSON))
        .ptr;
}

void size_check(struct records_ctx *ctx, enum write_mode mode, struct write_row *row)
{
    bool whole = mode != WRITE_UPDATE;
    int64_t stored = written_bytes(row, whole, AS_STORED);
    int64_t json_limit = size_limit(ctx, AS_JSON);

    if (stored > size_limit(ctx, AS_STORED) ||
        (stored > json_limit / ESCAPED_FACTOR && written_bytes(row, whole, AS_JSON) > json_limit))
        schema_error_add(
            ctx->task->arena, row->errors, STR(""), PROBLEM_TOO_LONG, "%s", size_message(ctx));
}

static bool size_is_given(const struct write_row *row, const struct model_field *field)
{
    for (size_t i = 0; i < row->count; i++)
        if (row->values[i].field == field)
            return row->is_given[i];
    for (size_t i = 0; i < row->link_count; i++)
        if (row->links[i].field == field)
            return true;
    return false;
}

static void size_put_field(const struct model_field *field,
                           const char *alias,
                           enum measure measure,
                           struct strbuf *sql)
{
    bool escaped = measure == AS_JSON && is_escaped(field);

    if (field->is_many)
        strbuf_printf(sql,
                      " + %d * (select count(*) from {p}.l_%lld l where l.from_id = %s.id)",
                      LINK_BYTES,
                      (long long)field->id,
                      alias);
    else if (is_measured(field)) /* PostgreSQL knows the length without reading the text */
        strbuf_printf(sql,
                      " + coalesce(octet_length(%s%s.%.*s%s), 0)",
                      escaped ? "to_json(" : "",
                      alias,
                      STR_ARG(field->column),
                      escaped                    ? ")::text"
                      : field->type == TYPE_JSON ? "::text"
                                                 : "");
    else
        strbuf_printf(sql,
                      " + case when %s.%.*s is null then 0 else %d end",
                      alias,
                      STR_ARG(field->column),
                      (int)model_type_info(field->type)->bytes);
}

/* Appends the condition that the fields that `row` does not name have at most `most` bytes. */
static void size_put_at_most(const struct entity *entity,
                             const struct write_row *row,
                             const char *alias,
                             enum measure measure,
                             int64_t most,
                             struct strbuf *sql,
                             struct sql_params *params)
{
    strbuf_str(sql, STR("0::bigint"));
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (!field->system && !size_is_given(row, field))
            size_put_field(field, alias, measure, sql);
    }
    strbuf_str(sql, STR(" <= "));
    sql_bind(sql, params, P_I64(most), "bigint");
}

/* Appends the condition that the stored row is not too large with the values of `row`. The texts
 * are read, to measure their JSON, only when their stored size could be too much. */
static void size_put_fits(struct records_ctx *ctx,
                          const struct entity *entity,
                          const struct write_row *row,
                          const char *alias,
                          struct strbuf *sql,
                          struct sql_params *params)
{
    int64_t json_left = size_limit(ctx, AS_JSON) - written_bytes(row, false, AS_JSON);
    int64_t left = size_limit(ctx, AS_STORED) - written_bytes(row, false, AS_STORED);

    strbuf_str(sql, STR("(("));
    size_put_at_most(entity, row, alias, AS_STORED, left, sql, params);
    strbuf_str(sql, STR(") and case when "));
    size_put_at_most(entity, row, alias, AS_STORED, json_left / ESCAPED_FACTOR, sql, params);
    strbuf_str(sql, STR(" then true else "));
    size_put_at_most(entity, row, alias, AS_JSON, json_left, sql, params);
    strbuf_str(sql, STR(" end)"));
}

void size_where(struct records_ctx *ctx,
                const struct entity *entity,
                const struct write_row *row,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params)
{
    if (!entity_may_exceed(ctx, entity))
        return;
    strbuf_str(sql, STR(" and "));
    size_put_fits(ctx, entity, row, alias, sql, params);
}

int size_fail(struct records_ctx *ctx)
{
    const char *reason = size_message(ctx);

    records_finding_add(ctx, STR(""), PROBLEM_TOO_LONG, "%s", reason);
    return records_fail(ctx, PROBLEM_VALIDATION_FAILED, "T%s.", reason + 1);
}

int size_explain(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct db *db,
                 int64_t id,
                 const struct write_row *row)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    if (!entity_may_exceed(ctx, entity))
        return 0;
    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select "));
    size_put_fits(ctx, entity, row, "t", &sql, &params);
    strbuf_printf(&sql, " as fits from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    struct db_call call = write_call(ctx, "items.size", &sql, &params, true);
    TRY(write_tx_db(ctx, entity, write_run(ctx, db, &call)));
    return call.rows.count > 0 && !rows_bool(&call.rows, 0, 0) ? size_fail(ctx) : 0;
}
