/* Records by ids that another component has found. */
#include "records/pick.h"

#include "records/query/filter.h"
#include "records/query/sort.h"
#include "records/read/columns.h"
#include "records/read/expand.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

bool records_can_read(const struct records_ctx *ctx, const struct entity *entity)
{
    return field_rule_can_read_entity(ctx, entity);
}

bool records_can_read_field(const struct records_ctx *ctx, const struct model_field *field)
{
    return field_rule_allows(ctx, field, ACT_READ);
}

bool records_has_row_rule(const struct records_ctx *ctx, const struct entity *entity)
{
    return rls_applies(ctx, entity);
}

/* --- statements --- */

static void pick_text(const struct records_ctx *ctx,
                      const struct records_text *text,
                      struct strbuf *sql,
                      struct sql_params *params)
{
    if (text->shown == NULL) {
        strbuf_printf(sql, "t.%.*s", STR_ARG(text->field->column));
        return;
    }
    strbuf_printf(sql,
                  "(select r.%.*s from {p}.%.*s r where r.id = t.%.*s",
                  STR_ARG(text->shown->column),
                  STR_ARG(text->field->target->table),
                  STR_ARG(text->field->column));
    (void)rls_put_where(ctx, text->field->target, ACT_READ, "r", sql, params);
    strbuf_char(sql, ')');
}

/* The column of a field of the plan; 0 = the plan does not have the field. */
static size_t plan_column(const struct columns *plan, const struct model_field *field)
{
    size_t next = COLUMNS_FIRST;

    for (size_t i = 0; i < plan->count; i++) {
        size_t at = columns_at(plan, i, &next);
        if (plan->fields[i] == field)
            return at;
    }
    return 0;
}

/* Appends the texts that are not among the plan's columns. Returns the column of each text. */
static const size_t *pick_texts(const struct records_ctx *ctx,
                                const struct columns *plan,
                                const struct records_pick *pick,
                                struct strbuf *sql,
                                struct sql_params *params)
{
    size_t *columns = ARENA_ARRAY(ctx->task->arena, columns, pick->text_count + 1);
    size_t next = COLUMNS_FIRST;

    for (size_t i = 0; i < plan->count; i++)
        (void)columns_at(plan, i, &next);
    for (size_t i = 0; i < pick->text_count; i++) {
        const struct records_text *text = &pick->texts[i];
        columns[i] = text->shown == NULL ? plan_column(plan, text->field) : 0;
        if (columns[i] != 0)
            continue;
        columns[i] = next++;
        strbuf_str(sql, STR(", "));
        pick_text(ctx, text, sql, params);
    }
    return columns;
}

static void pick_visible_relation(const struct records_ctx *ctx,
                                  const struct records_text *text,
                                  struct strbuf *sql,
                                  struct sql_params *params)
{
    strbuf_printf(sql,
                  " and exists (select 1 from {p}.%.*s r where r.id = t.%.*s",
                  STR_ARG(text->field->target->table),
                  STR_ARG(text->field->column));
    (void)rls_put_where(ctx, text->field->target, ACT_READ, "r", sql, params);
    strbuf_char(sql, ')');
}

/* Excludes texts of two or more words: a space between two letters or digits. Most texts are
 * already excluded by their length, so that the expression does not read them. */
static void
pick_put_short(const struct records_pick *pick, struct strbuf *sql, struct sql_params *params)
{
    strbuf_str(sql, STR(" and (t.id = any("));
    sql_bind(sql, params, P_I64S(pick->ids, pick->unrestricted_count), "bigint[]");
    strbuf_char(sql, ')');
    for (size_t i = 0; i < pick->text_count; i++) {
        struct str column = pick->texts[i].field->column;
        strbuf_printf(sql, " or (octet_length(t.%.*s::text) <= ", STR_ARG(column));
        sql_bind(sql, params, P_I64(pick->most_bytes), "bigint");
        strbuf_printf(sql, " and (octet_length(t.%.*s::text) <= ", STR_ARG(column));
        sql_bind(sql, params, P_I64(pick->most_ascii_bytes), "bigint");
        strbuf_printf(sql,
                      " or octet_length(t.%.*s::text) > length(t.%.*s::text))"
                      " and t.%.*s::text !~ '[0-9A-Za-z] [0-9A-Za-z]')",
                      STR_ARG(column),
                      STR_ARG(column),
                      STR_ARG(column));
    }
    strbuf_char(sql, ')');
}

/* Appends " from ... where ...". If the order of the ids is wanted, c has the ids with their
 * positions. */
static int pick_from(struct records_ctx *ctx,
                     const struct entity *entity,
                     const struct records_pick *pick,
                     bool ordered,
                     struct strbuf *sql,
                     struct sql_params *params)
{
    struct filter *filter;

    TRY(filter_plan(ctx, entity, &pick->query->filter, &filter));
    if (pick->ids != NULL && ordered) {
        strbuf_str(sql, STR(" from unnest("));
        sql_bind(sql, params, P_I64S(pick->ids, pick->count), "bigint[]");
        strbuf_printf(sql,
                      ") with ordinality c(id, n) join {p}.%.*s t on t.id = c.id where true",
                      STR_ARG(entity->table));
    } else {
        strbuf_printf(sql, " from {p}.%.*s t where ", STR_ARG(entity->table));
        if (pick->ids != NULL) {
            strbuf_str(sql, STR("t.id = any("));
            sql_bind(sql, params, P_I64S(pick->ids, pick->count), "bigint[]");
            strbuf_char(sql, ')');
        } else {
            strbuf_str(sql, STR("true"));
        }
    }
    if (pick->ids == NULL && pick->excluded_count > 0) {
        strbuf_str(sql, STR(" and t.id <> all("));
        sql_bind(sql, params, P_I64S(pick->excluded_ids, pick->excluded_count), "bigint[]");
        strbuf_char(sql, ')');
    }
    if (pick->ids == NULL && pick->above_id > 0) {
        strbuf_str(sql, STR(" and t.id > "));
        sql_bind(sql, params, P_I64(pick->above_id), "bigint");
    }
    if (pick->visible_relation != NULL)
        pick_visible_relation(ctx, pick->visible_relation, sql, params);
    if (pick->most_bytes > 0 && pick->ids != NULL)
        pick_put_short(pick, sql, params);
    (void)rls_put_where(ctx, entity, ACT_READ, "t", sql, params);
    filter_put_where(ctx, filter, "t", sql, params);
    return 0;
}

static void
put_bounds(const struct records_pick *pick, struct strbuf *sql, struct sql_params *params)
{
    if (pick->ids != NULL && (int64_t)pick->count <= pick->limit && pick->offset == 0)
        return; /* there cannot be more rows; and the text is the same for any number of ids */
    strbuf_str(sql, STR(" limit "));
    strbuf_i64(sql, pick->limit + 1);
    if (pick->offset > 0) {
        strbuf_str(sql, STR(" offset "));
        sql_bind(sql, params, P_I64(pick->offset), "bigint");
    }
}

static bool is_sorted(const struct records_query *query)
{
    return query->sort.ptr != NULL && query->sort.len > 0;
}

int records_pick(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct records_pick *pick,
                 struct records_picked *ret_picked)
{
    struct columns *plan = ARENA_NEW(ctx->task->arena, plan);
    bool any_order = pick->ids != NULL && !is_sorted(pick->query);
    struct sql_params params;
    struct strbuf text;
    struct sort sort;
    struct records_query newest;

    TRY(columns_plan(ctx, entity, pick->query->fields, plan));
    TRY(expand_plan(ctx, pick->query->expand, plan));
    newest = *pick->query;
    if (!is_sorted(pick->query) && pick->query->order == ORDER_NONE)
        newest.order = ORDER_DESC;
    TRY(sort_plan(ctx, entity, &newest, &sort));
    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, plan, "t", &text, &params);
    const size_t *texts = pick_texts(ctx, plan, pick, &text, &params);
    TRY(pick_from(ctx, entity, pick, false, &text, &params));
    if (!any_order)
        sort_put_order(ctx, &sort, "t", &text, &params);
    put_bounds(pick, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.pick", &text, params.count, SQL_MANY);
    *ret_picked = (struct records_picked){.plan = plan, .texts = texts};
    TRY(records_db_result(
        ctx,
        entity,
        db_query(ctx->task, ctx->db, sql, params.items, params.count, &ret_picked->rows)));
    ret_picked->count = ret_picked->rows.count;
    ret_picked->has_more = (int64_t)ret_picked->count > pick->limit;
    if (ret_picked->has_more)
        ret_picked->count = (size_t)pick->limit;
    return expand_load(ctx, plan, &ret_picked->rows);
}

int64_t records_picked_id(const struct records_picked *picked, size_t row)
{
    return rows_i64(&picked->rows, row, COLUMNS_ID);
}

struct str records_picked_text(const struct records_picked *picked, size_t row, size_t text)
{
    return rows_str(&picked->rows, row, picked->texts[text]);
}

int records_picked_json(struct records_ctx *ctx,
                        const struct records_picked *picked,
                        size_t row,
                        struct jw *w)
{
    return columns_json(ctx->task, w, picked->plan, &picked->rows, row);
}

int records_pick_ids(struct records_ctx *ctx,
                     const struct entity *entity,
                     const struct records_pick *pick,
                     int64_t **ret_ids,
                     size_t *ret_count)
{
    struct sql_params params;
    struct strbuf text;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select t.id"));
    TRY(pick_from(ctx, entity, pick, pick->ids != NULL, &text, &params));
    strbuf_cstr(&text, pick->ids != NULL ? " order by c.n" : " order by t.id desc");
    put_bounds(pick, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.pick_ids", &text, params.count, SQL_MANY);
    TRY(records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    *ret_ids = ARENA_ARRAY(ctx->task->arena, *ret_ids, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        (*ret_ids)[i] = rows_i64(&rows, i, 0);
    return 0;
}

int records_pick_sizes(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct records_pick *pick,
                       int64_t *ret_bytes)
{
    struct sql_params params;
    struct strbuf text;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select c.n, 0::bigint"));
    for (size_t i = 0; i < pick->text_count; i++) {
        strbuf_str(&text, STR(" + coalesce(octet_length(("));
        pick_text(ctx, &pick->texts[i], &text, &params);
        strbuf_str(&text, STR(")::text), 0)"));
    }
    TRY(pick_from(ctx, entity, pick, true, &text, &params));
    struct sql *sql = sql_dynamic(ctx, "records.pick_sizes", &text, params.count, SQL_MANY);
    TRY(records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    for (size_t i = 0; i < pick->count; i++)
        ret_bytes[i] = 0;
    for (size_t i = 0; i < rows.count; i++)
        ret_bytes[rows_i64(&rows, i, 0) - 1] = rows_i64(&rows, i, 1);
    return 0;
}

int records_pick_count(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct records_pick *pick,
                       int64_t *ret_total)
{
    struct sql_params params;
    struct strbuf text;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select count(*)"));
    TRY(pick_from(ctx, entity, pick, false, &text, &params));
    struct sql *sql = sql_dynamic(ctx, "records.pick_count", &text, params.count, SQL_ONE);
    sql->heavy = pick->ids == NULL;
    TRY(records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    *ret_total = rows_i64(&rows, 0, 0);
    return 0;
}

int records_pick_values(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_pick *pick,
                        const struct model_field *field,
                        struct rows *ret_rows)
{
    struct sql_params params;
    struct strbuf text;

    if (field->is_many || (model_type_info(field->type)->fits & FITS_SET) == 0)
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("facets"),
                                  PROBLEM_INVALID_QUERY,
                                  "fields of this type have no single value to count");
    sql_start(ctx->task->arena, &text, &params);
    strbuf_printf(&text, "select t.%.*s", STR_ARG(field->column));
    sql_put_collation(&text, field_collation(ctx, field));
    strbuf_str(&text, STR(", count(*)"));
    TRY(pick_from(ctx, entity, pick, false, &text, &params));
    strbuf_printf(
        &text, " and t.%.*s is not null group by 1 order by 2 desc, 1", STR_ARG(field->column));
    put_bounds(pick, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.pick_values", &text, params.count, SQL_MANY);
    sql->heavy = true;
    return records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, ret_rows));
}

void records_value_json(struct jw *w,
                        const struct model_field *field,
                        const struct rows *rows,
                        size_t row,
                        size_t column)
{
    columns_write_value(w, field, rows, row, column);
}
